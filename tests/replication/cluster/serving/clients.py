"""Kafka's clients, each of which reads partitions from their first offsets to their ends."""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

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


Reader = Callable[[str, list[TopicPartition], bool], dict[TopicPartition, list[Seen]]]
"""Reads partitions from a bootstrap address; committed records alone, or all."""


def confluent_kafka(
    bootstrap: str, partitions: list[TopicPartition], committed: bool
) -> dict[TopicPartition, list[Seen]]:
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
    consumer.assign([ConfluentPartition(*each, OFFSET_BEGINNING) for each in partitions])
    seen: dict[TopicPartition, list[Seen]] = {each: [] for each in partitions}
    at_end: set[TopicPartition] = set()
    try:
        while len(at_end) < len(partitions):
            message = consumer.poll(SECONDS)
            assert message is not None, f"nothing came for {SECONDS} s; {len(at_end)} of {len(partitions)} are read"
            partition = TopicPartition(message.topic(), message.partition())
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                at_end.add(partition)
                continue
            headers = tuple(message.headers() or ())
            seen[partition].append(
                Seen(message.offset(), message.timestamp()[1], message.key(), message.value(), headers)
            )
        return seen
    finally:
        consumer.close()


def kafka_python(bootstrap: str, partitions: list[TopicPartition], committed: bool) -> dict[TopicPartition, list[Seen]]:
    asked = [PythonPartition(*each) for each in partitions]
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=None, isolation_level=LEVELS[committed], check_crcs=True
    )
    try:
        consumer.assign(asked)
        consumer.seek_to_beginning(*asked)
        ends = consumer.end_offsets(asked)
        seen: dict[TopicPartition, list[Seen]] = {each: [] for each in partitions}
        while any(consumer.position(each) < end for each, end in ends.items()):
            for partition, records in consumer.poll(timeout_ms=1_000).items():
                seen[TopicPartition(*partition)] += map(_seen, records)
        return seen
    finally:
        consumer.close()


def aiokafka(bootstrap: str, partitions: list[TopicPartition], committed: bool) -> dict[TopicPartition, list[Seen]]:
    return asyncio.run(_aiokafka(bootstrap, partitions, committed))


async def _aiokafka(
    bootstrap: str, partitions: list[TopicPartition], committed: bool
) -> dict[TopicPartition, list[Seen]]:
    asked = [AioPartition(*each) for each in partitions]
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, isolation_level=LEVELS[committed], check_crcs=True)
    await consumer.start()
    try:
        consumer.assign(asked)
        await consumer.seek_to_beginning(*asked)
        ends = await consumer.end_offsets(asked)
        seen: dict[TopicPartition, list[Seen]] = {each: [] for each in partitions}
        while [each for each, end in ends.items() if await consumer.position(each) < end]:
            for partition, records in (await consumer.getmany(timeout_ms=1_000)).items():
                seen[TopicPartition(*partition)] += map(_seen, records)
        return seen
    finally:
        await consumer.stop()


def _seen(record: Any) -> Seen:
    return Seen(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))


READERS: dict[str, Reader] = {
    "confluent-kafka": confluent_kafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
