"""What a leader asks the coordinator of a transaction before the first batch of it is appended (KIP-890)."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from logstore import TopicPartition
from replication.wire.error_code import ErrorCode


class AskedTransaction(NamedTuple):
    """A producer's transaction, and the partitions that it writes to here for the first time."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    is_to_be_added: bool
    """Whether the coordinator shall add the partitions (transaction.version 2); else the producer has had them added,
    and they are only looked up."""


TellRefused: TypeAlias = Callable[[Mapping[TopicPartition, ErrorCode]], None]
"""Takes the partitions that are not part of the transaction, and why; the others are."""


class TransactionVerification(Protocol):
    """The way to the coordinators of transactions (Kafka: AddPartitionsToTxnManager)."""

    def ask(self, asked: AskedTransaction, tell: TellRefused) -> None:
        """Ask, and call `tell` with the answer once, in any thread, now or later.

        COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, CONCURRENT_TRANSACTIONS and
        NETWORK_EXCEPTION let the producer try again.
        """


class NoCoordinator:
    """Where no coordinator can be reached."""

    def ask(self, asked: AskedTransaction, tell: TellRefused) -> None:
        """Refuse with COORDINATOR_NOT_AVAILABLE."""
        tell(dict.fromkeys(asked.partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE))
