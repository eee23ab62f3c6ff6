"""Fields of a batch's header that contradict each other, or those of the producer's other batches (KIP-98)."""

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CONTROL_BIT, NO_LEADER_EPOCH, SEQUENCES, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from logstore.offline.segment import Segment
from logstore.verify.compaction import Compaction
from logstore.verify.finding import Finding, Reporter
from logstore.verify.header_contradictions import Flags, contradictions
from logstore.verify.log_pass import Chunk, SilentCheck

MOST_HELD: Final = 100
_WRITTEN_SO: Final = ", although its checksum is valid: it was written so"
_ACCEPTED: Final = f"{_WRITTEN_SO}, and brokers and consumers take it as it is"
_NOT_COVERED: Final = ": the checksum does not cover the field, so it may have been altered"

Report = Callable[..., Finding]


class HeaderCheck(SilentCheck):
    """Checks each header on its own."""

    def __init__(self, report: Reporter) -> None:
        self._report = report
        self._has_epochs = False

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Report impossible values in headers."""
        if not chunk.totals.without_epoch:
            self._has_epochs = True
            if not chunk.totals.contradictory:
                return
        columns = chunk.columns
        sound = columns.crc_valid & (columns.magic == 2)
        lacking = self._lacks_epoch(columns)
        impossible = (columns.leader_epoch < NO_LEADER_EPOCH) & ~lacking
        error, warning = self._report.error, self._report.warning
        states = [
            *(
                (each.found, each.what, *((warning, _ACCEPTED) if each.is_accepted else (error, _WRITTEN_SO)))
                for each in contradictions(columns)
            ),
            (lacking, "no leader epoch, after others", error, _NOT_COVERED),
            (impossible, "a leader epoch that cannot be", error, _NOT_COVERED),
        ]
        for wrong, what, report, why in states:
            for row in np.flatnonzero(wrong & sound):
                yield report(
                    "batch-header-wrong",
                    f"the header of the batch with offsets {columns.base_offset[row]}..{columns.last_offset[row]} "
                    f"states {what}{why}; compare with another replica",
                    file=chunk.segment.log_path.name,
                    position=int(columns.position[row]),
                    offset=int(columns.base_offset[row]),
                )

    def _lacks_epoch(self, columns: BatchColumns) -> Flags:
        """Brokers since 0.11 give each batch an epoch; those before gave none."""
        has_epoch = columns.leader_epoch >= 0
        follows = np.logical_or.accumulate(has_epoch) | self._has_epochs
        self._has_epochs = bool(follows[-1])
        lacking: Flags = follows & ~has_epoch
        return lacking


class SequenceCheck(SilentCheck):
    """Follows each producer's epochs and sequence numbers, which a broker lets rise one by one while it knows it.

    A broker forgets producers that are idle, unless in a transaction, and what they wrote before the log's start. One
    that has just become leader may have lost a transaction too: where it knew no producer, a truncation reads none
    again (Kafka: rebuildProducerState). A log that was damaged or compacted lacks batches: then nothing is compared.
    """

    def __init__(self, report: Reporter, compaction: Compaction, log_start: int) -> None:
        self._report = report
        self._compaction = compaction
        self._log_start = log_start
        self._last: dict[int, tuple[int, int]] = {}  # epoch and last sequence number by producer
        self._open: dict[int, int] = {}
        """Producers in a transaction, and the leader epoch of their last batch."""
        self._held: list[Finding] = []  # later batches may show that the log was compacted
        self._doubtful: list[Finding] = []
        """Held as well: those that a forgotten producer would explain."""
        self._incomplete = False

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Stop comparing."""
        del segment, start, end
        self._incomplete = True

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Compare each producer's batches with the one before."""
        columns = chunk.columns
        self._incomplete |= chunk.totals.corrupt > 0 or self._compaction.found
        if not chunk.totals.with_producer:
            return
        rows = ((columns.producer_id >= 0) & (columns.last_offset >= self._log_start)).nonzero()[0]
        if not len(rows):
            return
        order = rows[np.argsort(columns.producer_id[rows], kind="stable")]
        producers = columns.producer_id[order]
        starts = np.flatnonzero(np.append(True, producers[1:] != producers[:-1]))
        for own in np.split(order, starts[1:]):
            if not self._incomplete and len(self._held) < MOST_HELD:
                self._producer(chunk, own)
        yield from ()

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Report what was found, once it is known that no batch is missing."""
        del log_end_offset
        if not self._incomplete and not self._compaction.found:
            yield from self._held
            yield from self._doubtful

    def _producer(self, chunk: Chunk, rows: NDArray[np.int64]) -> None:
        columns = chunk.columns
        producer, leader_epoch = int(columns.producer_id[rows[0]]), columns.leader_epoch[rows]
        is_control = (columns.attributes[rows] & CONTROL_BIT) != 0
        in_transaction = ((columns.attributes[rows] & TRANSACTIONAL_BIT) != 0) & ~is_control
        is_open = np.append(producer in self._open, in_transaction[:-1])
        is_known = is_open & (leader_epoch == np.append(self._open.get(producer, -1), leader_epoch[:-1]))
        outside = is_open & ~in_transaction & ~is_control
        self._hold(chunk, rows, outside, is_known, "is not in a transaction, although its producer has one open")
        self._open.pop(producer, None)
        if in_transaction[-1]:
            self._open[producer] = int(leader_epoch[-1])
        is_numbered = ~is_control & (columns.base_sequence[rows] >= 0)
        if is_numbered.any():
            self._sequence(chunk, rows[is_numbered], producer, is_known[is_numbered])

    def _sequence(self, chunk: Chunk, rows: NDArray[np.int64], producer: int, is_known: Flags) -> None:
        columns = chunk.columns
        epoch, first = columns.producer_epoch[rows].astype(np.int64), columns.base_sequence[rows].astype(np.int64)
        last = (first + columns.last_offset[rows] - columns.base_offset[rows]) % SEQUENCES
        before = self._last.get(producer, (int(epoch[0]), int(first[0]) - 1))
        epoch_before = np.append(before[0], epoch[:-1])
        expected = np.where(epoch > epoch_before, 0, (np.append(before[1], last[:-1]) + 1) % SEQUENCES)
        is_older = epoch < epoch_before
        self._hold(chunk, rows, is_older, is_known, "has a lower producer epoch than the producer's previous batch")
        is_broken = ~is_older & (first != expected)
        self._hold(chunk, rows, is_broken, is_known, "does not continue its producer's sequence numbers")
        self._last[producer] = int(epoch[-1]), int(last[-1])

    def _hold(self, chunk: Chunk, rows: NDArray[np.int64], wrong: Flags, is_known: Flags, what: str) -> None:
        """Keep findings of the wrong rows: warnings where the broker still knew the producer."""
        for row in rows[wrong & is_known][:MOST_HELD].tolist():
            self._held.append(self._finding(self._report.warning, chunk, row, what))
        unless = f"{what}, unless the broker had forgotten the producer after producer.id.expiration.ms without writes"
        for row in rows[wrong & ~is_known][: MOST_HELD - len(self._doubtful)].tolist():
            self._doubtful.append(self._finding(self._report.info, chunk, row, unless))

    @staticmethod
    def _finding(report: Report, chunk: Chunk, row: int, what: str) -> Finding:
        columns = chunk.columns
        return report(
            "producer-sequence-broken",
            f"the batch with offsets {columns.base_offset[row]}..{columns.last_offset[row]} of producer "
            f"{columns.producer_id[row]} {what}: a batch may be lost, duplicated or altered; compare with another "
            "replica",
            file=chunk.segment.log_path.name,
            position=int(columns.position[row]),
            offset=int(columns.base_offset[row]),
        )
