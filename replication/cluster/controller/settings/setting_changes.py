"""Settings that are changed (Kafka: IncrementalAlterConfigs, AlterConfigs; ConfigurationControlManager)."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.settings.setting_checks import check_resource
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResource, ConfigResourceType
from replication.records.metadata.records import ClearElrRecord, ConfigRecord, MetadataRecord
from replication.records.metadata.settings.broker_settings import BROKER_SETTINGS
from replication.records.metadata.settings.setting_values import SettingType
from replication.records.metadata.settings.topic_settings import TOPIC_SETTINGS
from replication.wire.error_code import ErrorCode


def with_parts(resource: ConfigResource, name: str, known: Mapping[str, str], added: str) -> str:
    """Return a list with parts that it did not have. Raises Refusal with INVALID_CONFIG where it is no list."""
    parts = _parts(resource, name, known, "APPEND")
    return ",".join(dict.fromkeys([*parts, *added.split(",")]))


def without_parts(resource: ConfigResource, name: str, known: Mapping[str, str], removed: str) -> str:
    """Return a list without some parts. Raises Refusal with INVALID_CONFIG where it is no list."""
    parts = _parts(resource, name, known, "SUBTRACT")
    return ",".join(part for part in parts if part not in removed.split(","))


def _parts(resource: ConfigResource, name: str, known: Mapping[str, str], operation: str) -> list[str]:
    """Return the parts of what is set, or of what holds by default."""
    is_topic = resource.type == ConfigResourceType.TOPIC
    setting = (TOPIC_SETTINGS if is_topic else BROKER_SETTINGS).get(name)
    if setting is None or setting.type != SettingType.LIST:
        raise Refusal(ErrorCode.INVALID_CONFIG, _no_list(name, operation, is_topic=is_topic, is_known=bool(setting)))
    text = known.get(name, setting.default) or ""
    return [part for part in text.split(",") if part]


def _no_list(name: str, operation: str, *, is_topic: bool, is_known: bool) -> str:
    """Return what Kafka says: its controller of topics, and its brokers of themselves."""
    if is_topic:
        return f"Can't {operation} to key {name} because its type is not LIST."
    if not is_known:
        return f"Unknown config name: {name}"
    return f"Config value {operation.lower()} is not allowed for config key: {name}"


class Operation(IntEnum):
    """What becomes of a setting, with the numbers of IncrementalAlterConfigs (Kafka: AlterConfigOp.OpType)."""

    SET = 0
    DELETE = 1
    """Restore the default."""
    APPEND = 2
    """Add to a list what is not in it."""
    SUBTRACT = 3


class SettingChange(NamedTuple):
    """One setting that changes."""

    name: str
    operation: int
    """An Operation; as a number, since a request that arrives may hold any."""
    value: str | None = None
    """None only where it is deleted."""


class SettingsAnswer(NamedTuple):
    """What became of the changes of one resource: all are made, or none."""

    resource: ConfigResource
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


ResourceChanges: TypeAlias = tuple[ConfigResource, Sequence[SettingChange]]


def change_settings(
    cluster: ClusterState, changes: Iterable[ResourceChanges], *, validate_only: bool = False
) -> Decision[list[SettingsAnswer]]:
    """Change some settings of resources, each resource for itself; of one that is named twice none."""
    asked = list(changes)
    times = Counter(resource for resource, _ in asked)
    records: list[MetadataRecord] = []
    answers = []
    for resource, each in asked:
        try:
            _check_once(times[resource], each)
            records += _changed(cluster, resource, each)
            answers.append(SettingsAnswer(resource))
        except Refusal as refusal:
            answers.append(SettingsAnswer(resource, refusal.code, refusal.message))
    return Decision([] if validate_only else records, answers)


def replace_settings(
    cluster: ClusterState, changes: Iterable[ResourceChanges], *, validate_only: bool = False
) -> Decision[list[SettingsAnswer]]:
    """Change settings of resources, and delete all others that they have."""
    whole = [(resource, [*each, *_others(cluster, resource, each)]) for resource, each in changes]
    return change_settings(cluster, whole, validate_only=validate_only)


def clear_elr(cluster: ClusterState, resource: ConfigResource, names: Iterable[str]) -> list[MetadataRecord]:
    """Return what makes nobody eligible any more where so many replicas must be in sync as never before (KIP-966)."""
    if not cluster.rules.elr or MIN_IN_SYNC_REPLICAS not in names:
        return []
    return [ClearElrRecord(topic_name=resource.name if resource.type == ConfigResourceType.TOPIC else "")]


def _others(
    cluster: ClusterState, resource: ConfigResource, changes: Sequence[SettingChange]
) -> Iterable[SettingChange]:
    named = {change.name for change in changes}
    known = cluster.image.configurations.of(*resource)
    return (SettingChange(name, Operation.DELETE) for name in known if name not in named)


def _check_once(times: int, changes: Sequence[SettingChange]) -> None:
    if times > 1:
        raise _invalid("Each resource must appear at most once.")
    if len({change.name for change in changes}) < len(changes):
        raise _invalid("Error due to duplicate config keys")
    nulls = [change.name for change in changes if change.value is None and change.operation != Operation.DELETE]
    if nulls:
        raise _invalid(f"Null value not supported for : {', '.join(nulls)}")


def _changed(cluster: ClusterState, resource: ConfigResource, changes: Sequence[SettingChange]) -> list[MetadataRecord]:
    known = cluster.image.configurations.of(*resource)
    altered = {change.name: _value(resource, change, known) for change in changes}
    settings = {name: value for name, value in {**known, **altered}.items() if value is not None}
    check_resource(cluster, resource, settings, altered)
    new = {name: value for name, value in altered.items() if value != known.get(name)}
    records: list[MetadataRecord] = [
        ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
        for name, value in new.items()
    ]
    return records + clear_elr(cluster, resource, new)


def _value(resource: ConfigResource, change: SettingChange, known: Mapping[str, str]) -> str | None:
    """Return what a setting will be; None where it will not be set."""
    match change.operation:
        case Operation.SET:
            return change.value
        case Operation.DELETE:
            return None
        case Operation.APPEND:
            return with_parts(resource, change.name, known, change.value or "")
        case Operation.SUBTRACT:
            return without_parts(resource, change.name, known, change.value or "")
    raise _invalid(f"Unknown operation {change.operation} on {change.name}")


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)
