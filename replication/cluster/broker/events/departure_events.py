"""A broker that leaves its cluster, as values: when it begins to, and how it has ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from replication.cluster.broker.events.partition_events import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """The controller is asked to let others lead (Kafka: controlled shutdown)."""

    event: ClassVar[str] = "leaving"
    within_ms: int
    """How long it is waited for."""

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        return {"event": self.event, "within_ms": self.within_ms, "why": "this broker was told to stop"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """The broker sends no heartbeats any more; it closes its logs."""

    event: ClassVar[str] = "left"
    took_ms: int
    reason: str | None = None
    """Why the controller did not let it go; None where it did."""

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        if self.reason is None:
            why, advice = "the controller has moved all that this broker led", None
        else:
            why = f"the controller has not moved what it led: {self.reason}"
            advice = "others lead once its session is over; check that the controllers run and can be reached"
        return {
            "event": self.event,
            "in_order": self.reason is None,
            "took_ms": self.took_ms,
            "why": why,
            "next": advice,
        }


DepartureEvent: TypeAlias = Leaving | Left
