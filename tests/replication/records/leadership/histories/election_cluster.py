"""A cluster of Kafka's own brokers whose elections are foretold: what it says of itself, and what may befall a node."""

import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Final, Self

from confluent_kafka import ElectionType
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import TopicPartition
from replication.base.metadata_partition import METADATA_PARTITION
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_log import read_metadata
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import BrokerRegistrationChangeRecord, MetadataRecord
from replication.records.metadata.transactions import committed
from tests.oracle.cluster import CONTROLLER
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.node.joining.cuts import cuts
from tests.replication.cluster.node.joining.mixed_cluster import MixedCluster
from tests.replication.records.leadership.histories.topic_plan import TopicPlan
from tests.replication.waiting import SECONDS, wait_until

SESSION_MS: Final = 3_000
ASKED_SECONDS: Final = 30


@dataclass
class ElectionCluster(MixedCluster):
    """One controller and two or three brokers, which lead nobody away from a leader that works by themselves."""

    @classmethod
    def at_random(cls, directory: Path, release: KafkaRelease, random: Random) -> Self:
        """Describe a cluster of so many brokers as it may come, that keeps eligible leader replicas, or none."""
        elr, brokers = random.random() < 1 / 2, random.choice((2, 3))
        cluster = cls.of(directory, release, kafkas=brokers, session_ms=SESSION_MS, lag_ms=SESSION_MS, ours=())
        own = {"auto.leader.rebalance.enable": "false", "metadata.max.idle.interval.ms": 0}
        return replace(
            cluster,
            controller_settings={**cluster.controller_settings, **own},
            features={ELR_FEATURE: int(elr)},
        )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._image = ClusterImage()
        self._read_to = 0

    def create(self, topics: Collection[TopicPlan]) -> None:
        """Make topics while all brokers run, and wait until all replicas are in sync."""
        for node in self.ids:
            if not self.is_running(node):
                self.start(node)
        new = [
            NewTopic(
                each.name,
                num_partitions=len(each.replicas),
                replica_assignment=[list(ids) for ids in each.replicas],
                config=dict(each.settings),
            )
            for each in topics
        ]
        self.wait_until_settled()
        administrator = self._administrator()
        for told in administrator.create_topics(new).values():
            told.result(ASKED_SECONDS)
        self.wait_until_settled()

    def delete(self, topics: Collection[TopicPlan]) -> None:
        """Delete topics, whose logs the brokers remove in their own time."""
        administrator = self._administrator()
        for told in administrator.delete_topics([each.name for each in topics]).values():
            told.result(ASKED_SECONDS)

    def elect_uncleanly(self, partitions: Collection[TopicPartition]) -> None:
        """Ask the controller for leaders of partitions that have none."""
        asked = [ClientPartition(each.topic, each.partition) for each in partitions]
        administrator = self._administrator()
        administrator.elect_leaders(ElectionType.UNCLEAN, asked).result(ASKED_SECONDS)

    def partitions(self) -> Mapping[TopicPartition, PartitionRegistration]:
        """Return all partitions as the controller has them in its log by now."""
        return {TopicPartition(topic.name, number): state for topic, number, state in self.image().topics.partitions()}

    def running(self) -> set[int]:
        """Return the brokers that run."""
        return {node for node in self.ids if self.is_running(node)}

    def image(self) -> ClusterImage:
        """Return what the controller has in its log by now: of what was read before, nothing is read again."""
        for batch in committed(read_metadata(self._metadata, self._read_to)):
            self._image.replay_all(batch.records)
            self._read_to = batch.last_offset + 1
        return self._image

    def alive(self) -> set[int]:
        """Return the brokers that the controller takes for alive."""
        return {broker.id for broker in self.image().brokers.values() if not broker.fenced}

    def gave_up_since(self, offset: int, nodes: Collection[int]) -> bool:
        """Whether the controller has fenced one of these brokers after it served since an offset of the metadata."""
        served: set[int] = set()
        for record in self._records(offset):
            if isinstance(record, BrokerRegistrationChangeRecord) and record.broker_id in nodes:
                if record.fenced == record.UNFENCE:
                    served.add(record.broker_id)
                elif record.fenced == record.FENCE and record.broker_id in served:
                    return True
        return False

    def wait_until_settled(self) -> None:
        """Wait until the controller counts exactly those brokers as alive that run, and all that can be are in sync."""
        wait_until(self._is_settled, f"brokers {self.running()} are up, the others are fenced, all replicas in sync")

    def lose_disk(self, node: int) -> None:
        """Give a broker that is down a new, empty disk in place of its own."""
        shutil.rmtree(self.log_dir(node))
        self._format(node)

    def lose_log(self, node: int, partition: TopicPartition) -> None:
        """Remove one partition's directory of a broker that is down, unless it went down before it made one."""
        directory = self.log_dir(node) / str(partition)
        if directory.exists():
            shutil.rmtree(directory)

    def copy(self, target: Path) -> None:
        """Copy the directories of all nodes, without the files that a broker that runs is about to rename."""
        for node in self.nodes:
            being_written = shutil.ignore_patterns("*.tmp")
            shutil.copytree(self.log_dir(node), target / self.log_dir(node).name, ignore=being_written)

    def cuts(self, node: int, begin: int) -> Mapping[TopicPartition, list[int]]:
        """Return where a broker has cut its logs since it had said this much."""
        return cuts(self.said(node)[begin:])

    @property
    def _metadata(self) -> Path:
        return self.log_dir(CONTROLLER) / str(METADATA_PARTITION)

    def _records(self, offset: int) -> Iterator[MetadataRecord]:
        for batch in read_metadata(self._metadata, offset):
            yield from batch.records

    def _is_settled(self) -> bool:
        image, running = self.image(), self.running()
        alive = {broker.id for broker in image.brokers.values() if broker.is_active}
        return alive == running and all(
            set(state.isr) == running.intersection(state.replicas)
            for _, _, state in image.topics.partitions()
            if state.has_leader
        )

    def _administrator(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.bootstrap(*self.running()), "socket.timeout.ms": SECONDS * 1_000})
