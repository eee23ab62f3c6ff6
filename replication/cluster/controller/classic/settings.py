"""What can be set about a controller of the ZooKeeper era."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicSettings:
    """Settings of a controller, under Kafka's names; times in milliseconds."""

    delete_topic_enable: bool = True
    """False before Kafka 1.0."""
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_ms: int = 300_000
    leader_imbalance_per_broker_percentage: int = 10
    topic_ids: bool = False
    """Whether topics that have no id are given one, as from inter.broker.protocol.version 2.8 on."""
    num_partitions: int = 1
    default_replication_factor: int = 1
    defaults: Mapping[str, str] = field(default_factory=dict)
    """For topics without a setting of their own: unclean.leader.election.enable."""
