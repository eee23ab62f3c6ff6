"""Kafka's clients, each of which seeks in a partition, and reads as a member of a group."""

import asyncio
from collections.abc import Callable
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, Message
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from logstore import TopicPartition
from tests.replication.cluster.serving.clients import SECONDS, Seen

Seeker = Callable[[str, TopicPartition, int, int], tuple[Seen, Seen]]
"""Returns the record at an offset, and then the first one that is not earlier than a time in milliseconds."""
Member = Callable[[str, str, int], list[Seen]]
"""Joins a group, reads so many records of a topic, commits behind them and leaves."""


def _confluent_seeks(bootstrap: str, partition: TopicPartition, offset: int, time_ms: int) -> tuple[Seen, Seen]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})
    try:
        consumer.assign([ConfluentPartition(*partition, offset)])
        first = _polled(consumer)
        (found,) = consumer.offsets_for_times([ConfluentPartition(*partition, time_ms)], SECONDS)
        consumer.seek(found)
        return first, _polled(consumer)
    finally:
        consumer.close()


def _python_seeks(bootstrap: str, partition: TopicPartition, offset: int, time_ms: int) -> tuple[Seen, Seen]:
    asked = PythonPartition(*partition)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=SECONDS * 1_000)
    try:
        consumer.assign([asked])
        consumer.seek(asked, offset)
        first = next(consumer)
        consumer.seek(asked, consumer.offsets_for_times({asked: time_ms})[asked].offset)
        return _seen(first), _seen(next(consumer))
    finally:
        consumer.close()


def _aio_seeks(bootstrap: str, partition: TopicPartition, offset: int, time_ms: int) -> tuple[Seen, Seen]:
    async def seek() -> tuple[Seen, Seen]:
        asked = AioPartition(*partition)
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
            consumer.assign([asked])
            consumer.seek(asked, offset)
            first = await asyncio.wait_for(consumer.getone(), SECONDS)
            consumer.seek(asked, (await consumer.offsets_for_times({asked: time_ms}))[asked].offset)
            return _seen(first), _seen(await asyncio.wait_for(consumer.getone(), SECONDS))

    return asyncio.run(seek())


def _confluent_joins(bootstrap: str, topic: str, count: int) -> list[Seen]:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "confluent",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
        }
    )
    consumer.subscribe([topic])
    try:
        read = [_polled(consumer) for _ in range(count)]
        consumer.commit(offsets=[ConfluentPartition(topic, 0, read[-1].offset + 1)], asynchronous=False)
        return read
    finally:
        consumer.close()


def _python_joins(bootstrap: str, topic: str, count: int) -> list[Seen]:
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id="python",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        consumer_timeout_ms=SECONDS * 1_000,
    )
    try:
        read = [_seen(next(consumer)) for _ in range(count)]
        consumer.commit()
        return read
    finally:
        consumer.close()


def _aio_joins(bootstrap: str, topic: str, count: int) -> list[Seen]:
    async def join() -> list[Seen]:
        settings: dict[str, Any] = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        async with AIOKafkaConsumer(topic, bootstrap_servers=bootstrap, group_id="aio", **settings) as consumer:
            read = [_seen(await asyncio.wait_for(consumer.getone(), SECONDS)) for _ in range(count)]
            await consumer.commit()
            return read

    return asyncio.run(join())


def _polled(consumer: Consumer) -> Seen:
    message = consumer.poll(SECONDS)
    assert message is not None, f"nothing came for {SECONDS} s"
    assert message.error() is None, message.error()
    return _confluent_seen(message)


def _confluent_seen(message: Message) -> Seen:
    return Seen(
        message.offset() or 0,
        message.timestamp()[1],
        message.key(),
        message.value(),
        tuple(message.headers() or ()),
    )


def _seen(record: Any) -> Seen:
    return Seen(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))


SEEKERS: dict[str, Seeker] = {
    "confluent-kafka": _confluent_seeks,
    "kafka-python": _python_seeks,
    "aiokafka": _aio_seeks,
}
MEMBERS: dict[str, Member] = {
    "confluent-kafka": _confluent_joins,
    "kafka-python": _python_joins,
    "aiokafka": _aio_joins,
}
