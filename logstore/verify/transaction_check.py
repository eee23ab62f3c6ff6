"""The transaction index names exactly the transactions that markers in the log abort."""

from bisect import bisect_right
from collections.abc import Iterator

from logstore.batch.batch import RecordBatch
from logstore.batch.batch_attributes import CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.control import ControlRecord, ControlType
from logstore.errors import CorruptControlRecordError, LogStoreError
from logstore.file_name import FileKind, file_name
from logstore.indexes.transaction_index import ENTRY_BYTES, AbortedTransaction, TransactionIndex
from logstore.offline.segment import Segment
from logstore.verify.compaction import Compaction
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck, goes_on_after
from logstore.verify.reading import read_file


class TransactionCheck(SilentCheck):
    """Follows the transactions through the log and compares each segment's aborted ones with its index.

    A log that was damaged or compacted does not hold all batches of its transactions: then nothing is compared.
    Transactions may also have begun before `first_segment`, the base offset of the oldest one that retention has left;
    and a broker that reads its log again, from its start, knows nothing of those that began before that.
    """

    def __init__(self, report: Reporter, compaction: Compaction, first_segment: int, log_start: int) -> None:
        self._report = report
        self._compaction = compaction
        self._first_segment = first_segment
        self._log_start = log_start
        self._differences: list[Finding] = []  # held back, as later batches may show that the log was compacted
        self._open: dict[int, int] = {}  # first offset by producer id
        self._written: dict[int, int] = {}  # last offset by producer id
        self._deleted: set[int] = set()  # last offsets of aborts whose records are below the log's start
        self._begun: list[tuple[int, int]] = []  # first offset and producer id of those that began in this segment
        self._aborted: list[AbortedTransaction] = []
        self._unknown_start: set[int] = set()  # last offsets of aborts that began before the log
        self._incomplete = False
        self._end_position = 0
        """Where the segment's last batch ends."""
        self._end_offset = 0

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Follow the transactions."""
        columns = chunk.columns
        self._end_position, self._end_offset = columns.next_position, int(columns.last_offset[-1]) + 1
        self._incomplete |= self._compaction.found or chunk.totals.corrupt > 0
        for row in (columns.attributes & TRANSACTIONAL_BIT).nonzero()[0] if chunk.totals.transactional else ():
            if self._incomplete:
                break
            producer = int(columns.producer_id[row])
            if columns.attributes[row] & CONTROL_BIT:
                yield from self._marker(chunk, int(columns.position[row]), producer)
                continue
            self._written[producer] = int(columns.last_offset[row])
            if producer not in self._open:
                self._open[producer] = first = int(columns.base_offset[row])
                self._begun.append((first, producer))

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Stop comparing."""
        del segment, start, end
        self._incomplete = True

    def end_segment(self, segment: Segment, *, is_active: bool) -> Iterator[Finding]:
        """Compare the segment's index with what its markers aborted."""
        expected, self._aborted = self._aborted, []
        begun, self._begun = self._begun, []
        findings, index = self._read(segment)
        yield from findings
        if self._incomplete or findings:
            return
        entries = list(index.entries) if index else []
        if is_active and goes_on_after(segment, self._end_position):
            entries = [entry for entry in entries if entry.last_offset < self._end_offset]
        self._end_position = 0
        if expected or entries:
            self._differences += self._compare(segment, expected, entries, begun)

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Report how the indexes differ, once it is known whether the log was compacted."""
        del log_end_offset
        if not self._compaction.found:
            yield from self._differences

    def _read(self, segment: Segment) -> tuple[list[Finding], TransactionIndex | None]:
        if FileKind.TRANSACTION_INDEX not in segment.files:
            return [], None
        name = file_name(FileKind.TRANSACTION_INDEX, segment.base_offset)
        return read_file(segment.transaction_index, name, "transaction-index-unreadable", self._report)

    def _marker(self, chunk: Chunk, position: int, producer: int) -> Iterator[Finding]:
        batch = RecordBatch(chunk.log.data, position, chunk.segment.log_path.name)
        try:
            control = ControlRecord.of(next(batch.records()))
            if control.end_transaction_marker() is None or batch.record_count != 1:
                raise CorruptControlRecordError(
                    "a transaction's control batch does not hold exactly one commit or abort marker"
                )
        except (LogStoreError, StopIteration) as error:
            yield self._report.error(
                "control-record-unreadable",
                str(error),
                file=chunk.segment.log_path.name,
                position=position,
                offset=batch.base_offset,
            )
            self._incomplete = True
            return
        first = self._open.pop(producer, None)
        if control.type is not ControlType.ABORT:
            return
        if first is None:
            self._unknown_start.add(batch.last_offset)
            return
        if self._written[producer] < self._log_start:
            self._deleted.add(batch.last_offset)
        stable = min(self._open.values(), default=batch.last_offset + 1)
        self._aborted.append(AbortedTransaction(producer, first, batch.last_offset, stable))

    def _compare(
        self,
        segment: Segment,
        expected: list[AbortedTransaction],
        entries: list[AbortedTransaction],
        begun: list[tuple[int, int]],
    ) -> Iterator[Finding]:
        file = file_name(FileKind.TRANSACTION_INDEX, segment.base_offset)
        by_marker = {entry.last_offset: (number, entry) for number, entry in enumerate(entries)}
        for transaction in expected:
            number, entry = by_marker.pop(transaction.last_offset, (None, None))
            if entry is None or number is None:
                is_deleted = transaction.last_offset in self._deleted
                report = self._report.info if is_deleted else self._report.error
                yield report(
                    "aborted-transaction-missing",
                    f"producer {transaction.producer_id} aborted offsets {transaction.first_offset}.."
                    f"{transaction.last_offset}, but the index does not say so: "
                    + (
                        "its records are below the log's start, where a broker that loads the log does not look"
                        if is_deleted
                        else "read_committed consumers would be given aborted records"
                    ),
                    file=file,
                    offset=transaction.first_offset,
                )
            elif not (self._agree(entry, transaction) or self._agree(entry, _as_follower(transaction, begun))):
                yield self._report.error(
                    "aborted-transaction-differs",
                    f"entry {number} says {_in_words(entry)}, the log says {_in_words(transaction)}",
                    file=file,
                    position=number * ENTRY_BYTES,
                    offset=transaction.first_offset,
                )
        for number, entry in by_marker.values():
            if entry.last_offset not in self._unknown_start:
                yield self._report.error(
                    "aborted-transaction-unknown",
                    f"entry {number} says {_in_words(entry)}, but the log has no such marker",
                    file=file,
                    position=number * ENTRY_BYTES,
                    offset=entry.first_offset,
                )

    def _agree(self, entry: AbortedTransaction, transaction: AbortedTransaction) -> bool:
        """Compare what index and log say, except of offsets that the log no longer has."""
        return entry.producer_id == transaction.producer_id and all(
            indexed == logged or indexed < self._first_segment or logged < self._log_start
            for indexed, logged in (
                (entry.first_offset, transaction.first_offset),
                (entry.last_stable_offset, transaction.last_stable_offset),
            )
        )


def _as_follower(transaction: AbortedTransaction, begun: list[tuple[int, int]]) -> AbortedTransaction:
    """Give the entry of a replica that appended the marker together with the transaction that began after it.

    Kafka takes over all transactions of an append before it ends the first, so that nothing seems decided from the next
    producer's first offset on.
    """
    if transaction.last_stable_offset <= transaction.last_offset:
        return transaction
    for first, producer in begun[bisect_right(begun, (transaction.last_offset, -1)) :]:
        if producer != transaction.producer_id:
            return transaction._replace(last_stable_offset=first)
    return transaction


def _in_words(entry: AbortedTransaction) -> str:
    return (
        f"producer {entry.producer_id}, offsets {entry.first_offset}..{entry.last_offset}, last stable offset "
        f"{entry.last_stable_offset}"
    )
