"""Who leads a partition, and who is in sync."""

from typing import Final, NamedTuple

from replication.records.metadata.partition import LeaderRecoveryState

NO_LEADER: Final = -1
LEADER_DURING_DELETE: Final = -2
"""What brokers get for a partition that is being deleted."""
NO_LEADER_EPOCH: Final = -1
LEADER_EPOCH_DURING_DELETE: Final = -2
"""With which a replica stops whatever its leader epoch is, as its topic is being deleted."""


class LeaderAndIsr(NamedTuple):
    """A partition's state in the store (Kafka: LeaderIsrAndControllerEpoch)."""

    leader: int
    isr: tuple[int, ...]
    leader_epoch: int = 0
    controller_epoch: int = 0
    """Of the controller that wrote it last."""
    recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    version: int = 0
    """Of its node in the store: who writes on the ground of this one names it."""

    def led_by(self, leader: int, isr: tuple[int, ...] | None = None) -> "LeaderAndIsr":
        """Return the next state: the leader epoch rises with each change, even one of the ISR alone."""
        return self._replace(leader=leader, isr=self.isr if isr is None else isr, leader_epoch=self.leader_epoch + 1)

    def without(self, replica: int) -> "LeaderAndIsr":
        """Return the state once a replica is offline; the last member of an ISR stays, as it may come back."""
        if replica not in self.isr:
            return self
        leader = NO_LEADER if replica == self.leader else self.leader
        isr = self.isr if len(self.isr) == 1 else tuple(each for each in self.isr if each != replica)
        return self.led_by(leader, isr)
