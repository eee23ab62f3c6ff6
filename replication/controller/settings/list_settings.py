"""Settings that are lists, of which parts come and go (Kafka: AlterConfigOp.OpType.APPEND, SUBTRACT)."""

from collections.abc import Mapping

from replication.controller.refusal import Refusal
from replication.metadata.configurations import ConfigResource, ConfigResourceType
from replication.metadata.settings.broker_settings import BROKER_SETTINGS
from replication.metadata.settings.setting_values import SettingType
from replication.metadata.settings.topic_settings import TOPIC_SETTINGS
from replication.protocol.error_code import ErrorCode


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
