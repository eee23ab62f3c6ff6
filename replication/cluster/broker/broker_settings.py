"""What a broker registers with, and the times of its requests to the controller."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from replication.records.metadata.metadata_version import (
    LATEST_METADATA_VERSION,
    METADATA_VERSION_FEATURE,
    MetadataVersion,
)
from replication.wire.messages.broker_registration import Listener

HEARTBEAT_INTERVAL_MS: Final = 2_000
"""Kafka's default of broker.heartbeat.interval.ms."""
SESSION_TIMEOUT_MS: Final = 9_000
"""Kafka's default of broker.session.timeout.ms."""
SUPPORTED_FEATURES: Final[Mapping[str, range]] = MappingProxyType(
    {
        METADATA_VERSION_FEATURE: range(MetadataVersion.V3_3_IV3, LATEST_METADATA_VERSION + 1),
        "kraft.version": range(2),
        "group.version": range(2),
        "transaction.version": range(3),
        "eligible.leader.replicas.version": range(2),
        "share.version": range(3),
        "streams.version": range(2),
    }
)
"""The levels that a broker of Kafka 4.4 registers with; those that the cluster has finalized must be among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """A broker's settings, with Kafka's names in brackets; the defaults are Kafka's."""

    listeners: tuple[Listener, ...]
    """The addresses for clients and other brokers (advertised.listeners)."""
    rack: str | None = None
    """(broker.rack)."""
    features: Mapping[str, range] = field(default_factory=lambda: SUPPORTED_FEATURES)
    """The levels that the broker supports, by feature."""
    heartbeat_interval_ms: int = HEARTBEAT_INTERVAL_MS
    """Time between heartbeats, and between a failure and the next attempt (broker.heartbeat.interval.ms)."""
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    """One request may take half of it. The controller's own setting of this name says after what time without a
    heartbeat it fences the broker (broker.session.timeout.ms)."""
    initial_registration_timeout_ms: int = 60_000
    """The timeout of the first registration (initial.broker.registration.timeout.ms)."""
    controlled_shutdown_timeout_ms: int = 300_000
    """The timeout of a controlled shutdown (5 minutes in Kafka's BrokerServer)."""
