"""Whatever fails in between, the next run does the rest."""

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from logstore.topic_partition import TopicPartition
from replication.copies.salvage.cluster import salvage_producer
from replication.copies.salvage.cluster.connection import Connection
from replication.copies.salvage.cluster.partition_writing import Message
from replication.copies.salvage.cluster.salvage_producer import SalvageProducer
from replication.copies.salvage.cluster.target_cluster import TargetCluster
from replication.copies.salvage.cluster.written_records import WrittenRecords
from replication.copies.salvage.salvage_plan import SalvagePlan
from replication.salvage import ClusterError, TransactionSize, plan_salvage, produce
from tests.oracle.broker import Broker
from tests.oracle.release import KafkaRelease
from tests.replication.copies.salvage.cluster.target import Target
from tests.replication.copies.salvage.copies import data, write_copy

VALUES = [b"%d" % number for number in range(10)]
ONE_EACH = TransactionSize(records=1)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, release: KafkaRelease) -> Iterator[Broker]:
    with Broker(tmp_path_factory.mktemp("target"), release) as running:
        yield running


@pytest.fixture
def target(broker: Broker) -> Target:
    return Target(broker.address)


@pytest.fixture
def plan(tmp_path: Path) -> SalvagePlan:
    common = data(0, b"common")
    losing = [common, *(data(1, value) for value in VALUES)]
    return plan_salvage(
        [write_copy(tmp_path / "broker-0", [common]), write_copy(tmp_path / "broker-1", losing)], "broker-0"
    )


def message(value: bytes | None) -> Message:
    return value, None, 1_000, []


def test_one_run_at_a_time_writes(plan: SalvagePlan, target: Target) -> None:
    topic = target.create("fenced")
    first = SalvageProducer(Connection(target.client), 100, 1_000_000)
    first.fence()
    first.write([message(b"0")], TopicPartition(topic, 0))
    assert produce(plan, target.client, to_topic=topic).written == 10
    with pytest.raises(ClusterError, match="either another run of salvage has begun since"):
        first.commit()
    first.close()
    assert target.values(topic) == VALUES


def test_what_was_not_committed_is_written_again(plan: SalvagePlan, target: Target) -> None:
    topic = target.create("dropped")
    dropped = SalvageProducer(Connection(target.client), 100, 1_000_000)
    dropped.fence()
    dropped.write([message(record.value) for record in plan.records()], TopicPartition(topic, 0))
    dropped.close()
    assert produce(plan, target.client, to_topic=topic).written == 10
    assert target.values(topic) == VALUES


def test_behind_a_transaction_that_somebody_has_open_it_is_not_known_what_is_there(
    plan: SalvagePlan, target: Target
) -> None:
    topic = target.create("held-up")
    target.write(topic, [b"before"])
    somebody = Producer({**target.client, "transactional.id": "somebody"})
    somebody.init_transactions(60)
    somebody.begin_transaction()
    somebody.produce(topic, b"open", partition=0)
    somebody.flush(60)
    connection = Connection(target.client)
    written = WrittenRecords(connection, TargetCluster(connection), patience=1)
    with pytest.raises(ClusterError, match="held-up-0: a transaction has been open since offset 1"):
        list(written.provenances(topic, 0, None))
    written.close()
    somebody.commit_transaction(60)
    assert produce(plan, target.client, to_topic=topic).written == 10
    assert target.values(topic) == [b"before", b"open", *VALUES]


def test_a_topic_that_was_given_other_settings_since(plan: SalvagePlan, target: Target) -> None:
    """What a broker refuses all the same ends the transaction, with its reason."""
    topic = target.create("too-small", max_message_bytes=1_000)
    producer = SalvageProducer(Connection(target.client), 5_000, 1_000_000)
    producer.fence()
    producer.write([message(b"0"), message(bytes(2_000))], TopicPartition(topic, 0))
    with pytest.raises(ClusterError, match=r"too-small-0 refused a record: .*too large"):
        producer.commit()
    producer.close()
    assert target.values(topic) == []
    assert produce(plan, target.client, to_topic=topic).written == 10


def test_the_cluster_fails_in_between(
    plan: SalvagePlan, target: Target, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = target.create("interrupted")
    monkeypatch.setattr(salvage_producer, "_SECONDS_TO_COMMIT", 3.0)
    write = SalvageProducer.write

    def write_until_it_fails(producer: SalvageProducer, messages: Iterable[Message], target: TopicPartition) -> None:
        messages = list(messages)
        if any(value == b"6" for value, *_ in messages):
            time.sleep(1)  # so that the marker of the transaction before is there, too: Kafka may lose it else
            broker.kill()
        write(producer, messages, target)

    with monkeypatch.context() as patched:
        patched.setattr(SalvageProducer, "write", write_until_it_fails)
        with pytest.raises(ClusterError) as told:
            produce(plan, target.client, to_topic=topic, size=ONE_EACH, timeout=3)
    assert told.value.__notes__ == ["6 records were written before that; run the same again for the rest"]
    with broker:
        done = produce(plan, target.client, to_topic=topic)
        assert (done.written, done.already_there) == (4, 6)
        assert target.values(topic) == VALUES
