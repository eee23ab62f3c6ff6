"""The state that a controller decides from, as far as a cluster returns it to clients."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final
from uuid import UUID

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.operations.cluster_view import BrokerView, ClusterView
from replication.cluster.operations.partition_view import PartitionView
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.configurations import MIN_IN_SYNC_REPLICAS, ConfigResourceType
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION, METADATA_VERSION_FEATURE
from replication.records.metadata.records import (
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)

_WORKING: Final = UUID(int=1 << 100)
"""Stands for all online directories of a broker."""
_FAILED: Final = UUID(int=2 << 100)
"""Stands for its offline directories."""


def described_state(view: ClusterView) -> ClusterState:
    """Return a state from which elections have the same results as in the cluster.

    Clients cannot see which brokers are about to shut down: these count as able to lead.
    """
    state = ClusterState()
    for offset, record in enumerate(_records(view)):
        state.replay(record, offset)
    return state


def _records(view: ClusterView) -> Iterator[MetadataRecord]:
    yield FeatureLevelRecord(name=METADATA_VERSION_FEATURE, feature_level=LATEST_METADATA_VERSION)
    if any(partition.elr is not None for partition in view.partitions):
        # Where the cluster keeps none, all are empty, and the rule changes nothing.
        yield FeatureLevelRecord(name=ELR_FEATURE, feature_level=1)
    yield from map(_broker, view.brokers)
    by_topic = groupby(view.partitions, key=lambda partition: partition.partition.topic)
    for number, (topic, partitions) in enumerate(by_topic, start=1):
        yield from _topic(topic, UUID(int=number), list(partitions))


def _broker(broker: BrokerView) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.id,
        incarnation_id=UUID(int=broker.id),
        broker_epoch=0,
        # Where it is not told, only brokers that are not fenced are told of.
        fenced=bool(broker.is_fenced),
        log_dirs=(_WORKING,),
    )


def _topic(name: str, topic_id: UUID, partitions: list[PartitionView]) -> Iterator[MetadataRecord]:
    yield TopicRecord(name=name, topic_id=topic_id)
    yield ConfigRecord(
        resource_type=ConfigResourceType.TOPIC,
        resource_name=name,
        name=MIN_IN_SYNC_REPLICAS,
        value=str(_min_isr(partitions)),
    )
    yield from (_partition(topic_id, partition) for partition in partitions)


def _min_isr(partitions: Iterable[PartitionView]) -> int:
    """Return the setting; if it is not known, one with which no replica stops being eligible."""
    return max(partition.min_isr or len(partition.replicas) or 1 for partition in partitions)


def _partition(topic_id: UUID, told: PartitionView) -> PartitionRecord:
    return PartitionRecord(
        partition_id=told.partition.partition,
        topic_id=topic_id,
        replicas=told.replicas,
        isr=told.isr,
        adding_replicas=told.adding,
        removing_replicas=told.removing,
        leader=told.leader,
        leader_epoch=told.leader_epoch,
        partition_epoch=0,
        directories=tuple(_FAILED if each in told.offline_replicas else _WORKING for each in told.replicas),
        eligible_leader_replicas=told.elr,
        last_known_elr=told.last_known_elr,
    )
