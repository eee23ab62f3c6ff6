"""Errors of a broker's registration and lifecycle."""

from collections.abc import Mapping
from typing import Final

from replication.base.errors import ReplicationError
from replication.cluster.quorum.errors import ADVICE, with_advice
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError

_ADVICE: Final[Mapping[ErrorCode, str]] = {
    **ADVICE,
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: (
        "another process has registered with this id, and its session has not timed out; stop it or choose another id; "
        "if it crashed or has just stopped, the next attempt after the controller's broker.session.timeout.ms succeeds"
    ),
    ErrorCode.INVALID_REGISTRATION: "see the controller's log for the reason; often it is the id of a log.dirs root",
    ErrorCode.UNSUPPORTED_VERSION: "the cluster has finalized a feature at a level that this broker does not offer",
    ErrorCode.STALE_BROKER_EPOCH: "the broker was unregistered, or another has taken its place; restart it",
}


class NoControllerError(ReplicationError, ConnectionError):
    """The active controller did not answer in time."""

    def __init__(self, reason: str) -> None:
        """`reason` is the error of the last attempt."""
        super().__init__(f"no active controller answers: {reason}")


class RefusedByControllerError(KafkaError):
    """The controller answered a registration or a heartbeat with an error; the broker retries."""

    def __init__(self, broker_id: int, asked: str, code: ErrorCode, controller: object) -> None:
        """Name the request, and where the controller listens."""
        self.broker_id = broker_id
        super().__init__(code, f"{controller}: broker {broker_id} asks for {asked}")
        self.args = (with_advice(self, _ADVICE),)


class UnsupportedFeaturesError(ReplicationError, ValueError):
    """The cluster has finalized features at levels that a broker does not know: it would not be registered."""

    def __init__(self, controller: object, levels: Mapping[str, int], supported: Mapping[str, range]) -> None:
        """Create it with the unsupported levels, those `supported`, and the controller's address."""
        told = ", ".join(f"{name} at level {level} ({_known(supported.get(name))})" for name, level in levels.items())
        is_early = any(name in supported and level < supported[name].start for name, level in levels.items())
        advice = "raise" if is_early else "join it with a later epochlog, or lower"
        super().__init__(f"{controller}: the cluster has finalized {told}; {advice} the level with kafka-features.sh")


def _known(levels: range | None) -> str:
    return "not known here" if levels is None else f"known here are {levels.start} to {levels.stop - 1}"


class NotInTimeError(ReplicationError, TimeoutError):
    """A broker has not reached the expected state in time."""

    def __init__(self, broker_id: int, seconds: float, standing: str) -> None:
        """Create it with the state that it is in instead."""
        super().__init__(f"broker {broker_id} is {standing} after {seconds:g} s")


class BrokerStoppedError(ReplicationError, RuntimeError):
    """The broker has stopped, so it will not reach the expected state."""

    def __init__(self, broker_id: int, reason: str) -> None:
        """Create it with the reason."""
        super().__init__(f"broker {broker_id} has stopped: {reason or 'stop was called'}")
