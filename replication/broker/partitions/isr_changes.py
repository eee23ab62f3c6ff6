"""What a leader asks of the controller: other replicas in the ISR (Kafka: AlterPartition, KIP-497, KIP-903)."""

from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from logstore import TopicPartition
from replication.metadata.partition import LeaderRecoveryState

ANY_BROKER_EPOCH: Final = -1
"""Of a follower that does not tell in which epoch its broker is registered."""


class InSyncReplica(NamedTuple):
    """A replica that shall be in sync, as of one registration of its broker."""

    broker_id: int
    broker_epoch: int = ANY_BROKER_EPOCH


@dataclass(frozen=True, slots=True)
class WantedIsr:
    """The ISR that a leader wants, and from which state of the partition it starts (Kafka: LeaderAndIsr)."""

    partition: TopicPartition
    topic_id: UUID
    leader_epoch: int
    partition_epoch: int
    isr: tuple[InSyncReplica, ...]
    recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    """RECOVERED, as in Kafka: what an unclean election left is the partition's log from now on."""

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """The ISR without the epochs."""
        return tuple(replica.broker_id for replica in self.isr)


class IsrChanges(Protocol):
    """Takes the changes of all partitions that a broker leads to the controller (Kafka: AlterPartitionManager)."""

    def ask(self, change: WantedIsr) -> None:
        """Ask for a change, and pass the answer to `LedPartition.answered`: in any thread, now or later.

        After an error that may pass, `answered` asks for the same change again: back off before it is sent, and send it
        only once the request before cannot reach the controller any more. One that comes after its change was refused
        may be granted then, and the leader would not wait for who joins.
        """
