"""ListPartitionReassignments: which partitions move, from where to where (KIP-455)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from logstore import TopicPartition
from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.request import Request


class PartitionReassignment(NamedTuple):
    """A reassignment that goes on (Kafka: PartitionReassignment). Replicas are broker ids."""

    replicas: tuple[int, ...]
    """All that there are now: old and new ones."""
    adding: tuple[int, ...]
    removing: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedReassignments:
    """The answer to a ListPartitionReassignmentsRequest (Kafka: ListPartitionReassignmentsResponse)."""

    error: ErrorCode = ErrorCode.NONE
    error_message: str | None = None
    partitions: Mapping[TopicPartition, PartitionReassignment]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPartitionReassignmentsRequest(Request[ListedReassignments]):
    """Asks for all reassignments that go on (Kafka: ListPartitionReassignmentsRequest)."""

    timeout_ms: int = 30_000
    """How long the controller may take."""


API_KEY: Final = 46
VERSIONS: Final = range(1)


def encode_list_partition_reassignments(request: ListPartitionReassignmentsRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    return classes.ListPartitionReassignmentsRequest(timeout=timedelta(milliseconds=request.timeout_ms), topics=None)


def decode_list_partition_reassignments(payload: Any) -> ListedReassignments:
    """Read kio's ListPartitionReassignmentsResponse."""
    return ListedReassignments(
        error=code_of(payload.error_code),
        error_message=payload.error_message,
        partitions={
            TopicPartition(topic.name, told.partition_index): PartitionReassignment(
                tuple(told.replicas), tuple(told.adding_replicas), tuple(told.removing_replicas)
            )
            for topic in payload.topics
            for told in topic.partitions
        },
    )
