"""A follower of a real broker: what it copies, and how it tells what it cannot."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

import replication
from logstore import Log, LogConfig, Record, TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.cluster.fetcher.errors import (
    FollowingFailedError,
    NotCaughtUpError,
    OtherPartitionError,
    PartitionNotFoundError,
)
from replication.wire.errors import NoBrokerError
from tests.oracle.broker import Broker, free_port
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.mirror.wire_leader import WireLeader

PATIENCE = 120
CONFIG = LogConfig(segment_bytes=20_000)
"""Other segments than the broker's: answers are larger than one of them."""


def open_log(root: Path, partition: TopicPartition) -> Log:
    return Log.open(root / str(partition), CONFIG, replicated=True)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("broker"), release) as broker:
        yield broker


def create(broker: Broker, topic: str, partitions: int = 1) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    for made in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        made.result(PATIENCE)


def delete(broker: Broker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.address})
    for gone in admin.delete_topics([topic]).values():
        gone.result(PATIENCE)


def produce(broker: Broker, partition: TopicPartition, count: int, codec: str = "none") -> None:
    """Write records with some idempotent producer: batches have sequence numbers and a producer id."""
    settings = {"bootstrap.servers": broker.address, "compression.type": codec, "enable.idempotence": True}
    producer = Producer({**settings, "batch.num.messages": 100, "linger.ms": 5})
    for number in range(count):
        producer.produce(partition.topic, b"value %d" % number * 9, b"key %d" % number, partition=partition.partition)
    assert producer.flush(PATIENCE) == 0


def assert_identical(broker: Broker, partition: TopicPartition, log: Log) -> None:
    """Byte for byte, and in the same epochs."""
    theirs = broker.root / str(partition)
    written = b"".join(path.read_bytes() for path in sorted(theirs.glob("*.log")))
    ours = b"".join(path.read_bytes() for path in sorted(log.directory.glob("*.log")))
    assert len(ours) > 0
    assert ours == written
    checkpoint = "leader-epoch-checkpoint"
    assert (log.directory / checkpoint).read_text() == (theirs / checkpoint).read_text()


def test_a_copy_is_identical_and_stays_so(broker: Broker, tmp_path: Path) -> None:
    first, second = TopicPartition("orders", 0), TopicPartition("orders", 1)
    create(broker, "orders", 2)
    produce(broker, first, 3_000, "lz4")
    produce(broker, second, 500)
    with (
        open_log(tmp_path, first) as log,
        open_log(tmp_path, second) as other,
        replication.Follower(broker.address, first, log) as follower,
    ):
        follower.catch_up(PATIENCE)
        assert_identical(broker, first, log)
        assert log.high_watermark == log.log_end_offset == 3_000
        assert follower.lag == 0
        follower.follow(second, other)
        produce(broker, first, 2_000, "zstd")
        follower.catch_up(PATIENCE)
        assert_identical(broker, first, log)
        assert_identical(broker, second, other)
        assert {each.phase for each in follower.states.values()} == {Phase.FETCHING}


def test_a_follower_goes_on_where_it_was(broker: Broker, tmp_path: Path) -> None:
    partition = TopicPartition("resumed", 0)
    create(broker, "resumed")
    for count in (100, 200):
        produce(broker, partition, count)
        with open_log(tmp_path, partition) as log:
            with replication.Follower(broker.address, partition, log) as follower:
                follower.catch_up(PATIENCE)
            assert_identical(broker, partition, log)


def test_a_copy_that_is_damaged_ends_there_and_is_fetched_again(broker: Broker, tmp_path: Path) -> None:
    partition = TopicPartition("damaged", 0)
    create(broker, "damaged")
    produce(broker, partition, 300)
    log = open_log(tmp_path, partition)
    with replication.Follower(broker.address, partition, log) as follower:
        follower.catch_up(PATIENCE)
    log.flush()
    log.abandon()
    path = log.segments[-1].path
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with open_log(tmp_path, partition) as log:
        assert log.report.dropped
        assert log.log_end_offset < 300
        with replication.Follower(broker.address, partition, log) as follower:
            follower.catch_up(PATIENCE)
        assert_identical(broker, partition, log)


def test_records_that_the_cluster_does_not_have_are_cut(broker: Broker, tmp_path: Path) -> None:
    partition = TopicPartition("cut", 0)
    create(broker, "cut")
    produce(broker, partition, 100)
    with open_log(tmp_path, partition) as log:
        with replication.Follower(broker.address, partition, log) as follower:
            follower.catch_up(PATIENCE)
        extra = bytearray(log.read(0, 1).data)
        extra[:8] = (100).to_bytes(8)
        log.append_batches(extra)
        assert log.log_end_offset > 100
        with replication.Follower(broker.address, partition, log) as follower:
            follower.catch_up(PATIENCE)
        assert_identical(broker, partition, log)


def test_another_topic_of_the_same_name_is_not_mixed_in(broker: Broker, tmp_path: Path) -> None:
    partition = TopicPartition("recreated", 0)
    create(broker, "recreated")
    produce(broker, partition, 10)
    with (
        open_log(tmp_path, partition) as log,
        replication.Follower(broker.address, partition, log) as follower,
    ):
        follower.catch_up(PATIENCE)
        delete(broker, "recreated")
        create(broker, "recreated")
        produce(broker, partition, 20)
        bounded = threading.Timer(PATIENCE, follower.stop)
        bounded.start()
        with pytest.raises(FollowingFailedError, match="deleted and created again"):
            follower.run()
        bounded.cancel()
        assert log.log_end_offset == 10


def test_a_topic_that_was_created_again_while_nobody_followed_is_not_mixed_in_either(tmp_path: Path) -> None:
    partition = TopicPartition("recreated", 0)
    (tmp_path / "leader").mkdir()
    with WireLeader() as leader, open_log(tmp_path / "leader", partition) as led, open_log(tmp_path, partition) as log:
        led.append([Record.of(b"1")], leader_epoch=0)
        led.update_high_watermark(1)
        leader.lead(partition, led, 0)
        with replication.Follower(leader.bootstrap, partition, log) as follower:
            follower.catch_up(PATIENCE)
        leader.recreate("recreated")
        led.append([Record.of(b"2")], leader_epoch=0)
        led.update_high_watermark(2)
        with (
            replication.Follower(leader.bootstrap, partition, log) as follower,
            pytest.raises(FollowingFailedError, match="deleted and created again"),
        ):
            follower.catch_up(PATIENCE)
        assert log.log_end_offset == 1


def test_a_topic_that_does_not_exist_is_named(broker: Broker, tmp_path: Path) -> None:
    partition = TopicPartition("nowhere", 0)
    with (
        open_log(tmp_path, partition) as log,
        pytest.raises(PartitionNotFoundError, match=r"nowhere-0: the cluster at 127\.0\.0\.1"),
        replication.Follower(broker.address, partition, log),
    ):
        pass


def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path) -> None:
    partition = TopicPartition("orders", 0)
    with (
        open_log(tmp_path, partition) as log,
        pytest.raises(NoBrokerError, match=r"no broker answers: 127\.0\.0\.1"),
        replication.Follower(f"127.0.0.1:{free_port()}", partition, log),
    ):
        pass


def test_run_ends_when_it_is_told_to(broker: Broker, tmp_path: Path) -> None:
    partition = TopicPartition("running", 0)
    create(broker, "running")
    produce(broker, partition, 10)
    with (
        open_log(tmp_path, partition) as log,
        replication.Follower(broker.address, partition, log) as follower,
    ):
        runner = threading.Thread(target=follower.run)
        runner.start()
        follower.catch_up(PATIENCE)
        follower.stop()
        runner.join(PATIENCE)
        assert not runner.is_alive()


def test_a_broker_that_comes_back_is_followed_on(tmp_path: Path, release: KafkaRelease) -> None:
    partition = TopicPartition("orders", 0)
    directory = tmp_path / "broker"
    directory.mkdir()
    broker = Broker(directory, release)
    with open_log(tmp_path, partition) as log:
        with broker:
            create(broker, "orders")
            produce(broker, partition, 100)
            follower = replication.Follower(broker.address, partition, log)
            follower.start()
            follower.catch_up(PATIENCE)
        try:
            with pytest.raises(NotCaughtUpError, match="orders-0 has not caught up within 0 s"):
                follower.catch_up(0)
            with broker:
                produce(broker, partition, 100)
                follower.catch_up(PATIENCE)
                assert_identical(broker, partition, log)
        finally:
            follower.close()


def test_a_log_of_another_partition_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with (
        open_log(tmp_path, TopicPartition("orders", 1)) as log,
        pytest.raises(OtherPartitionError, match=r"not a log of orders-0; use the directory .*/orders-0"),
    ):
        replication.Follower(f"127.0.0.1:{free_port()}", TopicPartition("orders", 0), log)
