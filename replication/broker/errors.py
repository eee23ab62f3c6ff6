"""What keeps a broker from having a place in a cluster."""

from collections.abc import Mapping
from typing import Final

from replication.errors import ReplicationError
from replication.protocol.error_code import ErrorCode
from replication.protocol.errors import KafkaError

_ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.DUPLICATE_BROKER_REGISTRATION: (
        "another process has registered with this id, and its session has not run out; stop it or choose another id; "
        "where it crashed, the next try after broker.session.timeout.ms of the controller succeeds"
    ),
    ErrorCode.INCONSISTENT_CLUSTER_ID: "compare cluster.id in meta.properties with the controller's",
    ErrorCode.INVALID_REGISTRATION: "see in the controller's log what it does not accept; often a log.dirs root's id",
    ErrorCode.UNSUPPORTED_VERSION: "the cluster has finalized a feature at a level that this broker does not offer",
    ErrorCode.STALE_BROKER_EPOCH: "the broker was unregistered, or another has taken its place; start it again",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "allow this user ClusterAction on the cluster",
    ErrorCode.UNKNOWN_TOPIC_ID: "it keeps no metadata log; is it a broker's listener? name those of controllers",
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
        self.args = (_advised(self),)


class MetadataRefusedError(KafkaError):
    """The controller that was asked does not tell the metadata; it is tried again."""

    def __init__(self, code: ErrorCode, controller: object) -> None:
        """Name where the controller listens."""
        super().__init__(code, f"{controller}: the metadata is not told")
        self.args = (_advised(self),)


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


class MetadataDivergedError(ReplicationError, ValueError):
    """The quorum's leader does not have metadata that was committed: it has lost its log, or is another cluster's."""

    def __init__(self, end_offset: int, epoch: int, leader: object) -> None:
        """Name up to where the metadata was committed, and what the leader has instead."""
        super().__init__(
            f"metadata was committed up to offset {end_offset:,} of epoch {epoch}, and the leader's log has only "
            f"{leader}; do controllers run on empty directories? start the broker again to follow them anyway"
        )


class InconsistentDirectoriesError(ReplicationError, ValueError):
    """The log.dirs of a broker do not say the same of it, or not enough."""


def _advised(error: KafkaError) -> str:
    advice = _ADVICE.get(error.code)
    return f"{error}; {advice}" if advice else str(error)
