"""The records of a view, in runs: batches one by one in plain Python, or, where there are many, by kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from epoch.compiling.awaited_kernel import AwaitedKernel
from logstore.batch.batch_attributes import CONTROL_BIT
from logstore.batch.batch_order import NO_SURROUNDINGS, BatchOrder, has_too_many
from logstore.batch.batches import read_batch
from logstore.batch.decoding.plain_records import FEWEST_BYTES, PLAIN_RECORDS
from logstore.batch.record import Record
from logstore.indexes.aborted_producers import AbortedProducers
from logstore.segment.ordered_records import ordered_records

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from logstore.batch.any_batch import Batch
    from logstore.batch.batch_order import Surroundings
    from logstore.batch.columns import BatchColumns
    from logstore.indexes.transaction_index import AbortedTransaction
    from logstore.segment.many_batches import ManyBatches

_FIRST_BYTES: Final = 1 << 15
"""Of batches checked at first, so that one who takes a single record need not wait for all checksums."""
_BYTES: Final = 1 << 20
_GROWTH: Final = 4
_NO_BYTES: Final = memoryview(b"")

Runs = Iterator[Iterable[Record]]


def _load_scan() -> Any:
    from logstore.segment.many_batches import sound_batches  # noqa: PLC0415  it loads numpy

    sound_batches(_NO_BYTES, 0, 0, BatchOrder(), NO_SURROUNDINGS)
    return sound_batches


VIEW_SCAN: Final = AwaitedKernel(_load_scan, patience=1)
"""The kernel that checks many batches: asked for once many records were decoded."""


class ViewRecords:
    """Walks over the batches of a view once."""

    def __init__(
        self,
        data: memoryview,
        offset: int,
        around: Surroundings,
        aborted: Sequence[AbortedTransaction],
        order: BatchOrder,
    ) -> None:
        """Create the sequence of the records from `offset` on in `data`.

        `order` is that of the batches before, and goes along past the last one.
        """
        self._data = data
        self._offset = offset
        self._around = around
        self._aborted = AbortedProducers(aborted)
        self._order = order
        self._next = 0
        self._many: ManyBatches | None = None

    @property
    def _lowest(self) -> int:
        """The first offset that is wanted."""
        return max(self._offset, self._order.reached + 1)

    def runs(self) -> Runs:
        """Yield the records; see `ReadView.records`."""
        end, size = len(self._data), _FIRST_BYTES
        while self._next < end:
            if PLAIN_RECORDS.is_spent and end - self._next >= FEWEST_BYTES and VIEW_SCAN.ready() is not None:
                yield from self._check_many(size)
                size = min(size * _GROWTH, _BYTES)
            if self._next < end:
                yield from self._check_one(read_batch(self._data, self._next))

    def _check_many(self, size: int) -> Runs:
        """Check batches of magic 2 up to the first that is not sound, and yield their records."""
        from logstore.segment.many_batches import ManyBatches, sound_batches  # noqa: PLC0415  it loads numpy

        columns = sound_batches(self._data, self._next, size, self._order, self._around)
        if not len(columns):
            return
        if not self._next:
            self._ensure_begin(int(columns.base_offset[0]))
        self._next = columns.next_position
        if self._many is None:
            self._many = ManyBatches(self._data)
        yield from self._many.runs(columns, self._wanted_rows(columns), self._lowest)

    def _wanted_rows(self, columns: BatchColumns) -> NDArray[np.int64]:
        wanted: NDArray[np.bool_] = (columns.attributes & CONTROL_BIT == 0) & (columns.last_offset >= self._offset)
        return (wanted & ~self._aborted.covered(columns)).nonzero()[0]

    def _check_one(self, batch: Batch) -> Runs:
        """Check a batch, and yield its records."""
        batch.ensure_valid()
        if not self._next:
            self._ensure_begin(batch.base_offset)
        self._order.take(batch, self._around)
        self._next = batch.position + batch.size
        is_aborted = self._aborted.cover(
            batch.base_offset, batch.last_offset, batch.producer_id, batch.is_transactional
        )
        if is_aborted or batch.is_control or batch.last_offset < self._offset:
            return
        records = ordered_records(batch, self._lowest)
        yield self._followed(records) if has_too_many(batch) else records

    def _followed(self, records: Iterator[Record]) -> Iterator[Record]:
        """Yield records, and note how far they reach."""
        for record in records:
            self._order.reached = max(self._order.reached, record.offset)
            yield record

    def _ensure_begin(self, base_offset: int) -> None:
        if base_offset != self._offset:
            self._around.ensure_begin(self._offset, base_offset)
