"""Kafka's clients, each of which writes records to a partition as it is told to."""

import asyncio
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer
from kafka import KafkaProducer

from logstore import TopicPartition
from tests.replication.cluster.serving.clients import Seen

SECONDS = 60
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
LINGER_MS = 20
"""So that batches have several records, which some codecs need to be of any use."""


class Manner(NamedTuple):
    """How records are to be written."""

    codec: str
    acks: int
    """0, 1, or -1 for all."""
    is_idempotent: bool = False

    def __str__(self) -> str:
        return f"{self.codec}-acks{self.acks}{'-idempotent' if self.is_idempotent else ''}".replace("-1", "all")


MANNERS = [Manner(codec, acks) for codec in CODECS for acks in (0, 1, -1)] + [
    Manner(codec, -1, is_idempotent=True) for codec in CODECS
]


class Record(NamedTuple):
    """A record as a client is given it."""

    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]

    def seen(self, offset: int) -> Seen:
        """Return it as one who reads it at an offset."""
        return Seen(offset, self.timestamp, self.key, self.value, self.headers)


def records(rng: random.Random, count: int, begin_ms: int) -> list[Record]:
    """Return records of every kind: without key or value, empty and large, with headers that are named alike."""
    return [_record(rng, begin_ms + number) for number in range(count)]


def _record(rng: random.Random, timestamp: int) -> Record:
    key = rng.choice([None, b"", rng.randbytes(8)])
    values = [b"", b"text " * rng.randrange(400), rng.randbytes(rng.randrange(2_000))]
    # kafka-python sends no record that has neither key nor value.
    value = rng.choice(values if key is None else [None, *values])
    headers = tuple(("same name", rng.randbytes(3)) for _ in range(rng.choice([0, 0, 1, 3])))
    return Record(timestamp, key, value, headers)


Writer = Callable[[str, TopicPartition, list[Record], Manner], None]
"""Writes records at a bootstrap address, and returns once all are acknowledged, if they are to be."""


def confluent_kafka(bootstrap: str, partition: TopicPartition, sent: list[Record], manner: Manner) -> None:
    errors: list[object] = []
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": manner.codec,
            "acks": manner.acks,
            "enable.idempotence": manner.is_idempotent,
            "linger.ms": LINGER_MS,
        }
    )
    for each in sent:
        producer.produce(
            partition.topic,
            each.value,
            each.key,
            partition.partition,
            on_delivery=lambda error, _: errors.append(error),
            timestamp=each.timestamp,
            headers=list(each.headers),
        )
    assert not producer.flush(SECONDS)
    assert errors == [None] * len(sent)


def kafka_python(bootstrap: str, partition: TopicPartition, sent: list[Record], manner: Manner) -> None:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if manner.codec == "none" else manner.codec,
        acks=_acks(manner),
        enable_idempotence=manner.is_idempotent,
        linger_ms=LINGER_MS,
    )
    try:
        waited = [
            producer.send(
                partition.topic,
                each.value,
                each.key,
                list(each.headers),
                partition.partition,
                each.timestamp,
            )
            for each in sent
        ]
        for each in waited:
            each.get(SECONDS)
    finally:
        producer.close(SECONDS)


def aiokafka(bootstrap: str, partition: TopicPartition, sent: list[Record], manner: Manner) -> None:
    asyncio.run(_aiokafka(bootstrap, partition, sent, manner))


async def _aiokafka(bootstrap: str, partition: TopicPartition, sent: list[Record], manner: Manner) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type=None if manner.codec == "none" else manner.codec,
        acks=_acks(manner),
        enable_idempotence=manner.is_idempotent,
        linger_ms=LINGER_MS,
    )
    await producer.start()
    try:
        waited = [
            await producer.send(
                partition.topic,
                each.value,
                each.key,
                partition.partition,
                each.timestamp,
                list(each.headers),
            )
            for each in sent
        ]
        await asyncio.wait_for(asyncio.gather(*waited), SECONDS)
    finally:
        await producer.stop()


def _acks(manner: Manner) -> Any:
    return "all" if manner.acks < 0 else manner.acks


WRITERS: dict[str, Writer] = {
    "confluent-kafka": confluent_kafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
