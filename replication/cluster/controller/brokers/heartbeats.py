"""What a heartbeat makes of a broker: fenced, serving, shutting down (Kafka: BrokerHeartbeatManager)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

NO_OFFSET: Final = -1


class ControlState(Enum):
    """What a broker is to the controller (Kafka: BrokerControlState)."""

    FENCED = "fenced"
    """It serves nobody, and leads nothing."""
    UNFENCED = "unfenced"
    CONTROLLED_SHUTDOWN = "controlled shutdown"
    """It leads nothing any more, and waits until the others know."""
    SHUTDOWN_NOW = "shutdown now"
    """It may end: only ever the next state."""

    @property
    def fenced(self) -> bool:
        """Whether the answer says that it is fenced."""
        return self in {ControlState.FENCED, ControlState.SHUTDOWN_NOW}

    @property
    def should_shut_down(self) -> bool:
        """Whether the answer asks it to stop."""
        return self is ControlState.SHUTDOWN_NOW

    @property
    def in_controlled_shutdown(self) -> bool:
        """Whether it waits for the end of its controlled shutdown."""
        return self is ControlState.CONTROLLED_SHUTDOWN


@dataclass(frozen=True, slots=True)
class HeartbeatIntent:
    """What a heartbeat asks for."""

    want_fence: bool
    want_shut_down: bool
    current_metadata_offset: int

    def is_caught_up(self, registration_offset: int) -> bool:
        """Whether the broker has replayed its own registration."""
        return self.current_metadata_offset >= registration_offset


class NotRegisteredError(LookupError):
    """A heartbeat of a broker that is not registered."""

    def __init__(self, broker_id: int) -> None:
        super().__init__(f"Broker {broker_id} is not registered.")


class FencedShutdownError(RuntimeError):
    """A fenced broker leads nothing: there is no shutdown to control."""

    def __init__(self) -> None:
        super().__init__("Fenced brokers cannot enter controlled shutdown.")


@dataclass(slots=True)
class _Broker:
    fenced: bool
    metadata_offset: int = NO_OFFSET
    shutdown_offset: int = NO_OFFSET
    """Once all active brokers have replayed the metadata up to here, they know that it leads nothing."""

    @property
    def is_active(self) -> bool:
        return not self.fenced and self.shutdown_offset == NO_OFFSET


class Heartbeats:
    """What heartbeats reported: soft state, which no record holds, and which starts empty in each new controller."""

    def __init__(self) -> None:
        self._brokers: dict[int, _Broker] = {}

    def __iter__(self) -> Iterator[int]:
        return iter(self._brokers)

    def register(self, broker_id: int, *, fenced: bool) -> None:
        """Add a broker whose registration was replayed or has changed."""
        known = self._brokers.setdefault(broker_id, _Broker(fenced))
        self.touch(broker_id, fenced=fenced, metadata_offset=known.metadata_offset if known.fenced != fenced else -1)

    def remove(self, broker_id: int) -> None:
        """Forget a broker."""
        self._brokers.pop(broker_id, None)

    def touch(self, broker_id: int, *, fenced: bool, metadata_offset: int) -> None:
        """Note how far it has replayed the metadata. One that is fenced is in controlled shutdown no longer."""
        broker = self._registered(broker_id)
        broker.fenced = fenced
        broker.metadata_offset = metadata_offset
        if fenced:
            broker.shutdown_offset = NO_OFFSET

    def enter_controlled_shutdown(self, broker_id: int, offset: int) -> None:
        """Allow it to stop once all others have replayed `offset`; the first offset counts.

        Raises FencedShutdownError where it is fenced.
        """
        broker = self._registered(broker_id)
        if broker.fenced:
            raise FencedShutdownError
        if broker.shutdown_offset == NO_OFFSET:
            broker.shutdown_offset = offset

    def state(self, broker_id: int) -> ControlState:
        """Return the state that a broker is in."""
        broker = self._registered(broker_id)
        if broker.shutdown_offset != NO_OFFSET:
            return ControlState.CONTROLLED_SHUTDOWN
        return ControlState.FENCED if broker.fenced else ControlState.UNFENCED

    def next_state(
        self, broker_id: int, intent: HeartbeatIntent, registration_offset: int, leads: Callable[[], bool]
    ) -> ControlState:
        """Return the state that a heartbeat brings a broker into.

        It is unfenced once it has replayed its own registration, at `registration_offset`. `leads` says whether it
        leads a partition, and is asked only where that matters.
        """
        match self.state(broker_id):
            case ControlState.FENCED:
                return _next_of_fenced(intent, registration_offset)
            case ControlState.UNFENCED:
                return _next_of_unfenced(intent, leads)
            case _:
                may_go = not leads() and self._all_know(self._brokers[broker_id].shutdown_offset)
                return ControlState.SHUTDOWN_NOW if may_go else ControlState.CONTROLLED_SHUTDOWN

    def _all_know(self, offset: int) -> bool:
        return all(broker.metadata_offset >= offset for broker in self._brokers.values() if broker.is_active)

    def _registered(self, broker_id: int) -> _Broker:
        try:
            return self._brokers[broker_id]
        except KeyError:
            raise NotRegisteredError(broker_id) from None


def _next_of_fenced(intent: HeartbeatIntent, registration_offset: int) -> ControlState:
    if intent.want_shut_down:
        return ControlState.SHUTDOWN_NOW
    may_serve = intent.is_caught_up(registration_offset) and not intent.want_fence
    return ControlState.UNFENCED if may_serve else ControlState.FENCED


def _next_of_unfenced(intent: HeartbeatIntent, leads: Callable[[], bool]) -> ControlState:
    if intent.want_fence:
        return ControlState.SHUTDOWN_NOW if intent.want_shut_down else ControlState.FENCED
    if not intent.want_shut_down:
        return ControlState.UNFENCED
    return ControlState.CONTROLLED_SHUTDOWN if leads() else ControlState.SHUTDOWN_NOW
