"""Errors of following the quorum's metadata."""

from collections.abc import Mapping
from typing import Final

from epoch import EndOffset
from replication.base.errors import ReplicationError
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError

ADVICE: Final[Mapping[ErrorCode, str]] = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: "compare cluster.id in meta.properties with the controller's",
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: "allow this user ClusterAction on the cluster",
    ErrorCode.UNKNOWN_LEADER_EPOCH: "it is behind, so another controller is asked; if all stay behind, they "
    "have lost metadata that was committed",
    ErrorCode.UNKNOWN_TOPIC_ID: "it keeps no metadata log; if it is a broker's listener, use controllers' addresses",
}
"""What to do if a controller refuses a request."""


class MetadataRefusedError(KafkaError):
    """The controller refuses to send the metadata; the request is retried."""

    def __init__(self, code: ErrorCode, controller: object, cluster_id: str = "") -> None:
        """Name where the controller listens, and the cluster that was asked for."""
        whose = f" of cluster {cluster_id}" if cluster_id else ""
        super().__init__(code, f"{controller}: the metadata{whose} is refused")
        self.args = (with_advice(self, ADVICE),)


class MetadataDivergedError(ReplicationError, ValueError):
    """The quorum's leader lacks committed metadata: it has lost its log, or belongs to another cluster."""

    def __init__(self, end_offset: int, epoch: int, leader: EndOffset) -> None:
        """Create it with where the committed metadata ends, and what the leader has instead."""
        super().__init__(
            f"metadata was committed up to offset {end_offset:,} of epoch {epoch}, but the leader's log ends at offset "
            f"{leader.end_offset:,} of epoch {leader.epoch}; do controllers run on empty directories? To follow them "
            "anyway, stop the broker, move its copy of the metadata away if it keeps one, and start it again"
        )


def with_advice(error: KafkaError, advice: Mapping[ErrorCode, str]) -> str:
    """Return the error's message, and what to do if that is known."""
    found = advice.get(error.code)
    return f"{error}; {found}" if found else str(error)
