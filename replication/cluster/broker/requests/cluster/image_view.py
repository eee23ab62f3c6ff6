"""The cluster's metadata as a client sees it that came by one of the listeners (Kafka: KRaftMetadataCache)."""

from collections.abc import Iterable
from typing import Final

from replication.cluster.broker.requests.known_cluster import node_of
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import LOST_DIRECTORY, MIGRATING_DIRECTORY, NO_LEADER, UNASSIGNED_DIRECTORY
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import Broker, PartitionMetadata

_NOT_YET_KNOWN: Final = (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY)


class ImageView:
    """Which brokers have the listener, and what that makes of the partitions."""

    def __init__(self, image: ClusterImage, listener: str) -> None:
        """Look at an image by the listener of this name."""
        self._image = image
        self._listener = listener
        found = {each.id: (each, node_of(each, listener)) for each in image.brokers.values()}
        self.nodes: dict[int, Broker] = {key: node for key, (_, node) in found.items() if node is not None}
        """All brokers that have the listener, by id."""
        self.alive: dict[int, Broker] = {key: node for key, node in self.nodes.items() if not found[key][0].fenced}
        """Those of them that are not fenced."""

    def partition(
        self, known: PartitionRegistration, *, only_reachable: bool = False, names_listeners: bool = True
    ) -> PartitionMetadata:
        """Return what is answered for a partition.

        `only_reachable` leaves out brokers that do not have the listener, as version 0 of Metadata does; its versions
        below 6 have no name (`names_listeners`) for a leader that does not have it.
        """
        leader = known.leader if known.leader in self.nodes else NO_LEADER
        replicas, isr = known.replicas, known.isr
        if only_reachable:
            replicas, isr = self._reachable(replicas), self._reachable(isr)
        error = ErrorCode.NONE
        if leader == NO_LEADER:
            has_leader = known.leader in self._image.brokers
            error = ErrorCode.LISTENER_NOT_FOUND if has_leader and names_listeners else ErrorCode.LEADER_NOT_AVAILABLE
        elif len(replicas) < len(known.replicas) or len(isr) < len(known.isr):
            error = ErrorCode.REPLICA_NOT_AVAILABLE
        return PartitionMetadata(
            error,
            leader,
            known.leader_epoch,
            replicas,
            isr,
            tuple(each for each in known.replicas if self._is_offline(self._image.brokers.get(each), known)),
            known.elr,
            known.last_known_elr,
        )

    def _reachable(self, node_ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(each for each in node_ids if each in self.nodes)

    def _is_offline(self, broker: BrokerRegistration | None, known: PartitionRegistration) -> bool:
        if broker is None or broker.fenced or self._listener not in broker.listeners:
            return True
        directory = known.directory_of(broker.id)
        if directory in _NOT_YET_KNOWN:
            return False
        return directory == LOST_DIRECTORY or (bool(broker.directories) and directory not in broker.directories)
