"""The file beside a segment that has digests of what its batches' checksums leave out, each chained to the one before.

A link says what all batches up to a position amount to. Its digest is two checksums of 32 bits, continued from link to
link: whatever changes in one head changes it and all that follow. It begins with the chain's own first bytes, which say
which log and segment it is of, and where the chain of the segment before has ended.
"""

from __future__ import annotations

from contextlib import suppress
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from zlib import crc32

from logstore.checksum import crc32c
from logstore.file_name import FileKind
from logstore.segment.batch_heads import BLOCK, HeadReader, last_head
from logstore.topic_partition import partition_standing_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from epoch.history import EpochHistory
    from logstore.batch.buffer import Buffer

UNKNOWN: Final = 0
"""Instead of a digest that nobody knows."""

_MAGIC: Final = b"heads-1\n"
_START: Final = Struct(">8sqQQI")
_LINK: Final = Struct(">qqQiq")
_CHECK: Final = Struct(">I")
SLOT: Final = _START.size + _CHECK.size
"""Bytes of the first part, and of each link."""
_continue_crc32c: Final = cast("Callable[[Buffer, int], int]", crc32c)


class Link(NamedTuple):
    """What the batches up to a position amount to."""

    position: int
    offset: int
    """Where the last of them begins; before the first one, the offset before it."""
    digest: int
    leader_epoch: int
    """Of the last of them."""
    modified_ns: int = 0
    """When the `.log` was written last, where nothing was to follow; else 0."""

    def followed_by(self, heads: Buffer, end: int) -> Link:
        """Return the link after batches with these heads, one at least, the last of which ends at `end`."""
        offset, leader_epoch = last_head(heads)
        return Link(end, offset, continued(self.digest, heads), leader_epoch)

    def is_as_left(self, log: Path) -> bool:
        """Whether a `.log` has not been written to since this was its last link. Raises OSError."""
        stat = log.stat()
        return (self.position, self.modified_ns) == (stat.st_size, stat.st_mtime_ns)

    def is_over(self, epochs: EpochHistory) -> bool:
        """Whether a later leader has written where the last of them was: the log was truncated in between."""
        later = (each for each in epochs.entries if each.epoch > self.leader_epoch)
        return any(each.start_offset <= self.offset for each in later)

    def encode(self) -> bytes:
        """Return its bytes in the file."""
        return _checked(_LINK.pack(*self))


class ChainStart(NamedTuple):
    """What a chain is of."""

    base_offset: int
    log: int
    """A digest of the log's name as its first chain was made."""
    previous: int
    """How the chain of the segment before ends; UNKNOWN where nobody knew, or where this one was made anew."""
    is_anew: bool
    """Whether it was not made as the segment was written: what follows may be of another one."""

    def encode(self) -> bytes:
        """Return the file's first bytes."""
        return _checked(_START.pack(_MAGIC, self.base_offset, self.log, self.previous, self.is_anew))

    @property
    def link(self) -> Link:
        """What follows continues from here."""
        return Link(0, self.base_offset - 1, continued(UNKNOWN, self.encode()), -1)


class HeaderChain(NamedTuple):
    """What such a file says."""

    start: ChainStart
    links: tuple[Link, ...]
    slots: tuple[int, ...]
    """Where each of them stands: others were cut off, or are damaged."""

    @classmethod
    def decode(cls, data: bytes, *, most: int | None = None) -> HeaderChain | None:
        """Return what the bytes of a file say, of its links at `most` so many of the last ones.

        None where nobody can know. Links that are not whole are left out.
        """
        if not _is_checked(data[:SLOT]):
            return None
        magic, base_offset, log, previous, is_anew = _START.unpack_from(data)
        if magic != _MAGIC:
            return None
        found: list[tuple[Link, int]] = []
        for slot in range(len(data) // SLOT * SLOT - SLOT, 0, -SLOT):
            if len(found) == most:
                break
            if _is_checked(data[slot : slot + SLOT]):
                found.append((Link(*_LINK.unpack_from(data, slot)), slot))
        found.reverse()
        links, slots = tuple(link for link, _ in found), tuple(slot for _, slot in found)
        return cls(ChainStart(base_offset, log, previous, bool(is_anew)), links, slots)

    @classmethod
    def read(cls, path: Path, *, most: int | None = None) -> HeaderChain | None:
        """Return what a file says, as `decode`; None, too, where there is none. Raises OSError."""
        try:
            return cls.decode(path.read_bytes(), most=most)
        except FileNotFoundError:
            return None

    @property
    def end(self) -> Link:
        """The last link; the chain's start where it has none yet."""
        return self.links[-1] if self.links else self.start.link

    def first_mismatch(self, log: memoryview) -> tuple[Link, Link] | None:
        """Compare with the bytes of a `.log`: return the first link that does not fit, and the one before it.

        None where all fit that lie within what can be read as batches.
        """
        before = self.start.link
        for link in self.links:
            found = next(follow(log, before, link.position, begin=before.position, block=link.position), None)
            if found is None or found.position != link.position:
                # Batches do not end here: by other lengths; or there is less, or what is no batch, which others notice.
                return (link, before) if found is not None and found.position > link.position else None
            if found.digest != link.digest:
                return link, before
            before = link
        return None


def follow(log: memoryview, before: Link, size: int, *, begin: int, block: int = BLOCK) -> Iterator[Link]:
    """Give the links after `before` of the batches in the first `size` bytes, the last one however short.

    The first one is of a block that begins at `begin`. They end early at what is no whole batch.
    """
    link, reader = before, HeadReader(size - before.position)
    while link.position < size:
        limit = min(begin + block, size)
        heads = reader.gather(log, link.position, min(limit, link.position + BLOCK))
        if heads.end == link.position:
            return
        link = link.followed_by(heads.data, heads.end)
        if link.position >= limit:
            yield link
            begin = link.position


def continued(digest: int, data: Buffer) -> int:
    """Return the digest of what has this one so far, and of `data` after it."""
    return _continue_crc32c(data, digest >> 32) << 32 | crc32(data, digest & 0xFFFF_FFFF)


def log_of(directory: Path) -> int:
    """Return what the chains of a log call it; by its directory's name where it has none yet. Raises OSError.

    So a log that is given another name goes on as the same.
    """
    for path in sorted(directory.glob(f"*.{FileKind.HEADER_CHAIN}"), reverse=True):
        with suppress(FileNotFoundError), open(path, "rb", buffering=0) as file:
            found = HeaderChain.decode(file.read(SLOT))
            if found is not None:
                return found.start.log
    return continued(UNKNOWN, str(partition_standing_alone(directory.name)).encode())


def _checked(data: bytes) -> bytes:
    return data + _CHECK.pack(crc32(data))


def _is_checked(slot: bytes) -> bool:
    return len(slot) == SLOT and slot[-_CHECK.size :] == _CHECK.pack(crc32(slot[: -_CHECK.size])) and any(slot)
