"""What producers were told: which records are acknowledged, and by how many."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from logstore import TopicPartition

_MESSAGE_MS: Final = 4_000
_FLUSH_SECONDS: Final = 30


@dataclass
class Ledger:
    """Kept outside of the cluster, and all that decides what has to be there."""

    bootstrap: str
    acknowledged: dict[TopicPartition, list[bytes]] = field(default_factory=dict)
    """Values in the order in which they were acknowledged."""
    by_all: set[bytes] = field(default_factory=set)
    """Those of them that all in sync had."""
    _count: int = 0

    def write(self, partitions: list[TopicPartition], *, acks: str, random: Random) -> None:
        """Send a few records to each partition, and wait until all are told of: acknowledged or not."""
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "acks": acks,
                "linger.ms": 0,
                "message.timeout.ms": _MESSAGE_MS,
                "reconnect.backoff.max.ms": 500,
            }
        )
        for _ in range(random.randint(1, 2)):
            for partition in partitions:
                for _ in range(random.randint(1, 5)):
                    self._send(producer, partition, by_all=acks == "all")
            producer.flush(_FLUSH_SECONDS)

    def _send(self, producer: Producer, partition: TopicPartition, *, by_all: bool) -> None:
        self._count += 1
        value = b"%d" % self._count
        noted = self._noting(partition, value, by_all=by_all)
        producer.produce(partition.topic, value, partition=partition.partition, on_delivery=noted)

    def _noting(
        self, partition: TopicPartition, value: bytes, *, by_all: bool
    ) -> Callable[[KafkaError | None, Message], None]:
        def note(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self.acknowledged.setdefault(partition, []).append(value)
                self.by_all.update([value] * by_all)

        return note
