"""The offset and time index of a segment, built anew from its batches (Kafka: the index part of LogSegment.recover)."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.files.index_slots import OFFSET_SLOT, TIME_SLOT
from logstore.indexes.offset_index import OFFSET_COLUMNS
from logstore.indexes.time_index import TIME_COLUMNS

if TYPE_CHECKING:
    from logstore.kernels.recovery_state import RecoveryColumns

Column = NDArray[np.int64]


class RebuiltIndexes:
    """Collects entries while the batches of a segment go by, then gives both files' bytes."""

    def __init__(self, base_offset: int, segment_index_bytes: int) -> None:
        """Begin with no entries; `segment_index_bytes` bounds each file, as it does while a segment is written."""
        self._base_offset = base_offset
        self._max_offsets = segment_index_bytes // OFFSET_SLOT
        # Kafka keeps the last slot for the entry that it appends when the segment is rolled or closed.
        self._max_times = segment_index_bytes // TIME_SLOT - 1
        self._rows: list[tuple[Column, Column, Column, Column]] = []

    def add(self, columns: "RecoveryColumns", rows: int) -> None:
        """Add the first rows that a kernel filled."""
        if rows:
            self._rows.append(
                (
                    columns.index_offset[:rows].copy(),
                    columns.index_position[:rows].copy(),
                    columns.time_timestamp[:rows].copy(),
                    columns.time_offset[:rows].copy(),
                )
            )

    def add_entry(self, last_offset: int, position: int, timestamp: int, timestamp_offset: int) -> None:
        """Add one entry."""
        row = (last_offset, position, timestamp, timestamp_offset)
        one, two, three, four = (np.array([value]) for value in row)
        self._rows.append((one, two, three, four))

    @property
    def third_last(self) -> int:
        """The position of the third last entry; 0 where there is none."""
        positions = [position for row in self._rows[-3:] for position in row[1][-3:].tolist()]
        return int(positions[-3]) if len(positions) > 2 else 0

    def offset_index(self) -> bytes:
        """Return the `.index` file's bytes."""
        slots = np.empty(min(len(self._column(0)), self._max_offsets), OFFSET_COLUMNS)
        slots["relative_offset"] = self._column(0)[: len(slots)] - self._base_offset
        slots["position"] = self._column(1)[: len(slots)]
        return slots.tobytes()

    def time_index(self, largest_timestamp: int, its_offset: int) -> bytes:
        """Return the `.timeindex` file's bytes: each timestamp that is larger than all before, and the largest last."""
        timestamps, offsets = self._column(2)[: self._max_offsets], self._column(3)[: self._max_offsets]
        rising = np.diff(timestamps, prepend=NO_TIMESTAMP) > 0
        timestamps, offsets = timestamps[rising][: self._max_times], offsets[rising][: self._max_times]
        if largest_timestamp > (timestamps[-1] if len(timestamps) else NO_TIMESTAMP):
            timestamps, offsets = np.append(timestamps, largest_timestamp), np.append(offsets, its_offset)
        slots = np.empty(len(timestamps), TIME_COLUMNS)
        slots["timestamp"] = timestamps
        slots["relative_offset"] = offsets - self._base_offset
        return slots.tobytes()

    def _column(self, number: int) -> Column:
        return np.concatenate([row[number] for row in self._rows]) if self._rows else np.empty(0, np.int64)
