"""DescribeConfigs: what holds for topics, whether it is set for them or not (KIP-133, KIP-226)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from replication.codec.codec import Since, Structs
from replication.codec.fields import Bool, Int8, Int16, Int32, OptionalString, OptionalStrings, String
from replication.protocol.error_code import ErrorCode, code_of
from replication.protocol.errors import UnsupportedRequestError
from replication.protocol.messages.form import Form
from replication.protocol.messages.request import Request


class TopicConfiguration(NamedTuple):
    """One topic's settings, or why they are not told."""

    error: ErrorCode
    error_message: str | None
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfigs:
    """The answer to a DescribeConfigsRequest (Kafka: DescribeConfigsResponse)."""

    topics: Mapping[str, TopicConfiguration]
    throttle_time_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsRequest(Request[DescribedConfigs]):
    """Asks for some settings of topics (Kafka: DescribeConfigsRequest)."""

    topics: tuple[str, ...]
    names: tuple[str, ...] | None
    """Of the settings; None: all."""


API_KEY: Final = 32
VERSIONS: Final = range(1, 5)

TOPIC: Final = 2
"""The type of the resource (Kafka: ConfigResource.Type.TOPIC)."""

_FLEXIBLE_SINCE: Final = 4
_UNKNOWN_SOURCE: Final = -1


class _Resource(NamedTuple):
    type: Int8
    name: String
    keys: OptionalStrings = None


class _Request(NamedTuple):
    resources: Annotated[tuple[_Resource, ...], Structs(_Resource)]
    include_synonyms: Bool = False
    include_documentation: Annotated[Bool, Since(3, ignorable=True)] = False


class _Synonym(NamedTuple):
    name: String
    value: OptionalString
    source: Int8


class _Config(NamedTuple):
    name: String
    value: OptionalString
    read_only: Bool = False
    source: Int8 = _UNKNOWN_SOURCE
    is_sensitive: Bool = False
    synonyms: Annotated[tuple[_Synonym, ...], Structs(_Synonym)] = ()
    type: Annotated[Int8, Since(3, ignorable=True)] = 0
    documentation: Annotated[OptionalString, Since(3, ignorable=True)] = None


class _Result(NamedTuple):
    error: Int16
    error_message: OptionalString
    type: Int8
    name: String
    configs: Annotated[tuple[_Config, ...], Structs(_Config)]


class _Response(NamedTuple):
    throttle_time_ms: Int32
    results: Annotated[tuple[_Result, ...], Structs(_Result)]


def _encode_request(request: DescribeConfigsRequest, _: int) -> _Request:
    return _Request(tuple(_Resource(TOPIC, topic, request.names) for topic in request.topics))


def _decode_request(fields: _Request, _: int) -> DescribeConfigsRequest:
    """Return the request; UnsupportedRequestError where its topics are asked about different settings."""
    asked = [resource for resource in fields.resources if resource.type == TOPIC]
    names = {resource.keys for resource in asked}
    if len(names) > 1 or len(asked) < len(fields.resources):
        raise UnsupportedRequestError("a DescribeConfigsRequest asks about more than the same settings of some topics")
    return DescribeConfigsRequest(topics=tuple(resource.name for resource in asked), names=names.pop() if names else ())


def _encode_response(response: DescribedConfigs, _: int) -> _Response:
    results = tuple(_encode_topic(name, told) for name, told in response.topics.items())
    return _Response(response.throttle_time_ms, results)


def _encode_topic(name: str, told: TopicConfiguration) -> _Result:
    configs = tuple(_Config(key, value) for key, value in told.values.items())
    return _Result(told.error, told.error_message, TOPIC, name, configs)


def _decode_response(fields: _Response, _: int) -> DescribedConfigs:
    return DescribedConfigs(
        topics={told.name: _configuration(told) for told in fields.results if told.type == TOPIC},
        throttle_time_ms=fields.throttle_time_ms,
    )


def _configuration(told: _Result) -> TopicConfiguration:
    values = {config.name: config.value for config in told.configs}
    return TopicConfiguration(code_of(told.error), told.error_message, values)


REQUEST: Final = Form("DescribeConfigsRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("DescribeConfigsResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
