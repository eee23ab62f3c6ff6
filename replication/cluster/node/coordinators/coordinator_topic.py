"""The topics in which coordinators keep what they know, as Kafka's brokers make them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from replication.cluster.node.coordinators.other_coordinators import GROUPS, TRANSACTIONS

SHARE_GROUPS: Final = "__share_group_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorTopic:
    """One of them: who leads one of its partitions coordinates what belongs there."""

    name: str
    partitions: str
    """The setting of brokers that says how many partitions it has."""
    replication_factor: str
    """And how many replicas each of them has."""
    configs: Mapping[str, str]
    """What is set for it, whatever the brokers' settings are."""
    described: Mapping[str, str] = field(default_factory=dict)
    """What is set for it as a setting of the brokers says: that, by the name that it has for topics."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings of brokers that say how it is made."""
        return (self.partitions, self.replication_factor, *self.described.values())


COORDINATOR_TOPICS: Final = (
    CoordinatorTopic(
        name=GROUPS,
        partitions="offsets.topic.num.partitions",
        replication_factor="offsets.topic.replication.factor",
        configs={"cleanup.policy": "compact", "compression.type": "producer"},
        described={"segment.bytes": "offsets.topic.segment.bytes"},
    ),
    CoordinatorTopic(
        name=TRANSACTIONS,
        partitions="transaction.state.log.num.partitions",
        replication_factor="transaction.state.log.replication.factor",
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "unclean.leader.election.enable": "false",
        },
        described={
            "min.insync.replicas": "transaction.state.log.min.isr",
            "segment.bytes": "transaction.state.log.segment.bytes",
        },
    ),
    CoordinatorTopic(
        name=SHARE_GROUPS,
        partitions="share.coordinator.state.topic.num.partitions",
        replication_factor="share.coordinator.state.topic.replication.factor",
        configs={"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1"},
        described={
            "min.insync.replicas": "share.coordinator.state.topic.min.isr",
            "segment.bytes": "share.coordinator.state.topic.segment.bytes",
        },
    ),
)
"""Of groups, of transactions, and of share groups, which brokers before Kafka 4.1 have none of."""
SETTINGS: Final = tuple(dict.fromkeys(name for topic in COORDINATOR_TOPICS for name in topic.settings))
"""All settings that say how they are made."""
