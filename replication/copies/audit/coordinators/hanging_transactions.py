"""Transactions that nobody will end: they are open in a log, and no coordinator is about to write their marker.

Consumers of committed records wait at the first record of one for ever (Kafka: `kafka-transactions find-hanging`).
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from logstore.topic_partition import TopicPartition
from logstore.verify import Finding, Severity
from replication.base.json_object import Json
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.records.coordinator_records.transaction_state import TransactionState, status_name

HANGING_TRANSACTION: Final = "hanging-transaction"


class HangingTransaction(NamedTuple):
    """A producer's open transaction in the copy that should lead."""

    topic: str
    partition: int
    replica: str
    producer_id: int
    producer_epoch: int
    first_offset: int
    transactional_id: str | None
    """None where no coordinator's copy knows the producer."""
    status: str | None
    """What the coordinator has come to with it."""

    def as_json(self) -> dict[str, Any]:
        """Return it as `epochlog audit --json` prints it."""
        return self._asdict()

    def finding(self) -> ReplicaFinding:
        """Return the finding that describes it."""
        if self.transactional_id is None:
            severity, known = Severity.INFO, "no copy of __transaction_state that was read knows its producer"
        else:
            severity, known = Severity.WARNING, f"its coordinator has {self.transactional_id} as {self.status}"
        return ReplicaFinding(
            self.replica,
            Finding(
                HANGING_TRANSACTION,
                severity,
                self.topic,
                self.partition,
                None,
                None,
                self.first_offset,
                f"the transaction of producer {self.producer_id} (epoch {self.producer_epoch}) that begins at offset "
                f"{self.first_offset} has no marker, and no coordinator will write one: {known}. Consumers of "
                "committed records wait before it; end it on the running cluster with `kafka-transactions abort`",
            ),
        )


def hanging(judged: Iterable[Json], states: Mapping[str, TransactionState]) -> Iterator[HangingTransaction]:
    """Find the open transactions in the recommended copies that no coordinator will end.

    Partitions are given as `PartitionVerdict.as_json` does, and `states` by transactional id.
    """
    for row in judged:
        partition = TopicPartition(row["topic"], row["partition"])
        for branch in row["branches"]:
            if branch["replica"] == row["recommended"]:
                for each in branch["open_transactions"]:
                    yield from _hanging(partition, branch["replica"], each, states)


def _hanging(
    partition: TopicPartition, replica: str, transaction: Json, states: Mapping[str, TransactionState]
) -> Iterator[HangingTransaction]:
    producer = transaction["producer_id"]
    if any(state.will_end(producer, partition) for state in states.values()):
        return
    known = [(name, state) for name, state in states.items() if state.is_of(producer)]
    name, state = known[0] if known else (None, None)
    yield HangingTransaction(
        *partition,
        replica,
        producer,
        transaction["producer_epoch"],
        transaction["first_offset"],
        name,
        status_name(state.status) if state else None,
    )
