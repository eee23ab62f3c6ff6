"""The in-sync replicas of a partition, as its leader knows them (Kafka: PartitionState)."""

from dataclasses import dataclass
from typing import Final, Self

from logstore import Log, TopicPartition
from replication.cluster.broker.events.partition_events import IsrChanged
from replication.wire.messages.alter_partition import IsrChange

_BY_CONTROLLER: Final = "the controller has changed it"


@dataclass(frozen=True, slots=True)
class IsrState:
    """Committed, or with a change that the controller has not answered yet."""

    isr: tuple[int, ...]
    """Those that the controller has committed, by broker ids."""
    wanted: IsrChange | None = None
    why: str = ""
    """Why it is wanted."""

    @property
    def is_pending(self) -> bool:
        """Whether a change has been asked for. There is one at a time."""
        return self.wanted is not None

    @property
    def maximal_isr(self) -> frozenset[int]:
        """All that may be in sync: whichever ISR the controller has by now, its members are among them."""
        return frozenset(self.isr) if self.wanted is None else frozenset((*self.isr, *self.wanted.broker_ids))

    def wanting(self, change: IsrChange, why: str) -> Self:
        """Return the state while a change is asked for."""
        return type(self)(self.isr, change, why)

    def committed(self) -> Self:
        """Return the state after the change was refused."""
        return type(self)(self.isr)

    def change_to(
        self, isr: tuple[int, ...], partition: TopicPartition, log: Log, *, leader_epoch: int, partition_epoch: int
    ) -> IsrChanged | None:
        """Return what has happened where these are in sync by now; None where they were before."""
        if set(isr) == set(self.isr):
            return None
        is_asked = self.wanted is not None and set(isr) == set(self.wanted.broker_ids)
        return IsrChanged(
            partition=partition,
            leader_epoch=leader_epoch,
            partition_epoch=partition_epoch,
            before=self.isr,
            after=isr,
            log_end_offset=log.log_end_offset,
            high_watermark=log.high_watermark,
            is_asked=is_asked,
            why=self.why if is_asked else _BY_CONTROLLER,
        )
