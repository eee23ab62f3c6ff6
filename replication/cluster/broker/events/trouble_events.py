"""What keeps a broker from its work for a while, as values: when it begins, and when it is over."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, TypeAlias

from replication.cluster.broker.events.partition_events import Value


class TroubleKind(StrEnum):
    """What does not work."""

    CONTROLLER = "controller"
    """Registrations or heartbeats have no answer, or are refused."""
    HEARTBEATS = "heartbeats"
    """This broker sends heartbeats late."""
    METADATA = "metadata"
    """The cluster's metadata cannot be fetched."""
    FENCED = "fenced"
    """The controller has fenced the broker, which had been unfenced."""
    SESSION = "session"
    """Clients are refused, as another broker may lead."""
    ISR = "isr"
    """The controller does not grant changes of ISRs, which are asked again."""
    DIRECTORIES = "directories"
    """The controller does not note in which directories replicas lie, and is asked again."""
    LEADER = "leader"
    """A leader that is followed cannot be connected to, or breaks off before it answers."""
    DISK = "disk"
    """A log directory has no space."""
    CLOCK = "clock"
    """The time is not trusted, and nothing is deleted by age."""
    PRODUCER_IDS = "producer-ids"
    """The controller gives no ids for idempotent producers, which ask again."""
    COORDINATOR = "coordinator"
    """Clients find no coordinator, as it would be this broker, which is none."""
    OTHER_BROKERS = "other-brokers"
    """A start waits for other brokers, which are to coordinate in this one's place."""


_ADVICE: Final[Mapping[TroubleKind, str]] = {
    TroubleKind.CONTROLLER: "it is asked again; check that the controllers run, have a leader, and can be reached",
    TroubleKind.HEARTBEATS: "it is sent at once; see what keeps the process or the machine busy, or from running",
    TroubleKind.METADATA: "it is fetched again; check that the controllers run, have a leader, and can be reached",
    TroubleKind.FENCED: "it comes back by itself; see what keeps heartbeats from arriving, here or on the way",
    TroubleKind.SESSION: "clients ask again; it serves them once the controller has answered a heartbeat",
    TroubleKind.ISR: "it is asked again; see the controller's log for the reason",
    TroubleKind.DIRECTORIES: "it is asked again; see the controller's log for the reason",
    TroubleKind.LEADER: "it is tried again; check that the leader runs, can be reached, and lets this broker log in",
    TroubleKind.DISK: "what needs space is tried again; delete what is not needed there, or give the disk more",
    TroubleKind.CLOCK: "nothing is deleted by age; set the clock right, or restart the broker if it is right",
    TroubleKind.PRODUCER_IDS: "producers ask again; check that the controllers run, have a leader, and can be reached",
    TroubleKind.COORDINATOR: "move such partitions to Kafka's brokers with kafka-reassign-partitions.sh",
    TroubleKind.OTHER_BROKERS: "it is tried again within initial.broker.registration.timeout.ms; start the others",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleBegan:
    """Something does not work from now on, or for another reason than before."""

    event: ClassVar[str] = "trouble"
    kind: TroubleKind
    peer: str | None
    """With whom, where that distinguishes it from others of its kind."""
    why: str

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        return {
            "event": self.event,
            "what": self.kind.value,
            "peer": self.peer,
            "why": self.why,
            "next": _ADVICE[self.kind],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleEnded:
    """It works again, or is not wanted any more."""

    event: ClassVar[str] = "trouble-over"
    kind: TroubleKind
    peer: str | None
    lasted_ms: int

    def fields(self) -> Mapping[str, Value]:
        """Return what a line says, in order."""
        return {"event": self.event, "what": self.kind.value, "peer": self.peer, "lasted_ms": self.lasted_ms}


TroubleEvent: TypeAlias = TroubleBegan | TroubleEnded
