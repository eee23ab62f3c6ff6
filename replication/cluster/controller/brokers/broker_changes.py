"""What follows from a broker that is fenced, unfenced, shuts down or is gone: for itself, and for its partitions."""

from uuid import UUID

from replication.cluster.controller.cluster_state import ClusterState
from replication.cluster.controller.leadership import changes_after
from replication.records.leadership.broker_event import BrokerEvent
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    MetadataRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)

_Change = BrokerRegistrationChangeRecord


def fence(cluster: ClusterState, broker: BrokerRegistration) -> list[MetadataRecord]:
    """Remove a broker from all ISRs, move its leaderships, and mark it as fenced."""
    records: list[MetadataRecord] = [
        *changes_after(cluster, cluster.index.in_isr(broker.id), BrokerEvent(leaving=broker.id))
    ]
    if cluster.rules.registration_changes:
        return [*records, _Change(broker_id=broker.id, broker_epoch=broker.epoch, fenced=_Change.FENCE)]
    return [*records, FenceBrokerRecord(id=broker.id, epoch=broker.epoch)]


def unfence(cluster: ClusterState, broker: BrokerRegistration) -> list[MetadataRecord]:
    """Mark a broker, and let it lead what nobody leads, where it can."""
    mark: MetadataRecord = UnfenceBrokerRecord(id=broker.id, epoch=broker.epoch)
    if cluster.rules.registration_changes:
        mark = _Change(broker_id=broker.id, broker_epoch=broker.epoch, fenced=_Change.UNFENCE)
    return [mark, *changes_after(cluster, cluster.index.leaderless(), BrokerEvent(joining=broker.id))]


def begin_controlled_shutdown(cluster: ClusterState, broker: BrokerRegistration) -> list[MetadataRecord]:
    """Mark a broker that serves until the others know, take it out of all ISRs, and move its leaderships."""
    records: list[MetadataRecord] = []
    if cluster.rules.controlled_shutdown_state and not broker.in_controlled_shutdown:
        shutting_down = _Change.IN_CONTROLLED_SHUTDOWN
        records = [_Change(broker_id=broker.id, broker_epoch=broker.epoch, in_controlled_shutdown=shutting_down)]
    return [*records, *changes_after(cluster, cluster.index.in_isr(broker.id), BrokerEvent(leaving=broker.id))]


def unregister(cluster: ClusterState, broker: BrokerRegistration) -> list[MetadataRecord]:
    """Remove a broker that will not come back from all ISRs and ELRs, and unregister it."""
    return [
        *changes_after(cluster, cluster.index.in_isr(broker.id), BrokerEvent(leaving=broker.id)),
        *changes_after(cluster, cluster.index.in_elr(broker.id), BrokerEvent(leaving=broker.id)),
        UnregisterBrokerRecord(broker_id=broker.id, broker_epoch=broker.epoch),
    ]


def restart(cluster: ClusterState, broker_id: int, *, clean: bool) -> list[MetadataRecord]:
    """Remove a broker that comes as a new incarnation from all ISRs; after a crash, from the ELRs too (KIP-966)."""
    event = BrokerEvent.restart(broker_id, clean=clean, rules=cluster.rules)
    in_isr, in_elr = cluster.index.in_isr(broker_id), cluster.index.in_elr(broker_id)
    keys = [*in_isr, *in_elr] if event.is_crash else in_isr
    return [*changes_after(cluster, keys, event)]


def lose_directories(cluster: ClusterState, broker: BrokerRegistration, offline: set[UUID]) -> list[MetadataRecord]:
    """Remove a broker from the ISRs of what lay in directories that have failed (KIP-858)."""
    lost = offline.intersection(broker.directories)
    if not lost:
        return []
    left = tuple(directory for directory in broker.directories if directory not in lost)
    topics = cluster.image.topics
    keys = [key for key in cluster.index.in_isr(broker.id) if topics.partition(*key).directory_of(broker.id) in lost]
    return [
        *changes_after(cluster, keys, BrokerEvent(leaving=broker.id)),
        _Change(broker_id=broker.id, broker_epoch=broker.epoch, log_dirs=left),
    ]


def cordon_directories(
    cluster: ClusterState, broker: BrokerRegistration, cordoned: tuple[UUID, ...] | None
) -> list[MetadataRecord]:
    """Note which directories take no new replicas, where that has changed."""
    if cordoned is None or not cluster.rules.cordoned_directories:
        return []
    if broker.cordoned_directories is not None and set(cordoned) == set(broker.cordoned_directories):
        return []
    return [_Change(broker_id=broker.id, broker_epoch=broker.epoch, cordoned_log_dirs=cordoned)]
