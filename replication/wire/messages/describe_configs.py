"""DescribeConfigs: what holds for topics and brokers, whether it is set for them or not (KIP-133, KIP-226)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple, Self

from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Bool, Int8, Int16, Int32, OptionalString, OptionalStrings, String
from replication.wire.error_code import ErrorCode, code_of
from replication.wire.messages.form import Form
from replication.wire.messages.request import Request

TOPIC: Final = 2
BROKER: Final = 4
"""Types of resources (Kafka: ConfigResource.Type)."""


class Resource(NamedTuple):
    """What has settings."""

    type: int
    name: str


class Synonym(NamedTuple):
    """A setting that holds where those before it are not set."""

    name: String
    value: OptionalString
    source: Int8


class Setting(NamedTuple):
    """A value, and where it is from."""

    value: str | None
    is_read_only: bool = False
    source: int = -1
    """Kafka: DescribeConfigsResponse.ConfigSource."""
    is_sensitive: bool = False
    synonyms: tuple[Synonym, ...] = ()
    """All that is set, in the order in which it counts; only where that was asked for."""
    type: int = 0
    """Of the value (Kafka: DescribeConfigsResponse.ConfigType; v3)."""
    documentation: str | None = None


class Configuration(NamedTuple):
    """One resource's settings, or why they are not described."""

    error: ErrorCode
    error_message: str | None
    settings: Mapping[str, Setting]

    @property
    def values(self) -> dict[str, str | None]:
        """The values by the settings' names."""
        return {name: setting.value for name, setting in self.settings.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedConfigs:
    """The answer to a DescribeConfigsRequest (Kafka: DescribeConfigsResponse)."""

    resources: Mapping[Resource, Configuration]
    throttle_time_ms: int = 0

    @property
    def topics(self) -> dict[str, Configuration]:
        """The topics' by name."""
        return {each.name: told for each, told in self.resources.items() if each.type == TOPIC}


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsRequest(Request[DescribedConfigs]):
    """Asks for settings (Kafka: DescribeConfigsRequest)."""

    resources: Mapping[Resource, tuple[str, ...] | None]
    """The names of the settings of each; None: all."""
    include_synonyms: bool = False
    include_documentation: bool = False
    """v3."""

    @classmethod
    def of_topics(cls, topics: Iterable[str], names: tuple[str, ...] | None) -> Self:
        """Ask for the same settings of some topics."""
        return cls(resources=dict.fromkeys((Resource(TOPIC, topic) for topic in topics), names))

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that are asked about."""
        return tuple(each.name for each in self.resources if each.type == TOPIC)


API_KEY: Final = 32
VERSIONS: Final = range(1, 5)

_FLEXIBLE_SINCE: Final = 4


class _Resource(NamedTuple):
    type: Int8
    name: String
    keys: OptionalStrings = None


class _Request(NamedTuple):
    resources: Annotated[tuple[_Resource, ...], Structs(_Resource)]
    include_synonyms: Bool = False
    include_documentation: Annotated[Bool, Since(3, ignorable=True)] = False


class _Config(NamedTuple):
    name: String
    value: OptionalString
    is_read_only: Bool
    source: Int8
    is_sensitive: Bool
    synonyms: Annotated[tuple[Synonym, ...], Structs(Synonym)] = ()
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
    resources = tuple(_Resource(*each, names) for each, names in request.resources.items())
    return _Request(resources, request.include_synonyms, request.include_documentation)


def _decode_request(fields: _Request, _: int) -> DescribeConfigsRequest:
    return DescribeConfigsRequest(
        resources={Resource(each.type, each.name): each.keys for each in fields.resources},
        include_synonyms=fields.include_synonyms,
        include_documentation=fields.include_documentation,
    )


def _encode_response(response: DescribedConfigs, _: int) -> _Response:
    results = tuple(_encode_resource(each, told) for each, told in response.resources.items())
    return _Response(response.throttle_time_ms, results)


def _encode_resource(resource: Resource, told: Configuration) -> _Result:
    configs = tuple(_Config(name, *setting) for name, setting in told.settings.items())
    return _Result(told.error, told.error_message, *resource, configs)


def _decode_response(fields: _Response, _: int) -> DescribedConfigs:
    return DescribedConfigs(
        resources={Resource(told.type, told.name): _configuration(told) for told in fields.results},
        throttle_time_ms=fields.throttle_time_ms,
    )


def _configuration(told: _Result) -> Configuration:
    settings = {each.name: Setting(*each[1:]) for each in told.configs}
    return Configuration(code_of(told.error), told.error_message, settings)


REQUEST: Final = Form("DescribeConfigsRequest", _Request, _FLEXIBLE_SINCE, _encode_request, _decode_request)
RESPONSE: Final = Form("DescribeConfigsResponse", _Response, _FLEXIBLE_SINCE, _encode_response, _decode_response)
