"""Answers DescribeConfigs: what is set for topics and brokers, and Kafka's defaults of topics (KIP-226)."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.requests.cluster.topic_name import missing_topic
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.records.metadata.configurations import Configurations
from replication.records.metadata.settings.broker_settings import BROKER_SETTINGS
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS, TopicSetting
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages.describe_configs import (
    BROKER,
    TOPIC,
    Configuration,
    DescribeConfigsRequest,
    DescribedConfigs,
    Resource,
    Setting,
    Synonym,
)
from replication.wire.server.call import Call

_DYNAMIC_TOPIC: Final = 1
_DYNAMIC_BROKER: Final = 2
_DYNAMIC_DEFAULT_BROKER: Final = 3
_DEFAULT: Final = 5
_ALL_BROKERS: Final = ""
_GROUP: Final = 32
_UNKNOWN: Final = TopicSetting(0, None)


class Ineffective(Protocol):
    """Which settings of a broker, or of all, make no difference to it, and why."""

    def __call__(self, settings: Mapping[str, str], *, of_all: bool) -> Mapping[str, str]:
        """Return them by name."""


def all_effective(settings: Mapping[str, str], *, of_all: bool) -> Mapping[str, str]:
    """Return that each setting makes a difference."""
    del settings, of_all
    return {}


class _Set(NamedTuple):
    """What is set by the metadata, for whom, by name."""

    source: int
    values: Mapping[str, str]


class DescribedSettings:
    """Describes the metadata's settings: those in brokers' files are unknown to it (Kafka: ConfigHelper).

    What is set for brokers and makes no difference to this one is only among the synonyms of what holds.
    """

    def __init__(
        self,
        cluster: KnownCluster,
        permissions: PermissionsOf = unlimited,
        ineffective: Ineffective = all_effective,
    ) -> None:
        """Describe this cluster, and each resource to those who may know its settings."""
        self._cluster = cluster
        self._permissions = permissions
        self._ineffective = ineffective

    def answer(self, request: DescribeConfigsRequest, call: Call) -> DescribedConfigs:
        """Answer for each resource."""
        permissions = self._permissions(call.caller)
        return DescribedConfigs(
            resources={
                each: _denial(permissions, each) or self._describe(each, names, synonyms=request.include_synonyms)
                for each, names in request.resources.items()
            }
        )

    def _describe(self, resource: Resource, names: tuple[str, ...] | None, *, synonyms: bool) -> Configuration:
        error, message = self._refusal(resource)
        if error is not ErrorCode.NONE:
            return Configuration(error, message, {})
        known = self._topic(resource.name) if resource.type == TOPIC else self._broker(resource.name)
        return Configuration(
            error,
            message,
            {
                name: setting if synonyms else setting._replace(synonyms=())
                for name, setting in known
                if names is None or name in names
            },
        )

    def _refusal(self, resource: Resource) -> tuple[ErrorCode, str]:
        kind, name = resource
        if kind == TOPIC:
            is_known = name in self._cluster.image().topics.by_name
            return (ErrorCode.NONE if is_known else missing_topic(name)), ""
        if kind != BROKER:
            return ErrorCode.INVALID_REQUEST, f"settings of type {kind} are not described here"
        node = str(self._cluster.node_id)
        return (ErrorCode.NONE, "") if name in {_ALL_BROKERS, node} else (ErrorCode.INVALID_REQUEST, _fault(name, node))

    def _topic(self, topic: str) -> Iterator[tuple[str, Setting]]:
        settings = self._cluster.image().configurations
        own = settings.of(TOPIC, topic)
        brokers = self._brokers(settings)
        for name, known in {**dict.fromkeys(own, _UNKNOWN), **TOPIC_SETTINGS}.items():
            setting = _setting(name, known, own.get(name), brokers)
            yield name, setting if name in TOPIC_SETTINGS else _hidden(setting)

    def _broker(self, name: str) -> Iterator[tuple[str, Setting]]:
        settings = self._cluster.image().configurations
        own, of_all = self._brokers(settings)
        unused_of_all = self._ineffective(of_all.values, of_all=True)
        unused = {**unused_of_all, **dict.fromkeys(own.values), **self._ineffective(own.values, of_all=False)}
        for key in {**own.values, **of_all.values} if name else of_all.values:
            known = BROKER_SETTINGS.get(key, _UNKNOWN)
            if name:
                setting = _setting(key, known._replace(synonym=key), None, (own, of_all))
                if why := unused.get(key):
                    held = of_all.values.get(key) if key not in unused_of_all else None
                    setting = _without_effect(setting, held, why)
                yield key, setting if _is_told(key) else _hidden(setting)
            else:
                found = Synonym(key, of_all.values[key], of_all.source)
                setting = Setting(found.value, source=found.source, synonyms=(found,), type=known.type)
                yield key, setting if _is_told(key) else _hidden(setting)

    def _brokers(self, settings: Configurations) -> tuple[_Set, ...]:
        return (
            _Set(_DYNAMIC_BROKER, settings.of(BROKER, str(self._cluster.node_id))),
            _Set(_DYNAMIC_DEFAULT_BROKER, settings.of(BROKER, _ALL_BROKERS)),
        )


def _denial(permissions: Permissions, resource: Resource) -> Configuration | None:
    """Return what is answered instead to whoever may not know a resource's settings; None to others."""
    kind, name = resource
    if kind == TOPIC:
        is_permitted = permissions.may(Operation.DESCRIBE_CONFIGS, ResourceType.TOPIC, name)
        error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif kind == _GROUP:
        is_permitted = permissions.may(Operation.DESCRIBE_CONFIGS, ResourceType.GROUP, name)
        error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    else:
        is_permitted = permissions.may(Operation.DESCRIBE_CONFIGS, ResourceType.CLUSTER)
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return None if is_permitted else Configuration(error, message_of(error), {})


def _fault(name: str, node: str) -> str:
    if not name.removeprefix("-").isdecimal():
        return f"Broker id must be an integer, but it is: {name}"
    return f"Unexpected broker id, expected {node} or empty string, but received {name}"


def _is_told(name: str) -> bool:
    """Whether a setting is no secret: of those that are not known here it is not said, as with Kafka."""
    return name in BROKER_SETTINGS


def _hidden(setting: Setting) -> Setting:
    """Return a setting without its value, which may be a secret."""
    synonyms = tuple(each._replace(value=None) for each in setting.synonyms)
    return setting._replace(value=None, is_sensitive=True, synonyms=synonyms)


def _without_effect(setting: Setting, held: str | None, why: str) -> Setting:
    """Return a setting that makes no difference where it is set closest, with what holds in its place, if anything."""
    documentation = f"What is set makes no difference to this broker: {why}."
    return setting._replace(value=held, is_read_only=True, documentation=documentation)


def _setting(name: str, known: TopicSetting, own: str | None, brokers: tuple[_Set, ...]) -> Setting:
    """Return what holds for a topic: its own, else what brokers have set for all topics, else the default."""
    found = [] if own is None else [Synonym(name, own, _DYNAMIC_TOPIC)]
    if known.synonym is not None:
        of_brokers = ((each.values.get(known.synonym), each.source) for each in brokers)
        found += [Synonym(known.synonym, value, source) for value, source in of_brokers if value is not None]
        if known.default is not None:
            found.append(Synonym(known.synonym, known.default, _DEFAULT))
    value, source = (found[0].value, found[0].source) if found else (known.default, _DEFAULT)
    return Setting(value, source=source, synonyms=tuple(found), type=known.type)
