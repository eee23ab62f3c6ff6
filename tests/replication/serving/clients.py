"""Kafka's clients, each of which reads a partition from its first offset to its end."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from logstore import TopicPartition

SECONDS = 30
LEVELS = {True: "read_committed", False: "read_uncommitted"}


class Seen(NamedTuple):
    """A record as a client has it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


Reader = Callable[[str, TopicPartition, bool], list[Seen]]
"""Reads a partition from a bootstrap address; committed records alone, or all."""


def confluent_kafka(bootstrap: str, partition: TopicPartition, committed: bool) -> list[Seen]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": LEVELS[committed],
            "check.crcs": True,
        }
    )
    consumer.assign([ConfluentPartition(*partition, OFFSET_BEGINNING)])
    seen = []
    try:
        while True:
            message = consumer.poll(SECONDS)
            assert message is not None, f"nothing came of {partition} for {SECONDS} s"
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                return seen
            headers = tuple(message.headers() or ())
            seen.append(Seen(message.offset(), message.timestamp()[1], message.key(), message.value(), headers))
    finally:
        consumer.close()


def kafka_python(bootstrap: str, partition: TopicPartition, committed: bool) -> list[Seen]:
    asked = PythonPartition(*partition)
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=None, isolation_level=LEVELS[committed], check_crcs=True
    )
    try:
        consumer.assign([asked])
        consumer.seek_to_beginning(asked)
        end = consumer.end_offsets([asked])[asked]
        seen = []
        while consumer.position(asked) < end:
            for records in consumer.poll(timeout_ms=SECONDS * 1_000).values():
                seen += [
                    Seen(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in records
                ]
        return seen
    finally:
        consumer.close()


def aiokafka(bootstrap: str, partition: TopicPartition, committed: bool) -> list[Seen]:
    return asyncio.run(_aiokafka(bootstrap, partition, committed))


async def _aiokafka(bootstrap: str, partition: TopicPartition, committed: bool) -> list[Seen]:
    asked = AioPartition(*partition)
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=LEVELS[committed], check_crcs=True)
    await consumer.start()
    try:
        consumer.assign([asked])
        await consumer.seek_to_beginning(asked)
        end = (await consumer.end_offsets([asked]))[asked]
        seen = []
        while await consumer.position(asked) < end:
            for records in (await consumer.getmany(asked, timeout_ms=1_000)).values():
                seen += [
                    Seen(each.offset, each.timestamp, each.key, each.value, tuple(each.headers)) for each in records
                ]
        return seen
    finally:
        await consumer.stop()


READERS: dict[str, Reader] = {
    "confluent-kafka": confluent_kafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
