"""All that a crash may leave of a directory, at every point of a recorded run of steps.

What is assumed of the file system is what Linux's journalling ones promise, and no more:

- the names in one directory change in the order in which they were changed; a crash may take any last part of the
  changes since the directory was synced. Directories know nothing of each other, and names nothing of contents;
- of what was done to a file since it was synced, a crash may take any last part, in blocks. A file may have its new
  length already and zeros in place of its last blocks, or of a block in between;
- files know nothing of each other: one may have everything and another nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise, product
from pathlib import Path

from tests.recording_disk import (
    Cut,
    Linked,
    Made,
    Overwrote,
    Removed,
    Renamed,
    Step,
    Synced,
    SyncedDirectory,
    Told,
    Wrote,
)

State = dict[Path, bytes | None]
"""What is on a disk: contents by path; None for a directory."""

SMALL_BLOCK, BLOCK = 512, 4096
MOST_COMBINED = 3
"""Of so many unsynced files all combinations of kept and lost are tried; of more, each one against all others."""


@dataclass
class File:
    """A file's content on stable storage, and what was done to it since."""

    durable: bytes = b""
    steps: list[Wrote | Overwrote | Cut] = field(default_factory=list)

    @property
    def content(self) -> bytes:
        """What a program sees."""
        return self._after(len(self.steps))

    def sync(self) -> None:
        self.durable, self.steps = self.content, []

    def contents(self) -> list[bytes]:
        """All that a crash may leave: everything, nothing of the latest, and what lies in between."""
        found = dict.fromkeys([self.content, self.durable])
        for number, step in enumerate(self.steps):
            before = self._after(number)
            if isinstance(step, Wrote):
                found |= dict.fromkeys(torn(before, step.data))
            found[before] = None
        return list(found)

    def _after(self, steps: int) -> bytes:
        content = self.durable
        for step in self.steps[:steps]:
            match step:
                case Wrote(data=data):
                    content += data
                case Overwrote(position=position, data=data):
                    content = content[:position].ljust(position, b"\0") + data + content[position + len(data) :]
                case Cut(size=size):
                    content = content[:size]
        return content


def torn(before: bytes, data: bytes) -> Iterator[bytes]:
    """What a crash leaves of an append: some blocks of it, or its length and zeros for some blocks."""
    whole = before + data
    block = SMALL_BLOCK if len(whole) <= 2 * BLOCK else BLOCK
    bounds = [len(before), *range(len(before) // block * block + block, len(whole), block), len(whole)]
    for start, end in pairwise(bounds):
        yield whole[:start]
        yield whole[:start] + bytes(len(whole) - start)
        yield whole[:start] + bytes(end - start) + whole[end:]


@dataclass
class Names:
    """The names in one directory: as they may be after a crash, from those on stable storage to the present ones."""

    history: list[dict[str, int]] = field(default_factory=lambda: [{}])

    @property
    def now(self) -> dict[str, int]:
        return self.history[-1]

    def change(self, *, remove: str | None = None, put: tuple[str, int] | None = None) -> None:
        names = {name: inode for name, inode in self.now.items() if name != remove}
        self.history.append(names | ({put[0]: put[1]} if put else {}))


class Replay:
    """A disk to which recorded steps are done again, and which knows at each what a crash would leave."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[int, File] = {}
        self._directories: dict[int, Names] = {-1: Names()}

    def do(self, step: Step) -> None:
        match step:
            case Made(inode, path, is_directory):
                if is_directory:
                    self._directories[inode] = Names()
                else:
                    self._files[inode] = File()
                self._parent(path).change(put=(path.name, inode))
            case Wrote(inode) | Overwrote(inode) | Cut(inode):
                self._files[inode].steps.append(step)
            case Synced(inode):
                self._files[inode].sync()
            case Renamed(source, target):
                names = self._parent(source)
                names.change(remove=source.name, put=(target.name, names.now[source.name]))
            case Linked(inode, path):
                self._parent(path).change(put=(path.name, inode))
            case Removed(path):
                self._parent(path).change(remove=path.name)
            case SyncedDirectory(path):
                if path.is_relative_to(self.root):
                    names = self._directories[self._inode(path)]
                    del names.history[:-1]

    def crash_states(self) -> Iterator[State]:
        """All states that a crash at this point may leave; some of them are the same."""
        for tree in self._trees():
            reached = {inode for inode in tree.values() if inode in self._files}
            unsynced = [inode for inode in sorted(reached) if self._files[inode].steps]
            kept = {inode: self._files[inode].content for inode in reached}
            for contents in self._combinations(unsynced):
                found = kept | contents
                yield {path: found.get(inode) for path, inode in tree.items()}

    def _trees(self) -> Iterator[dict[Path, int]]:
        """All that may be left of the names."""
        changed = [inode for inode, names in self._directories.items() if len(names.history) > 1]
        for chosen in product(*(range(len(self._directories[inode].history)) for inode in changed)):
            versions = dict(zip(changed, chosen, strict=True))
            yield dict(self._walk(Path(), -1, versions))

    def _walk(self, path: Path, inode: int, versions: dict[int, int]) -> Iterator[tuple[Path, int]]:
        for name, child in self._directories[inode].history[versions.get(inode, -1)].items():
            yield path / name, child
            if child in self._directories:
                yield from self._walk(path / name, child, versions)

    def _combinations(self, unsynced: Sequence[int]) -> Iterator[dict[int, bytes]]:
        contents = {inode: self._files[inode].contents() for inode in unsynced}
        kept = {inode: self._files[inode].content for inode in unsynced}
        lost = {inode: self._files[inode].durable for inode in unsynced}
        yield kept
        yield lost
        for inode, variants in contents.items():
            for content in variants:
                yield kept | {inode: content}
                yield lost | {inode: content}
        if len(unsynced) <= MOST_COMBINED:
            for choice in product(*((kept[inode], lost[inode]) for inode in unsynced)):
                yield dict(zip(unsynced, choice, strict=True))

    def _parent(self, path: Path) -> Names:
        return self._directories[self._inode(path.parent)]

    def _inode(self, path: Path) -> int:
        inode = -1
        for name in path.relative_to(self.root).parts:
            inode = self._directories[inode].now[name]
        return inode


def crash_states(steps: Sequence[Step], root: Path) -> Iterator[tuple[object, State]]:
    """Replay a run that began with an empty `root`; give each distinct crash state, with what was told last before it.

    A state that is possible again after something else was told comes again.
    """
    replay, told, seen = Replay(root), None, set[bytes]()
    for step in steps:
        if isinstance(step, Told):
            told, seen = step.fact, set()
        else:
            replay.do(step)
        for state in replay.crash_states():
            digest = fingerprint(state)
            if digest not in seen:
                seen.add(digest)
                yield told, state


def fingerprint(state: State) -> bytes:
    """Tell states apart."""
    digest = blake2b(digest_size=16)
    for path, content in sorted(state.items()):
        digest.update(b"%b\0%d\0" % (str(path).encode(), -1 if content is None else len(content)))
        digest.update(content or b"")
    return digest.digest()


def write_state(state: State, directory: Path) -> None:
    """Put a state into an empty directory."""
    for path, content in sorted(state.items()):
        if content is None:
            (directory / path).mkdir()
        else:
            (directory / path).write_bytes(content)
