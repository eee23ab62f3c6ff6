"""ElectLeaders: have the controller elect leaders now (KIP-183, KIP-460)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

from logstore import TopicPartition
from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.messages.by_topic import by_topic
from replication.protocol.messages.request import Request

PREFERRED: Final = 0
"""Only the first replica may be elected, where it is in sync."""

UNCLEAN: Final = 1
"""Any replica that is alive may be elected where nobody leads (v1)."""


class ElectionResult(NamedTuple):
    """What became of one partition's election."""

    error: ErrorCode
    message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersResponse:
    """The answer to an ElectLeadersRequest."""

    error: ErrorCode = ErrorCode.NONE
    """What is wrong with the request as a whole, such as CLUSTER_AUTHORIZATION_FAILED (v1)."""
    results: Mapping[TopicPartition, ElectionResult]
    """Of the partitions asked for; where all were asked for, of those that needed an election."""
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectLeadersRequest(Request[ElectLeadersResponse]):
    """Asks for elections of one type (Kafka: ElectLeadersRequest)."""

    election_type: int
    """PREFERRED or UNCLEAN."""
    partitions: tuple[TopicPartition, ...] | None
    """None: of all partitions that there are."""
    timeout_ms: int = 60_000
    """How long the controller may take."""


API_KEY: Final = 43
VERSIONS: Final = range(3)

_SINCE_TYPE: Final = 1


def elect_leaders_versions(request: ElectLeadersRequest) -> range:
    """Return the versions that can carry a request: the first knows preferred elections only."""
    return VERSIONS if request.election_type == PREFERRED else range(_SINCE_TYPE, VERSIONS.stop)


def encode_elect_leaders(request: ElectLeadersRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    version = classes.ElectLeadersRequest.__version__
    fields = {"election_type": request.election_type} if version >= _SINCE_TYPE else {}
    return classes.ElectLeadersRequest(
        topic_partitions=None if request.partitions is None else _topics(classes.TopicPartitions, request.partitions),
        timeout=timedelta(milliseconds=request.timeout_ms),
        **fields,
    )


def decode_elect_leaders(payload: Any) -> ElectLeadersResponse:
    """Read kio's ElectLeadersResponse."""
    return ElectLeadersResponse(
        error=code_of(payload.error_code) if payload.__version__ >= _SINCE_TYPE else ErrorCode.NONE,
        results={
            TopicPartition(topic.topic, told.partition_id): _result(told)
            for topic in payload.replica_election_results
            for told in topic.partition_result
        },
        throttle_time_ms=payload.throttle_time // timedelta(milliseconds=1),
    )


def _result(told: Any) -> ElectionResult:
    return ElectionResult(code_of(told.error_code), told.error_message)


def _topics(kind: Any, partitions: tuple[TopicPartition, ...]) -> tuple[Any, ...]:
    topics = by_topic((partition, None) for partition in partitions)
    return tuple(
        kind(topic=topic, partitions=tuple(number for number, _ in entries)) for topic, entries in topics.items()
    )
