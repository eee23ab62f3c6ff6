"""A broker's logs follow the metadata: made, led, followed, deleted."""

import errno
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from uuid import UUID

import pytest

from epoch.filesystem import REAL, FileSystem
from logstore import Log, LogConfig, TopicPartition
from logstore.files.partition_metadata import PartitionMetadata
from replication.cluster.broker.errors import NotLeaderError
from replication.cluster.fetcher.fetcher_manager import LeaderAddress
from replication.records.metadata.records import (
    ConfigRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from replication.wire.addresses import Address
from tests.replication.cluster.broker.replicas.managed_broker import (
    EARLIER,
    EPOCH,
    ME,
    ORDERS,
    OTHER,
    TOPIC,
    Broker,
    batch,
    changed,
    made,
    registered,
    strays,
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.replicas.close()
    broker.directories.close()


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


def test_the_directory_of_an_earlier_topic_is_set_aside_and_the_partition_begins_anew(broker: Broker) -> None:
    broker.directories.create(ORDERS, topic_id=EARLIER).append([b"earlier"])
    broker.take(registered(ME), *made(ME, ME))
    assert broker.led()
    assert broker.replicas.hosted[ORDERS].log.log_end_offset == 0
    (stray,) = strays(broker)
    with Log.reader(stray) as log:
        assert [each.value for each in log.records()] == [b"earlier"]


@pytest.mark.parametrize("replicas", [(OTHER,), (OTHER, ME)], ids=["moved away", "still here"])
def test_a_replica_that_is_not_this_brokers_any_more_is_set_aside(broker: Broker, replicas: tuple[int, ...]) -> None:
    broker.directories.create(ORDERS, topic_id=TOPIC)
    broker.take(registered(ME), registered(OTHER), *made(OTHER, *replicas))
    is_here = ME in replicas
    assert (ORDERS in broker.replicas.hosted, (broker.root / "orders-0").exists()) == (is_here, is_here)
    assert len(strays(broker)) == (not is_here)


def test_what_has_no_topic_id_is_taken_for_the_topic_of_its_name(broker: Broker) -> None:
    broker.directories.create(ORDERS).append([b"kept"])
    broker.directories.create(TopicPartition("gone", 0))
    broker.take(registered(ME), *made(ME, ME))
    assert broker.replicas.hosted[ORDERS].log.log_end_offset == 1
    assert [path.name.partition(".")[0] for path in strays(broker)] == ["gone-0"]


def test_as_long_as_the_metadata_may_be_older_than_this_start_nothing_is_set_aside(broker: Broker) -> None:
    broker.directories.create(ORDERS, topic_id=EARLIER)
    broker.directories.create(TopicPartition("unknown", 0), topic_id=EARLIER)
    broker.take(replace(registered(ME), broker_epoch=EPOCH - 1), *made(ME, ME))
    assert broker.replicas.hosted.offline == {ORDERS}
    assert not strays(broker)
    broker.take(registered(ME))
    assert broker.led()
    assert not broker.replicas.hosted.offline
    assert len(strays(broker)) == 2


def test_a_stray_that_cannot_be_renamed_takes_its_own_partition_offline(
    broker: Broker, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    broker.directories.create(ORDERS, topic_id=EARLIER)
    monkeypatch.setattr(broker.directories.roots[0], "set_aside_stray", fail)
    broker.take(registered(ME), *made(ME, ME))
    assert broker.replicas.hosted.offline == {ORDERS}
    assert "not to be set aside: [Errno 28]" in caplog.text


def test_a_partition_that_was_offline_is_unknown_once_its_topic_is_deleted(broker: Broker) -> None:
    broker.directories.create(ORDERS, topic_id=EARLIER)
    broker.take(replace(registered(ME), broker_epoch=EPOCH - 1), *made(ME, ME))
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
    assert log.config == LogConfig(retention_ms=1_000, remote_storage_enable=False)
    for name, value in (("retention.ms", "5000"), ("min.insync.replicas", "2")):
        broker.take(ConfigRecord(resource_type=2, resource_name="orders", name=name, value=value))
    assert log.config == LogConfig(retention_ms=5_000, remote_storage_enable=False)
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


def test_many_logs_are_made_at_once_and_one_that_cannot_be_is_offline_alone(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 8
    write, all_there, begun = PartitionMetadata.write, Barrier(count), set[Path]()

    def write_together(self: PartitionMetadata, path: Path, filesystem: FileSystem = REAL) -> None:
        if path not in begun:
            begun.add(path)
            all_there.wait(20)
        if path.parent.name == "orders-3":
            raise OSError(errno.ENOSPC, "the disk is full")
        write(self, path, filesystem)

    broker.take(registered(ME), registered(OTHER))
    monkeypatch.setattr(PartitionMetadata, "write", write_together)
    topic, first = made(OTHER, ME, OTHER)
    assert isinstance(first, PartitionRecord)
    broker.take(topic, *(replace(first, partition_id=number) for number in range(count)))
    assert {each.partition for each in broker.replicas.hosted} == set(range(count)) - {3}
    assert broker.replicas.hosted.offline == {TopicPartition("orders", 3)}
