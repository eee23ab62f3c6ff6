"""Kafka's clients as consumers of groups: each reads so many records of topics, commits them, and leaves."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer

from logstore import TopicPartition
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.serving.clients import SECONDS

Read = dict[TopicPartition, list[int]]
"""Offsets in the order in which they came."""
Subscriber = Callable[[str, str, Sequence[str], int], Read]
"""Reads as a group, from what it has committed, else from the first offset on."""


def confluent_kafka(bootstrap: str, group: str, topics: Sequence[str], count: int) -> Read:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
        }
    )
    consumer.subscribe(list(topics))
    read: Read = defaultdict(list)
    try:
        for _ in range(count):
            message = consumer.poll(SECONDS)
            assert message is not None, f"nothing came for {SECONDS} s"
            assert message.error() is None
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            read[TopicPartition(topic, partition)].append(offset)
        ends = [ConfluentPartition(*each, offsets[-1] + 1) for each, offsets in read.items()]
        consumer.commit(offsets=ends, asynchronous=False)
        return read
    finally:
        consumer.close()


def kafka_python(bootstrap: str, group: str, topics: Sequence[str], count: int) -> Read:
    consumer = KafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        consumer_timeout_ms=SECONDS * 1_000,
    )
    read: Read = defaultdict(list)
    try:
        for _, record in zip(range(count), consumer, strict=False):
            read[TopicPartition(record.topic, record.partition)].append(record.offset)
        consumer.commit()
        return read
    finally:
        consumer.close()


def aiokafka(bootstrap: str, group: str, topics: Sequence[str], count: int) -> Read:
    async def read_on() -> Read:
        consumer = AIOKafkaConsumer(*topics, bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest")
        await consumer.start()
        read: Read = defaultdict(list)
        try:
            for _ in range(count):
                record = await asyncio.wait_for(consumer.getone(), SECONDS)
                read[TopicPartition(record.topic, record.partition)].append(record.offset)
            await consumer.commit()
            return read
        finally:
            await consumer.stop()

    return asyncio.run(read_on())


def in_java(java: JavaProgram) -> Subscriber:
    """Return the Java client's way."""

    def subscribe(bootstrap: str, group: str, topics: Sequence[str], count: int) -> Read:
        asked = f"subscribe {group} {count} earliest {' '.join(topics)}"
        told = java.ask(f"connect {bootstrap}", asked)[1]
        read: Read = defaultdict(list)
        for each in told.split():
            topic, partition, offset = each.split(":")
            read[TopicPartition(topic, int(partition))].append(int(offset))
        return read

    return subscribe


SUBSCRIBERS: dict[str, Subscriber] = {
    "confluent-kafka": confluent_kafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
