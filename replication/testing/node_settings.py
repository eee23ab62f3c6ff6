"""What brokers of a cluster for tests are started with."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from logstore.directory.directory_settings import DirectorySettings
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings

_SHUTDOWN_SECONDS: Final = 3.0
"""A broker that is cut off from its controller hands nothing over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSettings:
    """The same for all brokers of a cluster; times are in milliseconds."""

    lag_ms: int
    heartbeat_ms: int
    shares_groups: bool = False
    """Whether each broker coordinates some groups; otherwise one has all, as far as it knows."""
    topic_defaults: Mapping[str, str] = field(default_factory=dict)
    """Under the names that topics' settings have."""
    auto_create_topics: bool = False
    rebalance_delay_ms: int = 0
    """How long new groups wait for more members (group.initial.rebalance.delay.ms)."""
    cleaner_backoff_ms: int = 1_000
    """How long the cleaner rests (log.cleaner.backoff.ms)."""

    def of_node(self, address: Address) -> BrokerNodeSettings:
        """Return the settings of a broker that listens at an address."""
        return BrokerNodeSettings(
            listener=ListenerSettings(address=address),
            topic_defaults=self.topic_defaults,
            replica_lag_time_max_ms=self.lag_ms,
            heartbeat_interval_ms=self.heartbeat_ms,
            auto_create_topics=self.auto_create_topics,
            controlled_shutdown_seconds=_SHUTDOWN_SECONDS,
            shares_groups=self.shares_groups,
            groups=GroupSettings(initial_rebalance_delay=self.rebalance_delay_ms / 1_000),
        )

    @property
    def of_directories(self) -> DirectorySettings:
        """The settings of its log.dirs."""
        return DirectorySettings(log_cleaner_backoff_ms=self.cleaner_backoff_ms)

    def as_json(self) -> dict[str, Any]:
        """Return them for another process, which makes them anew by name."""
        return asdict(self)
