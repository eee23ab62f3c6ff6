"""A broker that coordinates nothing and has replicas of coordinators' topics, as a value."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from replication.cluster.broker.events.partition_events import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorReplicas:
    """It may lead them at any time: who belongs there would find no coordinator then. Reported at each start."""

    event: ClassVar[str] = "coordinator-replicas"
    topics: tuple[str, ...]
    partitions: int
    """Of how many partitions it has replicas."""
    bootstrap: str
    """Where a tool reaches the cluster."""
    moves: str | None
    """What moves them, as kafka-reassign-partitions.sh reads it; None: no other broker could take any."""

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        command = (
            f"kafka-reassign-partitions.sh --bootstrap-server {self.bootstrap} "
            "--reassignment-json-file moves.json --execute"
        )
        return {
            "event": self.event,
            "topics": ",".join(self.topics),
            "partitions": self.partitions,
            "why": "this broker coordinates nothing, and clients find no coordinator where it leads one of these",
            "next": (
                "start other brokers that coordinate, and this one again, which then says how to move them"
                if self.moves is None
                else f"{command} # moves.json has what is behind moves="
            ),
            "moves": self.moves,
        }
