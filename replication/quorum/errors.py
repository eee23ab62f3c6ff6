"""What keeps the quorum's metadata from being followed."""

from collections.abc import Mapping
from typing import Final

from replication.errors import ReplicationError
from replication.protocol.error_code import ErrorCode
from replication.protocol.errors import KafkaError

ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: "compare cluster.id in meta.properties with the controller's",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "allow this user ClusterAction on the cluster",
    ErrorCode.UNKNOWN_TOPIC_ID: "it keeps no metadata log; is it a broker's listener? name those of controllers",
}
"""What to do where a controller refuses, whatever it was asked for."""


class MetadataRefusedError(KafkaError):
    """The controller that was asked does not tell the metadata; it is tried again."""

    def __init__(self, code: ErrorCode, controller: object) -> None:
        """Name where the controller listens."""
        super().__init__(code, f"{controller}: the metadata is not told")
        self.args = (with_advice(self, ADVICE),)


class MetadataDivergedError(ReplicationError, ValueError):
    """The quorum's leader does not have metadata that was committed: it has lost its log, or is another cluster's."""

    def __init__(self, end_offset: int, epoch: int, leader: object) -> None:
        """Name up to where the metadata was committed, and what the leader has instead."""
        super().__init__(
            f"metadata was committed up to offset {end_offset:,} of epoch {epoch}, and the leader's log has only "
            f"{leader}; do controllers run on empty directories? start the broker again to follow them anyway"
        )


def with_advice(error: KafkaError, advice: Mapping[ErrorCode, str]) -> str:
    """Return the error's message, and what to do where that is known."""
    found = advice.get(error.code)
    return f"{error}; {found}" if found else str(error)
