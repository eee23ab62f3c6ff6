"""Kafka's clients, each of which looks up offsets by time, and reads on from positions that it holds in an epoch."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import Consumer, KafkaError, Message
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from logstore import TopicPartition
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.serving.clients import SECONDS

EARLIEST, NO_POLICY = "earliest", "none"
"""What a consumer does whose position is gone: begin anew, or tell its program."""


class Position(NamedTuple):
    """Where a consumer wants to read on, and in which epoch it got the record before."""

    offset: int
    epoch: int


class Truncated(NamedTuple):
    """A consumer was told that what it had read is gone, and from which offset on."""

    offset: int


Times = Mapping[TopicPartition, int]
Found = dict[TopicPartition, int | None]
TimeSeeker = Callable[[str, Sequence[Times]], list[Found]]
"""Looks up the first offsets that are not earlier than such times."""
PositionSeeker = Callable[[str, TopicPartition, Position, str], int | Truncated]
"""Reads on, and returns the offset of the first record that it gets."""


# --- by time


def times_of_confluent_kafka(bootstrap: str, times: Sequence[Times]) -> list[Found]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": "read_uncommitted"})
    try:
        return [
            _found(consumer.offsets_for_times([ConfluentPartition(*each, at[each]) for each in at])) for at in times
        ]
    finally:
        consumer.close()


def _found(told: list[ConfluentPartition]) -> Found:
    assert not any(each.error for each in told)
    return {TopicPartition(each.topic, each.partition): each.offset if each.offset >= 0 else None for each in told}


def times_of_kafka_python(bootstrap: str, times: Sequence[Times]) -> list[Found]:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap)
    try:
        return [
            _offsets(consumer.offsets_for_times({PythonPartition(*each): time for each, time in at.items()}))
            for at in times
        ]
    finally:
        consumer.close()


def times_of_aiokafka(bootstrap: str, times: Sequence[Times]) -> list[Found]:
    async def look_up() -> list[Found]:
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
        await consumer.start()
        try:
            return [
                _offsets(await consumer.offsets_for_times({AioPartition(*each): time for each, time in at.items()}))
                for at in times
            ]
        finally:
            await consumer.stop()

    return asyncio.run(look_up())


def _offsets(told: Mapping[Any, Any]) -> Found:
    return {TopicPartition(*each): found.offset if found else None for each, found in told.items()}


def times_of_java(java: JavaProgram) -> TimeSeeker:
    """Return the Java client's way."""

    def look_up(bootstrap: str, times: Sequence[Times]) -> list[Found]:
        java.ask(f"connect {bootstrap}")
        return [_in_java(at) for at in times]

    def _in_java(at: Times) -> Found:
        (told,) = java.ask("times " + " ".join(f"{each.topic}:{each.partition}:{time}" for each, time in at.items()))
        return {each: offset if offset >= 0 else None for each, offset in zip(at, map(int, told.split()), strict=True)}

    return look_up


# --- by position


def position_of_confluent_kafka(
    bootstrap: str, partition: TopicPartition, position: Position, policy: str
) -> int | Truncated:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "auto.offset.reset": "error" if policy == NO_POLICY else policy,
        }
    )
    try:
        consumer.assign([ConfluentPartition(*partition, position.offset, leader_epoch=position.epoch)])
        return told(consumer.poll(SECONDS))
    finally:
        consumer.close()


def told(message: Message | None) -> int | Truncated:
    assert message is not None, f"nothing came for {SECONDS} s"
    error = message.error()
    if error is not None:
        return Truncated(_divergence(error))
    offset = message.offset()
    assert offset is not None
    return offset


def _divergence(error: KafkaError) -> int:
    """Return what librdkafka tells in words alone."""
    found = re.search(r"log truncation detected .* broker end offset is (\d+)", error.str())
    assert found is not None, error
    return int(found[1])


def position_of_java(java: JavaProgram) -> PositionSeeker:
    """Return the Java client's way."""

    def seek(bootstrap: str, partition: TopicPartition, position: Position, policy: str) -> int | Truncated:
        place = f"{partition.topic}:{partition.partition}:{position.offset}:{position.epoch}"
        kind, _, offset = java.ask(f"connect {bootstrap}", f"position {policy} {place}")[1].partition(" ")
        assert kind in {"at", "truncated"}, (kind, offset)
        return int(offset) if kind == "at" else Truncated(int(offset))

    return seek


TIMES: dict[str, TimeSeeker] = {
    "confluent-kafka": times_of_confluent_kafka,
    "kafka-python": times_of_kafka_python,
    "aiokafka": times_of_aiokafka,
}
