"""A broker's logs follow the metadata: made, led, followed, deleted."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from uuid import UUID

import pytest

from logstore import Log, LogConfig, Record, TopicPartition
from logstore.append.encoding import encode
from logstore.directory.log_directories import LogDirectories
from replication.broker.errors import NotLeaderError
from replication.broker.replicas.replica_manager import ReplicaManager
from replication.broker.replicas.topic_settings import TopicSettings
from replication.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.metadata.image import ClusterImage
from replication.metadata.image_changes import ImageChanges
from replication.metadata.records import (
    ConfigRecord,
    Endpoint,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replication.protocol.addresses import Address
from replication.protocol.messages.alter_partition import IsrChange

ME, OTHER = 1, 2
TOPIC = UUID(int=7_000)
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

    def __init__(self, root: Path) -> None:
        self.root = root
        self.directories = LogDirectories.open([root])
        self.fetchers = Followed()
        self.isr_changes = NoChanges()
        self.now = 0
        self.replicas = ReplicaManager(
            ME,
            self.directories,
            self.fetchers,
            self.isr_changes,
            TopicSettings({"retention.ms": "1000"}),
            directory_ids={UUID(int=1_001): self.directories.roots[0]},
            listener="PLAINTEXT",
            clock=lambda: self.now,
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


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.replicas.close()
    broker.directories.close()


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


def changed(**fields: int | tuple[int, ...]) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=0, topic_id=TOPIC, **fields)  # type: ignore[arg-type]


def batch() -> bytes:
    return bytes(encode([Record.of(b"paid")], None)[0])


def test_a_partition_that_the_broker_leads_is_made_and_led_in_its_epoch(broker: Broker) -> None:
    broker.take(registered(ME), *made(ME, ME, epoch=4))
    hosted = broker.replicas.hosted[ORDERS]
    assert (hosted.is_leader, hosted.leader_epoch, hosted.topic_id) == (True, 4, TOPIC)
    assert hosted.led is not None
    hosted.led.append(batch(), required_acks=-1)
    assert hosted.log.epochs.latest_epoch == 4
    assert hosted.log.high_watermark == 1
    assert (broker.root / "orders-0" / "partition.metadata").exists()


def test_a_partition_that_another_leads_is_followed_there(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER, 9_093), *made(OTHER, OTHER, ME, epoch=2))
    assert not broker.led()
    assert broker.fetchers.leaders == {ORDERS: (LeaderAddress(OTHER, Address("127.0.0.1", 9_093)), 2)}


def test_partitions_of_others_are_not_here(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(OTHER, OTHER))
    assert not broker.replicas.hosted
    assert not (broker.root / "orders-0").exists()


def test_who_becomes_leader_follows_no_more_and_who_follows_appends_no_more(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(OTHER, OTHER, ME))
    broker.take(changed(leader=ME))
    assert broker.led()
    assert not broker.fetchers.leaders
    led = broker.replicas.hosted[ORDERS].led
    assert led is not None
    broker.take(changed(leader=OTHER))
    assert broker.fetchers.leaders[ORDERS][1] == 2
    with pytest.raises(NotLeaderError):
        led.append(batch(), required_acks=1)


def test_a_change_of_the_isr_reaches_the_leader_without_another_epoch(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(ME, ME, OTHER))
    before = broker.replicas.hosted[ORDERS]
    broker.take(changed(isr=(ME,)))
    assert broker.replicas.hosted[ORDERS] is before
    assert before.led is not None
    assert before.led.isr == (ME,)


def test_without_a_leader_nobody_is_followed_until_there_is_one(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(OTHER, OTHER, ME))
    broker.take(changed(leader=-1))
    assert not broker.fetchers.leaders
    broker.take(changed(leader=OTHER))
    assert broker.fetchers.leaders[ORDERS][1] == 2


def test_a_leader_that_listens_elsewhere_is_followed_there(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER, 9_093), *made(OTHER, OTHER, ME))
    broker.take(replace(registered(OTHER, 9_094), broker_epoch=99))
    assert broker.fetchers.leaders[ORDERS][0].address.port == 9_094


def test_a_deleted_topic_is_deleted_here_and_one_of_its_name_begins_anew(broker: Broker) -> None:
    broker.take(registered(ME), *made(ME, ME))
    led = broker.replicas.hosted[ORDERS].led
    assert led is not None
    led.append(batch(), required_acks=1)
    other = UUID(int=8_000)
    broker.take(
        RemoveTopicRecord(topic_id=TOPIC),
        TopicRecord(name="orders", topic_id=other),
        PartitionRecord(
            partition_id=0, topic_id=other, replicas=(ME,), isr=(ME,), leader=ME, leader_epoch=0, partition_epoch=0
        ),
    )
    hosted = broker.replicas.hosted[ORDERS]
    assert (hosted.topic_id, hosted.log.log_end_offset) == (other, 0)
    broker.take(RemoveTopicRecord(topic_id=other))
    assert ORDERS not in broker.replicas.hosted
    assert not (broker.root / "orders-0").exists()


def test_a_replica_that_was_moved_away_is_deleted(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(OTHER, OTHER, ME))
    broker.take(changed(replicas=(OTHER,), isr=(OTHER,)))
    assert not broker.replicas.hosted
    assert not broker.fetchers.leaders
    assert not (broker.root / "orders-0").exists()


def test_the_directory_of_an_earlier_topic_is_left_alone_and_the_partition_is_offline(broker: Broker) -> None:
    broker.directories.create(ORDERS, topic_id=UUID(int=6_000))
    broker.take(registered(ME), *made(ME, ME))
    assert ORDERS not in broker.replicas.hosted
    assert ORDERS in broker.replicas.hosted.offline
    assert (broker.root / "orders-0").exists()


def test_a_partition_that_was_offline_is_unknown_once_its_topic_is_deleted(broker: Broker) -> None:
    broker.directories.create(ORDERS, topic_id=UUID(int=6_000))
    broker.take(registered(ME), *made(ME, ME))
    broker.take(RemoveTopicRecord(topic_id=TOPIC))
    assert not broker.replicas.hosted.offline
    assert (broker.root / "orders-0").exists(), "the earlier topic's files are not this one's"


def test_a_replica_that_cannot_be_deleted_is_told(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: TopicPartition) -> None:
        raise OSError(5, "Input/output error")

    broker.take(registered(ME), *made(ME, ME))
    monkeypatch.setattr(broker.directories, "delete", fail)
    broker.take(RemoveTopicRecord(topic_id=TOPIC))
    assert "could not be deleted: [Errno 5] Input/output error" in caplog.text
    assert ORDERS not in broker.replicas.hosted


def test_settings_of_the_topic_come_before_those_of_the_broker(broker: Broker) -> None:
    broker.take(registered(ME), *made(ME, ME))
    log, led = broker.replicas.hosted[ORDERS].log, broker.replicas.hosted[ORDERS].led
    assert isinstance(log, Log)
    assert led is not None
    assert log.config == LogConfig(retention_ms=1_000)
    for name, value in (("retention.ms", "5000"), ("min.insync.replicas", "2")):
        broker.take(ConfigRecord(resource_type=2, resource_name="orders", name=name, value=value))
    assert log.config == LogConfig(retention_ms=5_000)
    assert led.settings.min_insync_replicas == 2


def test_what_lies_on_a_failed_disk_is_offline(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.take(registered(ME), *made(ME, ME))
    led = broker.replicas.hosted[ORDERS].led
    assert led is not None
    assert not broker.replicas.notice_failures()
    monkeypatch.setattr(type(broker.directories.roots[0]), "failure", OSError(5, "Input/output error"))
    assert broker.replicas.notice_failures() == {UUID(int=1_001)}
    assert ORDERS not in broker.replicas.hosted
    assert ORDERS in broker.replicas.hosted.offline
    with pytest.raises(NotLeaderError):
        led.append(batch(), required_acks=1)


def test_many_begin_to_lead_at_once_and_one_that_cannot_is_offline_alone(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 8
    assign, all_there = Log.assign_epoch, Barrier(count)

    def assign_together(self: Log, epoch: int, start_offset: int) -> None:
        all_there.wait(20)
        if self.directory.name == "orders-3":
            raise OSError("the disk is full")
        assign(self, epoch, start_offset)

    monkeypatch.setattr(Log, "assign_epoch", assign_together)
    topic, first = made(ME, ME, epoch=4)
    assert isinstance(first, PartitionRecord)
    broker.take(registered(ME), topic, *(replace(first, partition_id=number) for number in range(count)))
    led = {each.partition for each, hosted in broker.replicas.hosted.items() if hosted.led is not None}
    assert led == set(range(count)) - {3}
    assert broker.replicas.hosted.offline == {TopicPartition("orders", 3)}
