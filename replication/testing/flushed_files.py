"""How much of each file is on stable storage, and a journal of it that outlives its process."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Self

_JOURNAL_MODE: Final = 0o644


class FileKey(NamedTuple):
    """A file, whatever it is called: renames need not be followed."""

    device: int
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Self:
        """Return whose status this is."""
        return cls(status.st_dev, status.st_ino)


class FlushedFiles:
    """The safe sizes of files, and the directories to look for them in. Not thread-safe.

    With a journal each change is in a file before the call returns, and what an earlier process has put there is known.
    Nobody flushes the journal: what a process wrote outlives SIGKILL, and its machine does not really lose power.
    """

    def __init__(self, journal: Path | None = None) -> None:
        """Go on with a journal, which lies outside of the directories that it is about. Raises OSError."""
        self._sizes: Final[dict[FileKey, int]] = {}
        self._places: Final[set[Path]] = set()
        self._journal: Final = journal
        self._descriptor: int | None = None
        if journal is not None:
            self._replay(journal)
            self._write_anew(journal)

    def safe_bytes(self, key: FileKey) -> int | None:
        """Return how many bytes of a file have been flushed; None: all that are there."""
        return self._sizes.get(key)

    def put(self, key: FileKey, safe_bytes: int) -> None:
        """Note how many bytes of a file have been flushed."""
        if self._sizes.get(key) != safe_bytes:
            self._sizes[key] = safe_bytes
            self._append(_size_line(key, safe_bytes))

    def forget(self, key: FileKey) -> None:
        """Note that all that is there of a file is safe."""
        if self._sizes.pop(key, None) is not None:
            self._append(_size_line(key, None))

    def add_place(self, directory: Path) -> None:
        """Note where files are, at any depth."""
        if directory not in self._places:
            self._places.add(directory)
            self._append(_place_line(directory))

    def paths(self) -> Iterator[Path]:
        """Yield the files that may be known, some perhaps more than once."""
        for place in sorted(self._places):
            yield from (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())

    def clear(self) -> None:
        """Know of no file."""
        self._sizes.clear()
        self._places.clear()
        if self._journal is not None:
            self._write_anew(self._journal)

    def close(self) -> None:
        """Write no more to the journal."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _append(self, line: bytes) -> None:
        if self._descriptor is not None:
            os.write(self._descriptor, line)

    def _replay(self, journal: Path) -> None:
        data = journal.read_bytes() if journal.exists() else b""
        for line in data.split(b"\n")[:-1]:  # what a kill has left unfinished told nobody yet
            event = json.loads(line)
            if isinstance(event, str):
                self._places.add(Path(event))
            elif event[2] is None:
                self._sizes.pop(FileKey(*event[:2]), None)
            else:
                self._sizes[FileKey(*event[:2])] = event[2]

    def _write_anew(self, journal: Path) -> None:
        """Leave out what is not so any more, at once: it may be killed here too."""
        self.close()
        lines = [*map(_place_line, self._places), *(_size_line(*each) for each in self._sizes.items())]
        part = journal.with_name(f"{journal.name}.part")
        part.write_bytes(b"".join(lines))
        part.replace(journal)
        self._descriptor = os.open(journal, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, _JOURNAL_MODE)


def _size_line(key: FileKey, safe_bytes: int | None) -> bytes:
    return json.dumps([*key, safe_bytes]).encode() + b"\n"


def _place_line(directory: Path) -> bytes:
    return json.dumps(str(directory)).encode() + b"\n"
