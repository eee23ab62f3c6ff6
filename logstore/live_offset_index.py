"""The offset index of a segment that is in use, in memory as its file has it (Kafka: OffsetIndex)."""

from array import array
from bisect import bisect_left, bisect_right
from sys import byteorder
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.index_slots import OFFSET_SLOT
from logstore.live_index import LiveIndex
from logstore.offset_index import OffsetIndex, OffsetIndexEntry

_POSITION: Final = 0xFFFF_FFFF
# A method of int runs without the interpreter, so that no other thread can come in between while bisect runs.
_position_of: Final = _POSITION.__and__


class LiveOffsetIndex(LiveIndex):
    """Entries as 64-bit numbers: the relative last offset of a batch above its position, as in the file."""

    __slots__ = ("_slots",)
    _slot = OFFSET_SLOT.itemsize

    def __len__(self) -> int:
        return len(self._slots)

    @property
    def room(self) -> int:
        """How many entries fit in: without any left the segment must be rolled before the next batch."""
        return self.max_entries - len(self._slots)

    @property
    def entries(self) -> list[OffsetIndexEntry]:
        """All entries."""
        return [OffsetIndexEntry(self.base_offset + (slot >> 32), slot & _POSITION) for slot in self._slots]

    @property
    def last_position(self) -> int:
        """Where the batch of the last entry begins; 0 without any."""
        slots = self._slots
        return slots[-1] & _POSITION if slots else 0

    def append(self, last_offset: int, position: int) -> None:
        """Note that the batch at `position` ends with `last_offset`; a full index takes no more."""
        if len(self._slots) < self.max_entries:
            self._slots.append((last_offset - self.base_offset) << 32 | position)

    def extend(self, slots: NDArray[np.int64]) -> None:
        """Take entries as they are kept here: offset from the segment's first, and position. There must be room."""
        self._slots.frombytes(slots.tobytes())

    def lookup(self, offset: int) -> int:
        """Return where to start reading for `offset`: the position of the last entry at or below it, 0 below all."""
        slots = self._slots
        number = bisect_right(slots, (offset - self.base_offset) << 32 | _POSITION)
        return slots[number - 1] & _POSITION if number else 0

    def floor_position(self, position: int) -> int:
        """Return the last indexed position at or below `position`, 0 below all."""
        slots = self._slots
        number = bisect_right(slots, position, key=_position_of)
        return slots[number - 1] & _POSITION if number else 0

    def offset_from_position(self, position: int) -> int | None:
        """Return the last offset of the first indexed batch at `position` or later (Kafka: fetchUpperBoundOffset)."""
        slots = self._slots
        number = bisect_right(slots, position - 1, key=_position_of)
        return self.base_offset + (slots[number] >> 32) if number < len(slots) else None

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of batches that reach `offset`. Raises OSError."""
        kept = bisect_left(self._slots, (offset - self.base_offset) << 32)
        del self._slots[kept:]
        self._cut()

    def _take(self, data: bytes) -> int:
        self._slots = array("q")
        entries = len(OffsetIndex.parse(data, self.base_offset, self.path))
        self._slots.frombytes(memoryview(data)[: entries * self._slot])
        _to_or_from_big_endian(self._slots)
        return entries

    def _encode(self, first: int) -> bytes:
        slots = self._slots[first:]
        _to_or_from_big_endian(slots)
        return slots.tobytes()


def _to_or_from_big_endian(slots: "array[int]") -> None:
    if byteorder == "little":
        slots.byteswap()
