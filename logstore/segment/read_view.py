"""The result of a read of a log: bytes of its files, most of them not copied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from logstore.batch.batch_order import NO_SURROUNDINGS, BatchOrder
from logstore.batch.batches import read_batch
from logstore.errors import LogStoreError
from logstore.segment.view_records import ViewRecords

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from logstore.batch.any_batch import Batch
    from logstore.batch.batch_order import Surroundings
    from logstore.batch.record import Record
    from logstore.indexes.transaction_index import AbortedTransaction

_NO_BYTES: Final = memoryview(b"")


class ReadView:
    """Whole batches of one segment: zero-copy, but for a few that were just appended (Kafka: FetchDataInfo).

    The bytes stay valid while `data` is referenced, whatever this process does to the log: truncate, delete, close,
    recover or reopen it. They keep no file descriptor open.

    >>> view = log.read(offset, 1 << 20)
    >>> for record in view.records():
    ...     print(record.offset, record.value)
    >>> offset = view.next_offset
    """

    __slots__ = (
        "aborted_transactions",
        "data",
        "first_batch_incomplete",
        "offset",
        "position",
        "segment_base_offset",
        "surroundings",
    )

    def __init__(
        self,
        offset: int,
        data: memoryview = _NO_BYTES,
        segment_base_offset: int = -1,
        position: int = -1,
        first_batch_incomplete: bool = False,
        surroundings: Surroundings = NO_SURROUNDINGS,
    ) -> None:
        """Create a view of what was found for `offset`."""
        self.offset: int = offset
        """What was asked for: the first batch may begin before it."""
        self.data: memoryview = data
        self.segment_base_offset: int = segment_base_offset
        """The segment that the bytes are in; -1 where nothing was looked up."""
        self.position: int = position
        """Where `data` begins in the segment's file."""
        self.first_batch_incomplete: bool = first_batch_incomplete
        """There is a batch, but it is larger than what was asked for (Kafka: firstEntryIncomplete)."""
        self.surroundings: Surroundings = surroundings
        """What is known of the bytes around."""
        self.aborted_transactions: Sequence[AbortedTransaction] = ()
        """For reads of committed records: whose records to skip, and from which offset on."""

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        return f"ReadView(offset={self.offset}, bytes={len(self.data)})"

    @property
    def next_offset(self) -> int:
        """The offset to read next: the one after the last batch, or the requested one if there is no batch.

        The last record may have a lower offset: control records and aborted transactions have offsets too. Raises what
        `batches` raises.
        """
        offset = self.offset
        for batch in self.batches():
            offset = batch.last_offset + 1
        return offset

    def ensure_begin(self, base_offset: int) -> None:
        """See that no batch is missing before the first, which begins at `base_offset`. Raises CorruptBatchError."""
        if base_offset != self.offset:
            self.surroundings.ensure_begin(self.offset, base_offset)

    def batches(self) -> Iterator[Batch]:
        """Walk over the batches, the first of which may begin before `offset`.

        Raises CorruptBatchError where their offsets or leader epochs do not fit to what lies before and after them.
        """
        order, data, position = BatchOrder(), self.data, 0
        end = len(data)
        try:
            while position < end:
                batch = read_batch(data, position)  # `read_batches` takes a tenth longer here
                if batch.base_offset == order.last_offset + 1 and batch.leader_epoch == order.epoch:
                    order.last_offset = batch.last_offset  # most do, and asking costs as much as reading the header
                else:
                    if not position and batch.base_offset != self.offset:
                        self.ensure_begin(batch.base_offset)
                    order.take(batch, self.surroundings)
                position += batch.size
                yield batch
        except LogStoreError as error:
            raise self.located(error) from None

    def records(
        self,
        order: BatchOrder | None = None,
        explained: Callable[[LogStoreError], LogStoreError] = lambda error: error,
    ) -> Iterator[Record]:
        """Yield the records from `offset` on, without control records and those of aborted transactions.

        Aborted transactions are only known after a read with `Isolation.READ_COMMITTED`. Raises DecompressionError,
        DecompressionLimitError, CorruptRecordError also where offsets do not rise within a batch, and CorruptBatchError
        if a checksum does not match, or as `batches` does: disks and memory may also lose bits while a log is open.
        `order` is that of the batches before, and `explained` returns what is raised for an error.
        """
        try:
            for run in self.runs(order):
                yield from run
        except LogStoreError as error:
            raise explained(self.located(error)) from None

    def runs(self, order: BatchOrder | None = None) -> Iterator[Iterable[Record]]:
        """Yield what `records` does, many at once. Where taking one of them raises, none is to be taken any more.

        What is raised is to be `located`.
        """
        order = BatchOrder() if order is None else order
        return ViewRecords(self.data, self.offset, self.surroundings, self.aborted_transactions, order).runs()

    def located(self, error: LogStoreError) -> LogStoreError:
        """Return an error about the bytes of `data` with its place in their file."""
        file = self.surroundings.file
        if error.file is not None or error.position is None or file is None:
            return error
        return error.with_position(file=file, position=self.position + error.position, offset=error.offset)
