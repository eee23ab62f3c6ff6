"""The time index of a segment that is in use, in memory (KIP-33; Kafka: TimeIndex)."""

from array import array
from bisect import bisect_left, bisect_right
from pathlib import Path
from struct import Struct
from typing import Final, Self

from epoch.filesystem import REAL, FileSystem
from logstore.batch_attributes import NO_TIMESTAMP
from logstore.index_slots import read_index
from logstore.slot_file import SlotFile
from logstore.time_index import TimeIndex, TimeIndexEntry

_SLOT: Final = Struct(">qi")


class LiveTimeIndex:
    """Timestamps and the offsets that they are reached at, both ascending.

    One thread changes it; others may look things up meanwhile.
    """

    __slots__ = ("_file", "_offsets", "_timestamps", "base_offset", "max_entries")

    def __init__(self, file: SlotFile, base_offset: int, max_bytes: int) -> None:
        """Begin without entries; `max_bytes` is `segment_index_bytes`."""
        self._file = file
        self.base_offset = base_offset
        self.max_entries = max_bytes // _SLOT.size
        self._timestamps = array("q")
        self._offsets = array("q")

    @classmethod
    def open(cls, path: Path, base_offset: int, max_bytes: int, filesystem: FileSystem = REAL) -> Self:
        """Read the file; one that is missing counts as empty. Zeros after the entries count for nothing.

        Raises OSError, CorruptIndexError.
        """
        try:
            data = read_index(path)
        except FileNotFoundError:
            return cls(SlotFile(path, _SLOT.size, filesystem), base_offset, max_bytes)
        parsed = TimeIndex.parse(data, base_offset, path)
        file = SlotFile(path, _SLOT.size, filesystem, saved=len(parsed), file_bytes=len(data))
        index = cls(file, base_offset, max_bytes)
        index._timestamps.frombytes(parsed.timestamp.tobytes())
        index._offsets.frombytes(parsed.offset.tobytes())
        return index

    def __len__(self) -> int:
        return len(self._timestamps)

    @property
    def path(self) -> Path:
        """Where the entries are kept."""
        return self._file.path

    @property
    def room(self) -> int:
        """How many entries fit in before the segment must be rolled: one slot is kept for the entry made then."""
        return self.max_entries - 1 - len(self._timestamps)

    @property
    def entries(self) -> list[TimeIndexEntry]:
        """All entries."""
        return list(map(TimeIndexEntry, self._timestamps, self._offsets))

    @property
    def last(self) -> TimeIndexEntry:
        """The last entry; timestamp -1 at the segment's beginning without any (Kafka: lastEntry)."""
        if not self._timestamps:
            return TimeIndexEntry(NO_TIMESTAMP, self.base_offset)
        return TimeIndexEntry(self._timestamps[-1], self._offsets[-1])

    def append(self, timestamp: int, offset: int) -> None:
        """Note that no record up to `offset` is later; nothing is to note unless `timestamp` is a new largest."""
        timestamps = self._timestamps
        if timestamp > (timestamps[-1] if timestamps else NO_TIMESTAMP) and len(timestamps) < self.max_entries:
            self._offsets.append(offset)
            timestamps.append(timestamp)

    def extend(self, timestamps: list[int], offsets: list[int]) -> None:
        """Note many at once, whose timestamps do not fall, as `append` notes one."""
        last = self._timestamps[-1] if self._timestamps else NO_TIMESTAMP
        if timestamps and timestamps[-1] > last:
            for timestamp, offset in zip(timestamps, offsets, strict=True):
                self.append(timestamp, offset)

    def lookup(self, timestamp: int) -> int:
        """Return the offset of the last entry at or before `timestamp`, the segment's first before all."""
        number = bisect_right(self._timestamps, timestamp)
        return self._offsets[number - 1] if number else self.base_offset

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at `offset` and beyond. Raises OSError."""
        kept = bisect_left(self._offsets, offset)
        del self._timestamps[kept:], self._offsets[kept:]
        self._file.cut(kept)

    def save(self, *, sync: bool) -> None:
        """Bring the file up to date. Raises OSError."""
        self._file.save(len(self._timestamps), self._encode, sync=sync)

    def renamed(self, path: Path) -> None:
        """Follow the file to its new name."""
        self._file.renamed(path)

    def _encode(self, first: int) -> bytes:
        base = self.base_offset
        slots = zip(self._timestamps[first:], self._offsets[first:], strict=True)
        return b"".join([_SLOT.pack(timestamp, offset - base) for timestamp, offset in slots])
