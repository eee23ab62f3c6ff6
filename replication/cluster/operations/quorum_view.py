"""The quorum of controllers: who leads it, and how far each node has read the metadata log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from replication.wire.messages.describe_quorum import QuorumReplica


@dataclass(frozen=True, slots=True, kw_only=True)
class QuorumView:
    """What the active controller returns (Kafka: QuorumInfo)."""

    leader_id: int
    """-1 if not known."""
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    """Controllers."""
    observers: tuple[QuorumReplica, ...]
    """Brokers, and controllers without a vote. One that has stopped remains listed for some minutes."""

    @property
    def leader(self) -> QuorumReplica | None:
        """The voter that leads; None if there is no leader."""
        return next((each for each in self.voters if each.id == self.leader_id), None)

    def lag(self, replica: QuorumReplica) -> int | None:
        """Return how many offsets a node is behind the leader; None if not known."""
        if self.leader is None or replica.log_end_offset < 0:
            return None
        return max(0, self.leader.log_end_offset - replica.log_end_offset)

    def role(self, replica: QuorumReplica) -> str:
        """Return a node's role, in words."""
        if replica not in self.voters:
            return "observer"
        return "leader" if replica.id == self.leader_id else "follower"

    @property
    def replicas(self) -> tuple[QuorumReplica, ...]:
        """All nodes by role, then by id."""
        return tuple(sorted((*self.voters, *self.observers), key=lambda each: (each in self.observers, each.id)))

    def as_json(self) -> Mapping[str, Any]:
        """Return what can be written as JSON."""
        return {
            "leader": self.leader and self.leader.id,
            "leader_epoch": self.leader_epoch,
            "high_watermark": self.high_watermark,
            "nodes": [
                {
                    "id": each.id,
                    "role": self.role(each),
                    "log_end_offset": each.log_end_offset,
                    "lag": self.lag(each),
                    "last_fetch_ms": each.last_fetch_ms,
                    "last_caught_up_ms": each.last_caught_up_ms,
                }
                for each in self.replicas
            ],
        }
