"""The time index of a segment that is in use, in memory (KIP-33; Kafka: TimeIndex)."""

from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import Final

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.files.index_slots import TIME_SLOT, used_time_slots
from logstore.indexes.index_entry import TimeIndexEntry
from logstore.indexes.live_index import LiveIndex

# Half the cost of calling a NamedTuple's class, once a segment that a search by time passes.
_build: Final = tuple.__new__
_SLOT: Final = Struct(">qi")


class LiveTimeIndex(LiveIndex):
    """Timestamps and the offsets that they are reached at, both ascending."""

    __slots__ = ("_offsets", "_timestamps")
    _slot = TIME_SLOT

    def __len__(self) -> int:
        return len(self._timestamps)

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
        # Counted once: the writer may add another meanwhile.
        entries = len(self._timestamps)
        if not entries:
            return TimeIndexEntry(NO_TIMESTAMP, self.base_offset)
        return _build(TimeIndexEntry, (self._timestamps[entries - 1], self._offsets[entries - 1]))

    def append(self, timestamp: int, offset: int) -> None:
        """Note that no record up to `offset` is later; nothing is to note unless `timestamp` is a new largest.

        A full index takes no more, and `complete` may still add to it.
        """
        timestamps = self._timestamps
        if timestamp > (timestamps[-1] if timestamps else NO_TIMESTAMP) and len(timestamps) < self.max_entries - 1:
            self._add(timestamp, offset)

    def complete(self, timestamp: int, offset: int) -> None:
        """Note the segment's largest timestamp, however full the index is: after a start the last entry has it."""
        if timestamp > self.last.timestamp:
            self._add(timestamp, offset)

    def encode_completed(self, timestamp: int, offset: int) -> bytes:
        """Return what the file would hold after `complete`, which is not done."""
        if timestamp <= self.last.timestamp:
            return self.encode()
        return self.encode() + _SLOT.pack(timestamp, offset - self.base_offset)

    def _add(self, timestamp: int, offset: int) -> None:
        self._offsets.append(offset)
        self._timestamps.append(timestamp)

    def extend(self, timestamps: "array[int]", offsets: "array[int]") -> None:
        """Note many at once, whose timestamps ascend, as `append` notes one. There must be room."""
        known = bisect_right(timestamps, self._timestamps[-1] if self._timestamps else NO_TIMESTAMP)
        self._offsets.extend(offsets[known:])
        self._timestamps.extend(timestamps[known:])

    def lookup(self, timestamp: int) -> int:
        """Return the offset of the last entry at or before `timestamp`, the segment's first before all."""
        floor = self._compiled_floor or self._floor
        return floor(self._timestamps, self._offsets, timestamp, self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at `offset` and beyond. Raises OSError."""
        # What was broken off may have noted an offset without its timestamp.
        kept = min(bisect_left(self._offsets, offset), len(self._timestamps))
        del self._timestamps[kept:], self._offsets[kept:]
        self._cut()

    def _take(self, data: bytes) -> int:
        slots = [*_SLOT.iter_unpack(used_time_slots(data, self.path))]
        self._timestamps = array("q", [timestamp for timestamp, _ in slots])
        self._offsets = array("q", [self.base_offset + offset for _, offset in slots])
        return len(slots)

    def _encode(self, first: int) -> bytes:
        pack, base_offset = _SLOT.pack, self.base_offset
        # The timestamps first: the writer adds an offset before its timestamp.
        slots = zip(self._timestamps[first:], self._offsets[first:], strict=False)
        return b"".join(pack(timestamp, offset - base_offset) for timestamp, offset in slots)
