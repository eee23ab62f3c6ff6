"""Reads records as columns: checked, in order, without control records and those of aborted transactions."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CONTROL_BIT
from logstore.batch.batch_order import NO_SURROUNDINGS, BatchOrder, Surroundings
from logstore.batch.batches import read_batch
from logstore.batch.columns import BatchColumns, RecordColumns, StopReason
from logstore.batch.layout import MAGIC
from logstore.errors import LogStoreError
from logstore.indexes.aborted_producers import AbortedProducers
from logstore.offline.batch_scan import scan_batches
from logstore.offline.columns.decoded_records import Unreadable, decoded_records
from logstore.segment.ordered_records import ordered_records

_SOUND_STOPS: Final = frozenset({StopReason.END, StopReason.MORE, StopReason.LEGACY})


class Chunk(NamedTuple):
    """Some thousand records, and the batches that their column `batch` counts."""

    records: RecordColumns
    batches: BatchColumns


@dataclass(slots=True)
class ColumnReader:
    """Reads the records from offset `start` up to, not including, `end`."""

    start: int = 0
    end: int | None = None
    file: str | None = None
    _order: BatchOrder = field(default_factory=BatchOrder, init=False)

    @property
    def last_offset(self) -> int:
        """Of the last batch read, whether its records were wanted or not; -1 before the first."""
        return self._order.last_offset

    @property
    def is_at_end(self) -> bool:
        """Whether all that is wanted has been read."""
        return self.end is not None and self.last_offset >= self.end - 1

    def chunks(
        self,
        data: memoryview,
        aborted: AbortedProducers | None = None,
        *,
        begin: Callable[[int], None] = lambda _: None,
        around: Surroundings = NO_SURROUNDINGS,
    ) -> Iterator[Chunk]:
        """Yield the records of batches that fill `data`, without those that are `aborted`.

        `begin` is called with the first offset, and `around` what lies around the data. Raises what `LogFile.batches`,
        `RecordBatch.ensure_valid` and `ordered_records` raise, once what lies before was yielded; CorruptBatchError
        where offsets or leader epochs do not fit to those of the batches around.
        """
        aborted = AbortedProducers(()) if aborted is None else aborted
        for columns in scan_batches(data, 0, check_crc=True, file=self.file):
            sound = self._order.sound(columns, data, around)
            if len(sound):
                if sound.position[0] == 0:
                    begin(int(sound.base_offset[0]))
                yield from self._decoded(data, sound, self._wanted(sound) & ~aborted.covered(sound))
            if self.is_at_end:
                return
            if len(sound) < len(columns):
                self._refuse(data, int(columns.position[len(sound)]), around)
            if columns.stop not in _SOUND_STOPS:
                read_batch(data, columns.next_position, self.file)  # which says what is wrong

    def _wanted(self, columns: BatchColumns) -> NDArray[np.bool_]:
        is_control: NDArray[np.bool_] = (columns.attributes & CONTROL_BIT != 0) & (columns.magic == MAGIC)
        wanted = ~is_control & (columns.last_offset >= self.start)
        return wanted if self.end is None else wanted & (columns.base_offset < self.end)

    def _decoded(self, data: memoryview, columns: BatchColumns, wanted: NDArray[np.bool_]) -> Iterator[Chunk]:
        for records in decoded_records(data, columns, np.flatnonzero(wanted), in_order=True):
            if isinstance(records, Unreadable):
                self._refuse_records(data, int(columns.position[records.row]), records.error)
            chosen = self._chosen(records, columns)
            if len(chosen):
                yield Chunk(chosen, columns)

    def _chosen(self, records: RecordColumns, columns: BatchColumns) -> RecordColumns:
        inside = records.offset >= self.start
        if self._order.reached >= columns.base_offset[0] or columns.has_too_many.any():
            inside &= self._is_beyond(records, columns)
        if self.end is not None:
            inside &= records.offset < self.end
        return records if inside.all() else records.take(np.flatnonzero(inside))

    def _is_beyond(self, records: RecordColumns, columns: BatchColumns) -> NDArray[np.bool_]:
        """Return which records are above those of batches before that have too many; see `BatchOrder.reached`."""
        beyond = np.zeros(len(records), np.bool_)
        for row in np.unique(records.batch).tolist():
            own = records.batch == row
            beyond[own] = records.offset[own] > self._order.reached
            if columns.has_too_many[row]:
                self._order.reached = max(self._order.reached, int(records.offset[own].max()))
        return beyond

    def _refuse(self, data: memoryview, position: int, around: Surroundings) -> None:
        batch = read_batch(data, position, self.file)
        batch.ensure_valid()
        self._order.take(batch, around)

    def _refuse_records(self, data: memoryview, position: int, error: LogStoreError) -> NoReturn:
        for _ in ordered_records(read_batch(data, position, self.file)):
            pass  # the record that cannot be says so
        raise error
