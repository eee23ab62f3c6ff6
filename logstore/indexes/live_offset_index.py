"""The offset index of a segment that is in use, in memory (Kafka: OffsetIndex)."""

from array import array
from bisect import bisect_left, bisect_right
from typing import Any, Final

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.files.index_slots import OFFSET_SLOT, used_slots
from logstore.indexes.index_entry import OffsetIndexEntry
from logstore.indexes.live_index import LiveIndex, big_endian, words_of


class LiveOffsetIndex(LiveIndex):
    """Last offsets of batches, less the segment's first, and the batches' positions, both ascending."""

    __slots__ = ("_offsets", "_positions")
    _slot = OFFSET_SLOT

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def room(self) -> int:
        """How many entries fit in: without any left the segment must be rolled before the next batch."""
        return self.max_entries - len(self._offsets)

    @property
    def entries(self) -> list[OffsetIndexEntry]:
        """All entries."""
        return [
            OffsetIndexEntry(self.base_offset + offset, position)
            for offset, position in zip(self._offsets, self._positions, strict=False)
        ]

    def append(self, last_offset: int, position: int) -> None:
        """Note that the batch at `position` ends with `last_offset`; a full index takes no more."""
        offsets = self._offsets
        if len(offsets) < self.max_entries:
            # The position first: a reader who finds the offset looks for it.
            self._positions.append(position)
            offsets.append(last_offset - self.base_offset)

    def extend(self, last_offsets: "array[int]", positions: "array[int]") -> None:
        """Note many at once, their offsets less the segment's first, as `append` notes one. There must be room."""
        self._positions.extend(positions.tolist())
        self._offsets.extend(last_offsets.tolist())

    def lookup(self, offset: int) -> int:
        """Return where to start reading for `offset`: the position of the last entry at or below it, 0 below all."""
        floor = self._compiled_floor or self._floor
        return floor(self._offsets, self._positions, offset - self.base_offset, 0)

    def indexed_offset(self, offset: int) -> int | None:
        """Return the last entry's at or below `offset`: the batch that has it begins where `lookup` leads, or later."""
        number = bisect_right(self._offsets, offset - self.base_offset)
        return self.base_offset + self._offsets[number - 1] if number else None

    def find_batches(self, log: memoryview, offset: int, max_bytes: int, size: int) -> tuple[int, int, int] | None:
        """Do what the kernel of this name does in the first `size` bytes of the segment, if it is there."""
        find = FIND_BATCHES.ready()
        if find is None:
            return None
        found: tuple[int, int, int] = find(
            log, self._offsets, self._positions, self.base_offset, offset, max_bytes, size
        )
        return found

    def find_sound_batch(self, log: memoryview, offset: int, size: int, end_offset: int) -> int:
        """Do what the kernel of this name does, if it is there."""
        find = FIND_SOUND_BATCH.code or FIND_SOUND_BATCH.ready()
        if find is None:
            return -1
        found: int = find(log, self._offsets, self._positions, self.base_offset, offset, size, end_offset)
        return found

    def floor_position(self, position: int) -> int:
        """Return the last indexed position at or below `position`, 0 below all."""
        positions = self._positions
        number = bisect_right(positions, position)
        return positions[number - 1] if number else 0

    def offset_from_position(self, position: int) -> int | None:
        """Return the last offset of the first indexed batch at `position` or later (Kafka: fetchUpperBoundOffset)."""
        offsets = self._offsets
        number = bisect_left(self._positions, position)
        return self.base_offset + offsets[number] if number < len(offsets) else None

    def truncate_to(self, offset: int) -> None:
        """Drop the entries of batches that reach `offset`. Raises OSError."""
        kept = bisect_left(self._offsets, offset - self.base_offset)
        del self._offsets[kept:], self._positions[kept:]
        self._cut()

    def _take(self, data: bytes) -> int:
        words = words_of(used_slots(data, OFFSET_SLOT, self.path))
        self._offsets = words[::2]
        self._positions = array("I", words[1::2].tobytes())
        return len(self._offsets)

    def _encode(self, first: int) -> bytes:
        offsets, positions = self._offsets[first:], self._positions[first:]
        words = array("i", bytes(len(offsets) * OFFSET_SLOT))
        words[::2], words[1::2] = offsets, array("i", positions[: len(offsets)].tobytes())
        return big_endian(words)


def _load_find_batches() -> Any:
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  numba loads on the first bulk operation
    from logstore.kernels.locate import find_batches  # noqa: PLC0415  numba again

    return machine_code(find_batches, memoryview(b""), array("i"), array("I"), 0, 0, 0, 0)


FIND_BATCHES: Final = AwaitedKernel(_load_find_batches, patience=1)


def _load_find_sound_batch() -> Any:
    from epoch.compiling.kernel import machine_code  # noqa: PLC0415  as above
    from logstore.kernels.single_record import find_sound_batch  # noqa: PLC0415  as above

    return machine_code(find_sound_batch, memoryview(b""), array("i"), array("I"), 0, 0, 0, 0)


FIND_SOUND_BATCH: Final = AwaitedKernel(_load_find_sound_batch)
