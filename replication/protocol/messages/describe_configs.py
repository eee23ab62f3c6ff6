"""DescribeConfigs: what holds for topics, whether it is set for them or not (KIP-133, KIP-226)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from replication.protocol.error_code import ErrorCode, code_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeConfigsRequest(Request[DescribedConfigs]):
    """Asks for some settings of topics (Kafka: DescribeConfigsRequest)."""

    topics: tuple[str, ...]
    names: tuple[str, ...]
    """Of the settings."""


API_KEY: Final = 32
VERSIONS: Final = range(1, 5)

_TOPIC: Final = 2
"""The type of the resource (Kafka: ConfigResource.Type.TOPIC)."""


def encode_describe_configs(request: DescribeConfigsRequest, classes: Any) -> Any:
    """Return the request as one of kio's `classes`, all of one version."""
    resources = tuple(
        classes.DescribeConfigsResource(resource_type=_TOPIC, resource_name=topic, configuration_keys=request.names)
        for topic in request.topics
    )
    return classes.DescribeConfigsRequest(resources=resources)


def decode_describe_configs(payload: Any) -> DescribedConfigs:
    """Read kio's DescribeConfigsResponse."""
    return DescribedConfigs(
        topics={told.resource_name: _configuration(told) for told in payload.results if told.resource_type == _TOPIC}
    )


def _configuration(told: Any) -> TopicConfiguration:
    values = {config.name: config.value for config in told.configs}
    return TopicConfiguration(code_of(told.error_code), told.error_message, values)
