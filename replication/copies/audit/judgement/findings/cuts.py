"""What becomes of producers when a follower is cut off where its log parts from the new leader's."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from logstore.batch.batch_attributes import SEQUENCES
from logstore.topic_partition import TopicPartition
from logstore.verify.finding import Finding, Reporter
from replication.copies.audit.copy_summary import CopySummary, OpenTransaction, ProducerEnd
from replication.copies.audit.judgement.verdict import PairVerdict
from replication.copies.audit.replica_finding import ReplicaFinding

MOST_FINDINGS: Final = 100
"""Of one kind about one copy: more would not be read."""


def cut_findings(
    partition: TopicPartition, summaries: Sequence[CopySummary], pairs: Sequence[PairVerdict], recommended: str | None
) -> Iterator[ReplicaFinding]:
    """Report the producers that cannot go on as before once the recommended replica leads."""
    copies = {summary.replica: summary for summary in summaries}
    for pair in pairs:
        if pair.leader == recommended and pair.truncate_to is not None:
            cut = _Cut(Reporter(partition), copies[pair.leader], copies[pair.follower], pair.truncate_to)
            yield from _limited(cut.sequences(), pair.follower)
            yield from _limited(cut.records_of_transactions(), pair.follower)
            yield from _limited(cut.ends_of_transactions(), pair.follower)


@dataclass(frozen=True, slots=True)
class _Cut:
    report: Reporter
    leader: CopySummary
    follower: CopySummary
    offset: int

    def sequences(self) -> Iterator[Finding]:
        """Look for producers with idempotence whose last batches only the follower has."""
        known = {producer.producer_id: producer for producer in self.leader.producers}
        for producer in self.follower.producers:
            of_leader = known.get(producer.producer_id)
            if producer.last_offset < self.offset or (of_leader and _is_at_least(of_leader, producer)):
                continue
            knows = (
                "does not know it"
                if of_leader is None
                else f"has it at epoch {of_leader.producer_epoch}, sequence {of_leader.last_sequence}"
            )
            yield self.report.warning(
                "producer-sequence-cut",
                f"producer {producer.producer_id} (epoch {producer.producer_epoch}) has written up to sequence "
                f"{producer.last_sequence} here, but {self.leader.replica}, the recommended leader, {knows}: batches "
                f"from offset {self.offset} on that were acknowledged to it are lost, and if it continues, its next "
                "one is refused as out of order; clients from Kafka 2.5 on then begin a new epoch (KIP-360), older "
                "ones fail",
                file=None,
                offset=producer.last_offset,
            )

    def records_of_transactions(self) -> Iterator[Finding]:
        """Look for open transactions that began before the cut and lose records behind it."""
        last_offsets = {producer.producer_id: producer.last_offset for producer in self.follower.producers}
        for transaction in self.follower.open_transactions:
            last_offset = last_offsets.get(transaction.producer_id, transaction.first_offset)
            if transaction.first_offset < self.offset <= last_offset:
                yield self._transaction(
                    "transaction-cut",
                    transaction,
                    f"goes on to {last_offset} here and is cut off at {self.offset} once {self.leader.replica} leads: "
                    "it may still be committed without the records from there on; make sure that its producer aborts "
                    "it",
                )

    def ends_of_transactions(self) -> Iterator[Finding]:
        """Look for transactions open on the leader whose marker only the follower has."""
        markers = {marker.producer_id: marker.offset for marker in self.follower.last_markers}
        for transaction in self.leader.open_transactions:
            marker = markers.get(transaction.producer_id, -1)
            if transaction.first_offset < self.offset <= marker:
                yield self._transaction(
                    "transaction-end-cut",
                    transaction,
                    f"is open on {self.leader.replica}, the recommended leader, and its marker here, at {marker}, is "
                    "cut off: consumers with read_committed wait at its first record until it is ended again, which "
                    "the coordinator does not do for a transaction that it has completed (`kafka-transactions.sh "
                    "abort` does)",
                )

    def _transaction(self, kind: str, transaction: OpenTransaction, what: str) -> Finding:
        whose = f"the transaction of producer {transaction.producer_id} (epoch {transaction.producer_epoch})"
        message = f"{whose} from offset {transaction.first_offset} on {what}"
        return self.report.warning(kind, message, file=None, offset=transaction.first_offset)


def _is_at_least(leader: ProducerEnd, follower: ProducerEnd) -> bool:
    """Whether the leader knows the producer as far as the follower does, sequence numbers starting over."""
    if leader.producer_epoch != follower.producer_epoch:
        return leader.producer_epoch > follower.producer_epoch
    return (leader.last_sequence - follower.last_sequence) % SEQUENCES < SEQUENCES // 2


def _limited(findings: Iterable[Finding], replica: str) -> Iterator[ReplicaFinding]:
    for finding in islice(findings, MOST_FINDINGS):
        yield ReplicaFinding(replica, finding)
