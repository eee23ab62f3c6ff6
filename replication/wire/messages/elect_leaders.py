"""ElectLeaders: have the controller elect leaders now (KIP-183, KIP-460)."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Annotated, Final, NamedTuple

from logstore import TopicPartition
from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Int8, Int16, Int32, Int32s, OptionalString, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request


class ElectionType(IntEnum):
    """Which elections can be asked for, with their values in ElectLeaders (Kafka: ElectionType)."""

    PREFERRED = 0
    """Only the first replica may be elected, where it is in sync."""
    UNCLEAN = 1
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
    """An ElectionType; as a number, since a request that arrives may hold any."""
    partitions: tuple[TopicPartition, ...] | None
    """None: of all partitions that there are."""
    timeout_ms: int = 60_000
    """How long the controller may take."""


API_KEY: Final = 43
VERSIONS: Final = range(3)

_SINCE_TYPE: Final = 1
_FLEXIBLE_SINCE: Final = 2


def elect_leaders_versions(request: ElectLeadersRequest) -> range:
    """Return the versions that can carry a request: the first knows preferred elections only."""
    return VERSIONS if request.election_type == ElectionType.PREFERRED else range(_SINCE_TYPE, VERSIONS.stop)


class _Topic(NamedTuple):
    name: String
    partitions: Int32s


class _Request(NamedTuple):
    election_type: Annotated[Int8, Since(1)] = ElectionType.PREFERRED
    topics: Annotated[tuple[_Topic, ...] | None, Structs(_Topic, optional=True)] = None
    timeout_ms: Int32 = 0


class _Result(NamedTuple):
    partition: Int32
    error: Int16
    message: OptionalString


class _TopicResults(NamedTuple):
    name: String
    results: Annotated[tuple[_Result, ...], Structs(_Result)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    error: Annotated[Int16, Since(1, ignorable=True)] = 0
    topics: Annotated[tuple[_TopicResults, ...], Structs(_TopicResults)] = ()


def _encode_request(request: ElectLeadersRequest, _: int) -> _Request:
    topics = by_topic((partition, None) for partition in request.partitions or ())
    asked = tuple(_Topic(topic, tuple(index for index, _ in entries)) for topic, entries in topics.items())
    return _Request(request.election_type, None if request.partitions is None else asked, request.timeout_ms)


def _decode_request(fields: _Request, _: int) -> ElectLeadersRequest:
    asked = tuple(TopicPartition(topic, index) for topic, indexes in fields.topics or () for index in indexes)
    return ElectLeadersRequest(
        election_type=fields.election_type,
        partitions=None if fields.topics is None else asked,
        timeout_ms=fields.timeout_ms,
    )


def _encode_response(response: ElectLeadersResponse, _: int) -> _Response:
    topics = by_topic(response.results.items())
    told = tuple(
        _TopicResults(topic, tuple(_Result(index, *result) for index, result in entries))
        for topic, entries in topics.items()
    )
    return _Response(response.throttle_time_ms, response.error, told)


def _decode_response(fields: _Response, _: int) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error=code_of(fields.error),
        results={
            TopicPartition(topic, index): ElectionResult(code_of(error), message)
            for topic, results in fields.topics
            for index, error, message in results
        },
        throttle_time_ms=fields.throttle_time_ms,
    )


REQUEST: Final = Form("ElectLeadersRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("ElectLeadersResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
