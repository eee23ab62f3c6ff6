"""Copies of the directories of a cluster's brokers, opened as that cluster."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, count
from pathlib import Path
from types import TracebackType
from typing import Self

from logstore.offline.recovered_log import RecoveredLog
from logstore.segment.open_files import OpenFiles, default_limit
from logstore.topic_partition import TopicPartition
from replication.base.errors import SameBrokerError, TopicIdsDifferError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions
from replication.cluster.serving.damages import Damages
from replication.cluster.serving.frozen_broker import FrozenBroker
from replication.cluster.serving.frozen_image import topics_image, with_brokers
from replication.cluster.serving.leader_choice import LeaderChoice
from replication.cluster.serving.unserved import Unserved
from replication.copies.planning.failures import PARTITION_ERRORS, OnError
from replication.copies.planning.replica import Replica, open_copies
from replication.copies.planning.rereading import reread
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import LoadedImage, load_image
from replication.wire.addresses import Address


@dataclass(frozen=True, slots=True)
class FrozenCluster:
    """A cluster that nobody writes: its brokers' logs, and its metadata as far as that is there.

    >>> with FrozenCluster.open([Path("broker-1"), Path("broker-2")]) as cluster:
    ...     cluster.topics.topics.by_name["orders"].partitions[0].leader
    """

    cluster_id: str | None
    brokers: Sequence[FrozenBroker]
    metadata: LoadedImage
    """By the copy of `__cluster_metadata-0` that goes furthest; empty where there is none."""
    topics: ClusterImage
    """The topics, with leaders among the brokers that are here."""
    hosted: Mapping[int, HostedPartitions] = field(repr=False)
    """The brokers' partitions with their roles, by node id."""
    unserved: Sequence[Unserved]
    """What was found when the copies were opened; little of them is read then."""
    unidentified: Sequence[tuple[str, Exception]]
    """Copies, by their names, that do not say of which broker and cluster they are, because that cannot be read."""
    damages: Damages = field(repr=False)
    """What is found since then, as they are read."""

    @classmethod
    def open(cls, paths: Sequence[Path], choice: LeaderChoice = LeaderChoice.METADATA) -> Self:
        """Open copies of one cluster's brokers and controllers, of any number and kind, without a write.

        Raises what `open_copies` raises, and SameBrokerError for two copies of one broker. A partition that cannot be
        opened is in `unserved`.
        """
        replicas = open_copies(paths, on_error=lambda *_: None)
        unserved = [
            Unserved(partition, replica.name, error)
            for replica in replicas
            for partition, error in replica.left_out.items()
        ]
        _ensure_different_brokers(replicas)
        open_files = OpenFiles(default_limit())
        damages = Damages()
        metadata = _metadata(replicas, unserved)
        with ExitStack() as stack:
            brokers = []
            for node_id, replica in zip(_node_ids(replicas), replicas, strict=True):
                broker = FrozenBroker.open(node_id, _data_of(replica), open_files, _into(unserved, replica.name))
                stack.callback(broker.close)
                brokers.append(broker)
            topics = topics_image(metadata.image, brokers, choice)
            brokers = [each for each in brokers if each.copies or each.unreadable] or brokers[:1]
            hosted = {broker.node_id: _hosted(broker, topics, damages) for broker in brokers}
            stack.pop_all()
        cluster_id = next((each.cluster_id for each in replicas if each.cluster_id is not None), None)
        unidentified = [(replica.name, error) for replica in replicas for error in replica.unread]
        unserved += (found for broker in brokers for found in _shortened(broker, topics))
        return cls(cluster_id, brokers, metadata, topics, hosted, unserved, unidentified, damages)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all logs; what was read stays valid."""
        for broker in self.brokers:
            broker.close()

    @property
    def without_leader(self) -> list[TopicPartition]:
        """The partitions of which no copy is here that may lead."""
        states = self.topics.topics.partitions()
        return sorted(TopicPartition(topic.name, number) for topic, number, each in states if not each.has_leader)

    @property
    def unchecked_bytes(self) -> int:
        """Bytes of what is served whose checksums were not looked at when it was opened. Raises OSError."""
        served = ((broker, partition) for broker in self.brokers for partition in self.hosted[broker.node_id])
        return sum(broker.copies[partition].log.recovered.unchecked_bytes for broker, partition in served)

    def image(self, brokers: Mapping[int, Mapping[str, Address]]) -> ClusterImage:
        """Return what clients get once the brokers, by node id, have listeners, by name."""
        return with_brokers(replace(self.topics, brokers={}), self.metadata.image, brokers)


def _into(unserved: list[Unserved], name: str) -> OnError:
    """Return what notes why partitions of a copy cannot be opened."""
    return lambda partition, error: unserved.append(Unserved(partition, name, error))


def _ensure_different_brokers(replicas: Sequence[Replica]) -> None:
    for one, other in combinations(replicas, 2):
        if one.node_id is not None and one.node_id == other.node_id:
            raise SameBrokerError(one.name, other.name, f"broker {one.node_id} by node.id in meta.properties")


def _node_ids(replicas: Sequence[Replica]) -> Iterator[int]:
    """Give each its node.id, and those that have none the lowest free numbers."""
    known = {each.node_id for each in replicas}
    free = (number for number in count() if number not in known)
    return (next(free) if each.node_id is None else each.node_id for each in replicas)


def _data_of(replica: Replica) -> Replica:
    """Return a copy without the controllers' partition, which no client reads."""
    return replace(
        replica, partitions={each: known for each, known in replica.partitions.items() if each != METADATA_PARTITION}
    )


def _metadata(replicas: Sequence[Replica], unserved: list[Unserved]) -> LoadedImage:
    """Return the image of the copy that goes furthest, by epoch and then by offset."""
    best = LoadedImage(ClusterImage(), 0, -1)
    for replica in replicas:
        directory = replica.partitions.get(METADATA_PARTITION)
        if directory is None:
            continue
        try:
            recovered = reread(directory, RecoveredLog.load)
            loaded = load_image(directory.path, recovered.log_end_offset)
        except PARTITION_ERRORS as error:
            unserved.append(Unserved(METADATA_PARTITION, replica.name, error))
            continue
        if recovered.damage is not None:
            unserved.append(Unserved(METADATA_PARTITION, replica.name, recovered.damage, is_partly_served=True))
        best = max(best, loaded, key=lambda each: (each.epoch, each.end_offset))
    return best


def _hosted(broker: FrozenBroker, topics: ClusterImage, damages: Damages) -> HostedPartitions:
    """Return a broker's copies of the topics that there are; it leads as after an election: nobody has written yet."""
    hosted = HostedPartitions()
    hosted.offline |= broker.unreadable
    for partition, copy in broker.copies.items():
        topic = topics.topics.by_id.get(copy.topic_id)
        state = topic.partitions.get(partition.partition) if topic and topic.name == partition.topic else None
        if topic is None or state is None:
            continue
        is_leader, latest = state.leader == broker.node_id, copy.log.epochs.latest_epoch
        if is_leader and (latest is None or state.leader_epoch > latest):
            copy.log.lead(state.leader_epoch)
        hosted[partition] = HostedPartition(
            copy.log,
            state.leader_epoch,
            is_leader=is_leader,
            topic_id=topic.id,
            damage=copy.log.recovered.damage,
            root=str(copy.log.directory.parent),
            on_failure=partial(damages.note, partition, broker.name),
        )
    return hosted


def _shortened(broker: FrozenBroker, topics: ClusterImage) -> Iterator[Unserved]:
    """Find the copies that end at damage, and those of topics that only had a served one's name."""
    for partition, copy in broker.copies.items():
        served = topics.topics.by_name.get(partition.topic)
        if served is not None and served.id != copy.topic_id:
            ids = {"the cluster": served.id, broker.name: copy.topic_id}
            yield Unserved(partition, broker.name, TopicIdsDifferError(ids))
        elif copy.log.recovered.damage is not None:
            yield Unserved(partition, broker.name, copy.log.recovered.damage, is_partly_served=True)
