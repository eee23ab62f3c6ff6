"""What keeps a broker from having a place among a cluster's brokers."""

from collections.abc import Mapping
from typing import Final

from replication.errors import ReplicationError
from replication.protocol.error_code import ErrorCode
from replication.protocol.errors import KafkaError
from replication.quorum.errors import ADVICE, with_advice

_ADVICE: Final[Mapping[ErrorCode, str]] = {
    **ADVICE,
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: (
        "another process has registered with this id, and its session has not run out; stop it or choose another id; "
        "where it crashed, the next try after broker.session.timeout.ms of the controller succeeds"
    ),
    ErrorCode.INVALID_REGISTRATION: "see in the controller's log what it does not accept; often a log.dirs root's id",
    ErrorCode.UNSUPPORTED_VERSION: "the cluster has finalized a feature at a level that this broker does not offer",
    ErrorCode.STALE_BROKER_EPOCH: "the broker was unregistered, or another has taken its place; start it again",
}


class NoControllerError(ReplicationError, ConnectionError):
    """No controller that leads the quorum answered in time."""

    def __init__(self, reason: str) -> None:
        """Say what the last try met."""
        super().__init__(f"no active controller answers: {reason}")


class RefusedByControllerError(KafkaError):
    """The controller answered a registration or a heartbeat with an error; the broker tries again."""

    def __init__(self, broker_id: int, asked: str, code: ErrorCode, controller: object) -> None:
        """Name the request, and where the controller listens."""
        self.broker_id = broker_id
        super().__init__(code, f"{controller}: broker {broker_id} asks for {asked}")
        self.args = (with_advice(self, _ADVICE),)


class NotInTimeError(ReplicationError, TimeoutError):
    """A broker has not reached the state that somebody waits for."""

    def __init__(self, broker_id: int, seconds: float, standing: str) -> None:
        """Say where it stands instead."""
        super().__init__(f"broker {broker_id} is {standing} after {seconds:g} s")


class BrokerStoppedError(ReplicationError, RuntimeError):
    """The broker has stopped, so that it will not reach the state that somebody waits for."""

    def __init__(self, broker_id: int, reason: str) -> None:
        """Say why."""
        super().__init__(f"broker {broker_id} has stopped: {reason or 'it was told to'}")
