"""What topics and brokers may be set to (Kafka: ControllerConfigurationValidator, ConfigAdminManager)."""

from collections.abc import Mapping
from typing import Final

from replication.base.int32 import parse_int32
from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topic_names import check_name
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResource, ConfigResourceType
from replication.records.metadata.settings.broker_settings import BROKER_SETTINGS
from replication.records.metadata.settings.setting_values import value_fault
from replication.records.metadata.settings.topic_settings import settings_fault
from replication.wire.error_code import ErrorCode

LONGEST_VALUE: Final = 2**15 - 1
"""Characters."""


def check_resource(
    cluster: ClusterState, resource: ConfigResource, settings: Mapping[str, str], altered: Mapping[str, str | None]
) -> None:
    """Refuse settings that a resource cannot have, and those of one that is none.

    `settings` are all that it would have; of `altered` those are None that it has no longer.
    """
    if resource.type == ConfigResourceType.TOPIC:
        if not resource.name:
            raise Refusal(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
        check_name(resource.name)
        check_topic_settings(settings)
        if cluster.topic_named(resource.name) is None:
            message = f"The topic '{resource.name}' does not exist."
            raise Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    elif resource.type == ConfigResourceType.BROKER:
        _check_lengths(settings)
        _check_broker_settings(altered, settings)
        if cluster.rules.elr and MIN_IN_SYNC_REPLICAS in altered:
            _check_min_isr(resource, altered[MIN_IN_SYNC_REPLICAS])
        _check_broker(cluster, resource.name)
    else:
        raise Refusal(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.type}")


def check_topic_settings(settings: Mapping[str, str | None]) -> None:
    """Refuse with INVALID_CONFIG what a topic cannot be set to."""
    nulls = [name for name, value in settings.items() if value is None]
    if nulls:
        raise Refusal(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(nulls)}")
    values = {name: value for name, value in settings.items() if value is not None}
    _check_lengths(values)
    fault = settings_fault(values)
    if fault is not None:
        raise Refusal(ErrorCode.INVALID_CONFIG, fault)


def _check_lengths(settings: Mapping[str, str]) -> None:
    if any(len(value) > LONGEST_VALUE for value in settings.values()):
        raise Refusal(
            ErrorCode.INVALID_CONFIG,
            "The configuration value cannot be added because it exceeds the maximum value size of "
            f"{LONGEST_VALUE} bytes.",
        )


def _check_broker_settings(altered: Mapping[str, str | None], settings: Mapping[str, str]) -> None:
    fixed = [name for name, value in altered.items() if value is not None and name not in BROKER_SETTINGS]
    if fixed:
        message = f"Cannot update these configs dynamically: [{', '.join(fixed)}]"
        raise Refusal(ErrorCode.INVALID_REQUEST, message)
    for name, value in settings.items():
        known = BROKER_SETTINGS.get(name)
        fault = None if known is None else value_fault(name, known.type, known.allowed, value)
        if fault is not None:
            raise Refusal(ErrorCode.INVALID_REQUEST, fault)


def _check_min_isr(resource: ConfigResource, value: str | None) -> None:
    """Refuse what would let brokers differ in how many replicas make a committed record: with ELR that loses some."""
    if resource.name:
        message = f"Broker-level {MIN_IN_SYNC_REPLICAS} cannot be altered while ELR is enabled."
        raise Refusal(ErrorCode.INVALID_CONFIG, message)
    if value is None:
        message = f"Cluster-level {MIN_IN_SYNC_REPLICAS} cannot be removed while ELR is enabled."
        raise Refusal(ErrorCode.INVALID_CONFIG, message)


def _check_broker(cluster: ClusterState, name: str) -> None:
    """Refuse a name that is no broker's; the empty one stands for all."""
    if not name:
        return
    number = parse_int32(name)
    if number is None:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
    if number < 0:
        raise Refusal(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")
    if number not in cluster.image.brokers:
        raise Refusal(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {name} found.")
