"""Real producers write to a server that answers by these requests, and find what they wrote."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from kafka import KafkaProducer

from logstore import Header
from replication.cluster.broker.requests.cluster.features import features_of
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.broker.requests.writing_apis import writing_apis
from replication.wire.addresses import Address
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.server import Server
from tests.replication.cluster.broker.requests.small_broker import ORDERS, TOPIC, broker_record
from tests.replication.cluster.broker.requests.writing.leading import FOLLOWER, WritingBroker
from tests.replication.cluster.serving.clients import READERS

SECONDS = 60
CODECS = pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])


class Blocks:
    def next_block(self) -> range:
        return range(5_000, 6_000)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[WritingBroker]:
    leading = WritingBroker(tmp_path, producer_ids=Blocks())
    yield leading
    leading.close()


@pytest.fixture
def bootstrap(broker: WritingBroker) -> Iterator[str]:
    """The address of a server that answers for the broker."""
    with Server([ListenerSettings(address=Address("127.0.0.1", 0))]) as server:
        address = server.addresses["PLAINTEXT"]
        broker.tell(*(broker_record(each, host=address.host, PLAINTEXT=address.port) for each in (1, 2)))
        reading = reading_apis(broker.partitions, broker.cluster)
        server.start(
            {**reading, **writing_apis(broker.partitions, broker.cluster, **broker.seams)},
            lambda: features_of(broker.cluster),
        )
        yield str(address)


def produce(bootstrap: str, count: int, **settings: Any) -> list[tuple[KafkaError | None, int | None]]:
    """Send that many records, and return what became of each."""
    told: list[tuple[KafkaError | None, int | None]] = []

    def note(error: KafkaError | None, message: Message) -> None:
        told.append((error, message.offset()))

    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **settings})
    for number in range(count):
        producer.produce(TOPIC, b"v%d" % number * 20, b"k%d" % (number % 3), ORDERS.partition, note, number + 1)
        producer.poll(0)
    assert producer.flush(SECONDS) == 0
    return told


@CODECS
@pytest.mark.parametrize("is_idempotent", [False, True], ids=["plain", "idempotent"])
def test_what_librdkafka_writes_is_read(
    broker: WritingBroker, bootstrap: str, codec: str, *, is_idempotent: bool
) -> None:
    settings = {"compression.type": codec, "enable.idempotence": is_idempotent}
    assert produce(bootstrap, 500, **settings) == [(None, each) for each in range(500)]
    assert [each.value for each in broker.log.records()] == [b"v%d" % each * 20 for each in range(500)]
    assert [each.producer_id for each in broker.log.producers] == ([5_000] if is_idempotent else [])
    seen = READERS["confluent-kafka"](bootstrap, [ORDERS], False)[ORDERS]
    assert [(each.offset, each.value) for each in seen] == [
        (record.offset, record.value) for record in broker.log.records()
    ]


def kafka_python(bootstrap: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, compression_type="lz4")
    for number in range(200):
        producer.send(TOPIC, b"v%d" % number, partition=0, headers=[("h", b"x")])
    producer.flush(SECONDS)
    producer.close(SECONDS)


def aiokafka(bootstrap: str) -> None:
    async def send() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, compression_type="zstd")
        async with producer:
            for number in range(200):
                await producer.send(TOPIC, b"v%d" % number, partition=0, headers=[("h", b"x")])
            await producer.flush()

    asyncio.run(send())


@pytest.mark.parametrize("client", [kafka_python, aiokafka])
def test_what_other_clients_write_is_in_the_log_once_and_in_order(
    broker: WritingBroker, bootstrap: str, client: Callable[[str], None]
) -> None:
    client(bootstrap)
    assert [(each.value, each.headers) for each in broker.log.records()] == [
        (b"v%d" % number, (Header("h", b"x"),)) for number in range(200)
    ]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_each_kind_of_acknowledgement_is_given(broker: WritingBroker, bootstrap: str, acks: str) -> None:
    told = produce(bootstrap, 50, acks=acks)
    assert [error for error, _ in told] == [None] * 50
    assert broker.log.wait(49, SECONDS)
    assert broker.log.log_end_offset == 50


def test_acks_of_all_wait_for_the_follower(broker: WritingBroker, bootstrap: str) -> None:
    broker.lead(ORDERS, FOLLOWER)
    timer = Timer(0.5, lambda: broker.follow(broker.log.log_end_offset))
    timer.start()
    assert produce(bootstrap, 1, acks="all") == [(None, 0)]
    timer.join()
    assert broker.log.high_watermark == 1


def test_a_refused_record_is_told_to_its_producer(broker: WritingBroker, bootstrap: str) -> None:
    told: list[KafkaError | None] = []
    producer = Producer({"bootstrap.servers": bootstrap, "message.max.bytes": 3_000_000})
    producer.produce(TOPIC, bytes(2_000_000), partition=0, on_delivery=lambda error, _: told.append(error))
    assert producer.flush(SECONDS) == 0
    (error,) = told
    assert error is not None
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert broker.log.log_end_offset == 0


def test_a_transactional_producer_finds_no_coordinator(bootstrap: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
    with pytest.raises(KafkaException):
        producer.init_transactions(3)
