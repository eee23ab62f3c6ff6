"""The header chain of a segment that is in use: it follows what is on stable storage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from logstore.segment.batch_heads import BLOCK, HEAD_SIZE, HeadReader
from logstore.segment.header_chain import SLOT, UNKNOWN, ChainStart, HeaderChain, Link, follow, log_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from logstore.segment.segment_file import SegmentFile


MOST_FOLLOWED: Final = 256
"""Batches of a block: more of them are not taken as they are written, but read again once they are synced."""


class Growth(NamedTuple):
    """Links that are to follow the ones that a chain has in its file."""

    before: Link
    """The last one that it has."""
    links: tuple[Link, ...]


class LiveChain:
    """Grows behind the segment's own syncs, so that it never says more than the disk has.

    It may say less: whatever is missing is made of the segment again. The last link makes way for the next one unless
    there is a whole block between it and the one before. While it follows the segment, the heads of batches are handed
    to it as they are written.
    """

    __slots__ = (
        "_filesystem",
        "_full",
        "_is_written",
        "_path",
        "_pending",
        "_slot",
        "_start",
        "_tip",
        "due",
        "heads",
        "last",
    )

    def __init__(self, path: Path, filesystem: FileSystem, start: ChainStart) -> None:
        """Begin one that has no file yet."""
        self._path = path
        self._filesystem = filesystem
        self._start = start
        self._is_written = False
        self._full = start.link
        self._slot = SLOT
        self.last: Link = self._full
        """The last one in the file."""
        self.heads: bytearray | None = None
        """Those of the batches behind the last block that was folded; None while it does not follow."""
        self._tip = self._full
        """Where they begin."""
        self.due: int = 0
        """Where the block ends that is followed."""
        self._pending: list[Link] = []
        """Of whole blocks that are not in the file yet."""

    @classmethod
    def open(
        cls, path: Path, filesystem: FileSystem, base_offset: int, size: int, start: Callable[[], ChainStart]
    ) -> LiveChain:
        """Continue the chain in a file, or begin one for a segment that has `size` bytes by now. Raises OSError.

        `start` returns how it begins then.
        """
        found = HeaderChain.read(path, most=2)
        if found is None or found.start.base_offset != base_offset or found.end.position > size:
            # Of a log that others have written, or that was written before there were chains.
            if path.exists():
                filesystem.unlink(path)
                filesystem.fsync_directory(path.parent)
            return cls(path, filesystem, start())
        chain = cls(path, filesystem, found.start)
        chain._take(found)
        return chain

    def _take(self, found: HeaderChain) -> None:
        self._is_written = True
        self.last = found.end
        if len(found.links) > 1:  # what the last one but one has is whole
            self._full, self._slot = found.links[0], found.slots[0] + SLOT
        if self.last.position >= self._full.position + BLOCK:
            self._full, self._slot = self.last, found.slots[-1] + SLOT

    # --- following what is appended

    def begin_to_follow(self, size: int) -> bytearray | None:
        """Follow a segment of `size` bytes from now on, if the chain has them all; return what takes the heads."""
        if self.heads is None and self.last.position == size:
            self.heads, self._tip = bytearray(), self.last
            self.due = self._full.position + BLOCK
        return self.heads

    def fold(self, size: int) -> bytearray | None:
        """Make a link of the heads, now that a block is complete: the segment has `size` bytes.

        Returns what takes the heads from now on; None where batches are so small that reading them again costs less.
        """
        heads = self.heads
        if heads:
            self._tip = self._tip.followed_by(heads, size)
            self._pending.append(self._tip)
            self.due = size + BLOCK
            if len(heads) > MOST_FOLLOWED * HEAD_SIZE:
                self.heads = None
            heads.clear()
        return self.heads

    def take(self, data: memoryview, position: int) -> bytearray | None:
        """Add the heads of several batches that were appended at `position` of the segment; return as `fold`."""
        reader, at = HeadReader(len(data)), 0
        while self.heads is not None and at < len(data):
            found = reader.gather(data, at, min(at + BLOCK, len(data)))
            self.heads += found.data
            at = found.end
            if position + at >= self.due:
                self.fold(position + at)
        return self.heads

    def followed(self, end: int) -> Growth | None:
        """Return the links of whole blocks up to `end` that are not in the file yet."""
        links = tuple(link for link in self._pending if link.position <= end)
        return Growth(self.last, links) if links else None

    def followed_to_the_end(self, size: int) -> Growth | None:
        """Return all links that are not in the file yet, up to the last batch of a segment of `size` bytes."""
        links = list(self._pending)
        if self.heads and size > self.last.position:
            links.append(self._tip.followed_by(self.heads, size))
        return Growth(self.last, tuple(links)) if links else None

    @property
    def log(self) -> int:
        """Of which log it is: see `ChainStart`."""
        return self._start.log

    def digest_at(self, size: int) -> int:
        """Return how the chain of a segment of `size` bytes ends, which it follows; UNKNOWN where it lacks some."""
        growth = self.followed_to_the_end(size)
        last = self.last if growth is None else growth.links[-1]
        return last.digest if last.position == size else UNKNOWN

    # --- reading what was appended

    def grow(self, file: SegmentFile, size: int, *, least: int = 1) -> Growth | None:
        """Read on up to `size`; return what is to be written, None for less than `least` bytes. Raises OSError.

        Needs no lock; the bytes must not be taken away meanwhile.
        """
        before = self.last
        if size - before.position < least:
            return None
        data, begin = file.between(before.position, size)
        data = data[: size - begin]
        start = before._replace(position=before.position - begin)
        found = follow(data, start, size - begin, begin=self._full.position - begin)
        links = [link._replace(position=link.position + begin) for link in found]
        return Growth(before, tuple(links)) if links else None

    # --- writing

    def write(self, growth: Growth, *, modified_ns: int = 0, sync: bool = False) -> None:
        """Write what was returned, unless the chain has changed since. Raises OSError.

        `modified_ns` is when the segment was written last, where nothing is to follow for now.
        """
        if growth.before != self.last:
            return
        *links, last = growth.links
        self._put([*links, last._replace(modified_ns=modified_ns)], sync=sync)

    def close(self, modified_ns: int) -> None:
        """Note when the segment was written last, of a chain that has all of it. Raises OSError."""
        if self.last.position and self.last.modified_ns != modified_ns:
            is_full = self.last == self._full
            marked = self.last._replace(modified_ns=modified_ns)
            self._filesystem.overwrite(self._path, self._slot - SLOT * is_full, marked.encode(), sync=True)
            self.last = marked
            self._full = marked if is_full else self._full

    def _put(self, links: list[Link], *, sync: bool) -> None:
        data, slot = b"".join(link.encode() for link in links), self._slot
        if not self._is_written:
            data, slot = self._start.encode() + data, 0
        self._filesystem.overwrite(self._path, slot, data, sync=sync)
        self._is_written = True
        for link in links:
            if link.position >= self._full.position + BLOCK:
                self._full, self._slot = link, self._slot + SLOT
        self.last = links[-1]
        written = [link for link in self._pending if link.position <= self.last.position]
        del self._pending[: len(written)]


def cut_chain(path: Path, position: int, filesystem: FileSystem) -> None:
    """Remove, durably, what a chain's file says of a segment from `position` on. Raises OSError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return
    found = HeaderChain.decode(data)
    kept = SLOT if found is None else _end_of_kept(found, position)
    if len(data) > kept:
        filesystem.overwrite(path, kept, bytes(len(data) - kept), sync=True)


def _end_of_kept(found: HeaderChain, position: int) -> int:
    slots = [slot for link, slot in zip(found.links, found.slots, strict=True) if link.position <= position]
    return slots[-1] + SLOT if slots else SLOT


def chain_anew(base_offset: int, directory: Path) -> ChainStart:
    """Return how a chain begins that is made of a segment which is there already. Raises OSError."""
    return ChainStart(base_offset, log_of(directory), UNKNOWN, is_anew=True)
