"""The in-sync replicas of a partition, as its leader knows them (Kafka: PartitionState)."""

from dataclasses import dataclass
from typing import Self

from replication.protocol.messages.alter_partition import IsrChange


@dataclass(frozen=True, slots=True)
class IsrState:
    """Committed, or with a change that the controller has not answered yet."""

    isr: tuple[int, ...]
    """Those that the controller has committed, by broker ids."""
    wanted: IsrChange | None = None

    @property
    def is_pending(self) -> bool:
        """Whether a change has been asked for. There is one at a time."""
        return self.wanted is not None

    @property
    def maximal_isr(self) -> frozenset[int]:
        """All that may be in sync: whichever ISR the controller has by now, its members are among them."""
        return frozenset(self.isr) if self.wanted is None else frozenset((*self.isr, *self.wanted.broker_ids))

    def wanting(self, change: IsrChange) -> Self:
        """Return the state while a change is asked for."""
        return type(self)(self.isr, change)

    def committed(self) -> Self:
        """Return the state after the change was refused."""
        return type(self)(self.isr)
