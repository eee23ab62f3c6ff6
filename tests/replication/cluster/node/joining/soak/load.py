"""Numbered records into every partition of a topic, and all of them read as they come."""

from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from tests.replication.cluster.node.joining.chaos.thread import ChaosThread
from tests.replication.waiting import SECONDS

_AT_ONCE: Final = 50
_PAUSE_SECONDS: Final = 0.1
"""Between so many: 500 records a second at most."""
_MOST_UNANSWERED: Final = 2_000
_SIZE: Final = 512
"""Bytes of a record."""


def value_of(number: int) -> bytes:
    """Return the n-th record, padded."""
    return (b"%d " % number).ljust(_SIZE, b".")


def number_of(value: bytes) -> int:
    """Return the number of a record."""
    return int(value.split(b" ", 1)[0])


@dataclass
class SteadyWriter(ChaosThread):
    """An idempotent producer with acks=all that writes record n to partition n modulo their count, in order."""

    bootstrap: str
    topic: str
    partitions: int
    sent: int = 0
    acknowledged: int = 0
    failures: list[str] = field(default_factory=list)

    def finish(self) -> None:
        """Stop, and wait until all is acknowledged. Raises AssertionError where something is not."""
        self.stop()
        left = self._producer.flush(SECONDS)
        assert (left, self.failures, self.acknowledged) == (0, [], self.sent)

    def start(self) -> None:
        """Begin to write."""
        self._producer = Producer(
            {"bootstrap.servers": self.bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 5}
        )
        super().start()

    def _run(self) -> None:
        while not self._stopped.wait(_PAUSE_SECONDS):
            if len(self._producer) < _MOST_UNANSWERED:
                self._send()
            self._producer.poll(0)

    def _send(self) -> None:
        for number in range(self.sent, self.sent + _AT_ONCE):
            self._producer.produce(
                self.topic, value_of(number), partition=number % self.partitions, on_delivery=self._note
            )
        self.sent += _AT_ONCE

    def _note(self, error: KafkaError | None, message: Message) -> None:
        del message
        if error is None:
            self.acknowledged += 1
        else:
            self.failures.append(str(error))


@dataclass
class SteadyReader(ChaosThread):
    """A member of a group that reads all partitions, and finds each record once and in order."""

    bootstrap: str
    topic: str
    partitions: int
    seen: int = 0
    strange: list[str] = field(default_factory=list)
    """What was not the record that was next."""

    def _run(self) -> None:
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "soak", "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "enable.auto.commit": True})
        consumer.assign([TopicPartition(self.topic, number, 0) for number in range(self.partitions)])
        expected = list(range(self.partitions))
        try:
            while not self._stopped.is_set():
                for message in consumer.consume(500, 0.5):
                    self._see(message, expected)
        finally:
            consumer.close()

    def _see(self, message: Message, expected: list[int]) -> None:
        error = message.error()
        if error is not None:
            raise KafkaException(error)
        partition, number = int(message.partition() or 0), number_of(bytes(message.value() or b""))
        if number != expected[partition]:
            self.strange.append(f"{number} in place of {expected[partition]} at {partition}:{message.offset()}")
        expected[partition] = number + self.partitions
        self.seen += 1
