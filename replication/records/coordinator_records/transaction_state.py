"""The records in which `__transaction_state` keeps transactions (Kafka: TransactionLogKey, TransactionLogValue).

Their key and their value begin with an int16, the version of what follows.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final, NamedTuple

from logstore.topic_partition import TopicPartition
from replication.records.codec.codec import Since, Structs, Tag
from replication.records.codec.fields import Int8, Int16, Int32, Int32s, Int64, String
from replication.records.coordinator_records.versioned_record import read_versioned

TRANSACTION_STATE: Final = "__transaction_state"
"""The topic in which coordinators keep their transactions."""
_KEY_VERSIONS: Final = 1
_VALUE_VERSIONS: Final = 2
_FIRST_FLEXIBLE: Final = 1


class TransactionStatus(IntEnum):
    """What a coordinator is doing with a transaction (Kafka: TransactionState)."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7


def status_name(status: int) -> str:
    """Name a status as Kafka's tools and answers do, such as `PrepareCommit`; a newer one by its number."""
    known = status in set(TransactionStatus)
    return "".join(map(str.title, TransactionStatus(status).name.split("_"))) if known else str(status)


UNFINISHED: Final = frozenset(
    {
        TransactionStatus.ONGOING,
        TransactionStatus.PREPARE_COMMIT,
        TransactionStatus.PREPARE_ABORT,
        TransactionStatus.PREPARE_EPOCH_FENCE,
    }
)
"""The coordinator will still write markers into the partitions."""


class _TransactionalId(NamedTuple):
    name: String


class TopicPartitions(NamedTuple):
    """The partitions of one topic that a transaction has written to."""

    topic: String
    partitions: Int32s


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionState:
    """What a coordinator knows of a transactional id."""

    producer_id: Int64
    producer_epoch: Int16
    timeout_ms: Int32
    status: Int8
    topics: Annotated[tuple[TopicPartitions, ...] | None, Structs(TopicPartitions, optional=True)] = None
    last_update: Int64 = -1
    """In milliseconds since 1970 UTC, as is the next."""
    start: Int64 = -1
    previous_producer_id: Annotated[Int64, Since(1), Tag(0)] = -1
    next_producer_id: Annotated[Int64, Since(1), Tag(1)] = -1
    client_transaction_version: Annotated[Int16, Since(1), Tag(2)] = 0
    next_producer_epoch: Annotated[Int16, Since(1), Tag(3)] = -1

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """Those to which the transaction has written, and that have no marker yet."""
        return frozenset(TopicPartition(each.topic, number) for each in self.topics or () for number in each.partitions)

    def is_of(self, producer_id: int) -> bool:
        """Return whether a producer has, or had, the transactional id."""
        return producer_id in {self.producer_id, self.previous_producer_id}

    def will_end(self, producer_id: int, partition: TopicPartition) -> bool:
        """Return whether the coordinator will write the marker of a producer's transaction into a partition."""
        return self.is_of(producer_id) and self.status in UNFINISHED and partition in self.partitions


def read_transactional_id(key: bytes | None) -> str | None:
    """Read whose transaction a record is about; None if it cannot be read."""
    found = read_versioned(_TransactionalId, _KEY_VERSIONS, key, flexible_from=_KEY_VERSIONS)
    return found.name if found else None


def read_transaction_state(value: bytes | None) -> TransactionState | None:
    """Read the state; None if the id has expired, or it is of a later version or cannot be read."""
    return read_versioned(TransactionState, _VALUE_VERSIONS, value, flexible_from=_FIRST_FLEXIBLE)
