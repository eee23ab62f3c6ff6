"""How a broker presents itself to the controller, and how it keeps in touch."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from replication.metadata.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION_FEATURE, MetadataVersion
from replication.protocol.messages.broker_registration import Listener

SUPPORTED_FEATURES: Final[Mapping[str, range]] = MappingProxyType(
    {
        METADATA_VERSION_FEATURE: range(MetadataVersion.V3_3_IV3, LATEST_METADATA_VERSION + 1),
        "kraft.version": range(2),
        "group.version": range(2),
        "transaction.version": range(3),
        "eligible.leader.replicas.version": range(2),
        "share.version": range(2),
        "streams.version": range(2),
    }
)
"""The levels that a broker of Kafka 4.3 registers with; those that the cluster has finalized must be among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Names in brackets are Kafka's settings; defaults are Kafka's too."""

    listeners: tuple[Listener, ...]
    """Where others reach the broker (advertised.listeners)."""
    rack: str | None = None
    """(broker.rack)."""
    features: Mapping[str, range] = field(default_factory=lambda: SUPPORTED_FEATURES)
    """The levels that the broker can work at, by feature."""
    heartbeat_interval_ms: int = 2_000
    """From one heartbeat to the next, and from a failure to the next try (broker.heartbeat.interval.ms)."""
    session_timeout_ms: int = 9_000
    """How long one request is tried. After so long without any the controller fences the broker, by its own setting
    of this name (broker.session.timeout.ms)."""
    initial_registration_timeout_ms: int = 60_000
    """Until when the first registration must succeed (initial.broker.registration.timeout.ms)."""
    controlled_shutdown_timeout_ms: int = 300_000
    """How long a controller may take to move leaderships away (5 minutes in Kafka's BrokerServer)."""
