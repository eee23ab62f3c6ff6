"""A broker's replica manager, and the metadata that it is given record by record."""

from collections.abc import Collection
from pathlib import Path
from uuid import UUID

from epoch.filesystem import REAL, FileSystem
from logstore import Log, Record, TopicPartition
from logstore.append.encoding import encode
from logstore.directory.log_directories import LogDirectories
from replication.cluster.broker.events.partition_events import PartitionEvent
from replication.cluster.broker.replicas.replica_manager import ReplicaManager
from replication.cluster.broker.replicas.topic_settings import TopicSettings
from replication.cluster.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ImageChanges
from replication.records.metadata.records import (
    Endpoint,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from replication.wire.messages.alter_partition import IsrChange

ME, OTHER = 1, 2
EPOCH = 10 + ME
"""Of this start of the broker, as `registered` has it."""
TOPIC, EARLIER = UUID(int=7_000), UUID(int=6_000)
ORDERS = TopicPartition("orders", 0)


class Followed(FetcherManager):
    """Notes who is followed, and fetches nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.leaders: dict[TopicPartition, tuple[LeaderAddress, int]] = {}

    def follow(
        self,
        partition: TopicPartition,
        log: Log,
        leader: LeaderAddress,
        leader_epoch: int,
        topic_id: UUID | None = None,
    ) -> None:
        del log, topic_id
        self.leaders[partition] = leader, leader_epoch

    def forget(self, partition: TopicPartition) -> None:
        self.leaders.pop(partition, None)


class NoChanges:
    """Takes what leaders want, and answers nothing."""

    def __init__(self) -> None:
        self.wanted: list[IsrChange] = []

    def ask(self, change: IsrChange) -> None:
        self.wanted.append(change)


class Broker:
    """A replica manager, and the metadata that it is given record by record."""

    def __init__(
        self,
        root: Path,
        *others: Path,
        filesystem: FileSystem = REAL,
        remakes_only: bool = True,
        accepted_losses: Collection[TopicPartition] = (),
    ) -> None:
        self.root = root
        self.directories = LogDirectories.open(
            [root, *others], duplicates=True, replicated=True, damage="hold", filesystem=filesystem
        )
        self.fetchers = Followed()
        self.isr_changes = NoChanges()
        self.told: list[PartitionEvent] = []
        self.now = 0
        self.replicas = ReplicaManager(
            ME,
            self.directories,
            self.fetchers,
            self.isr_changes,
            TopicSettings({"retention.ms": "1000"}),
            directory_ids={UUID(int=1_001 + each): root for each, root in enumerate(self.directories.roots)},
            broker_epoch=lambda: EPOCH,
            listener="PLAINTEXT",
            clock=lambda: self.now,
            tell=self.told.append,
            remakes_only=remakes_only,
            accepted_losses=accepted_losses,
        )
        self.image = ClusterImage()

    def take(self, *records: MetadataRecord) -> None:
        before = self.image.frozen()
        self.image.replay_all(records)
        after = self.image.frozen()
        self.replicas.apply(after, ImageChanges.between(before, after))

    def led(self) -> bool:
        hosted = self.replicas.hosted.get(ORDERS)
        return hosted is not None and hosted.led is not None


def registered(broker_id: int, port: int = 9_092) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=UUID(int=broker_id),
        broker_epoch=10 + broker_id,
        end_points=(Endpoint(name="PLAINTEXT", host="127.0.0.1", port=port, security_protocol=0),),
        features=(),
        rack=None,
        fenced=False,
    )


def made(leader: int, *replicas: int, epoch: int = 0) -> list[MetadataRecord]:
    return [
        TopicRecord(name="orders", topic_id=TOPIC),
        PartitionRecord(
            partition_id=0,
            topic_id=TOPIC,
            replicas=replicas,
            isr=replicas,
            leader=leader,
            leader_epoch=epoch,
            partition_epoch=0,
        ),
    ]


def changed(**fields: int | tuple[int, ...] | tuple[UUID, ...]) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC, **fields)  # type: ignore[arg-type]


def strays(broker: Broker) -> list[Path]:
    return sorted(broker.root.glob("*-stray"))


def batch() -> bytes:
    return bytes(encode([Record.of(b"paid")], None)[0])
