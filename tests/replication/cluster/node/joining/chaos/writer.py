"""A real producer with acks=all that goes on whatever happens to the brokers."""

from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from logstore import TopicPartition
from tests.replication.cluster.node.joining.chaos.compaction.keyed_records import KeyedRecord, keyed_record
from tests.replication.cluster.node.joining.chaos.thread import ChaosThread
from tests.replication.cluster.node.joining.transactional_clients import RESENT_AS_IT_WAS

_MOST_UNANSWERED: Final = 200
_MOST_AT_ONCE: Final = 5
_PATIENT: Final = {
    "acks": "all",
    "linger.ms": 2,
    "message.timeout.ms": 900_000,
    "request.timeout.ms": 4_000,
    "socket.timeout.ms": 5_000,
    "reconnect.backoff.max.ms": 500,
    "topic.metadata.refresh.interval.ms": 1_000,
    "log_level": 2,
}


def value_of(number: int) -> bytes:
    """Return what is written as the n-th record."""
    return b"record %d" % number


@dataclass
class ChaosWriter(ChaosThread):
    """Writes numbered records to one partition, in a thread of its own; idempotent or not, with keys or without."""

    bootstrap: str
    partition: TopicPartition
    random: Random
    is_idempotent: bool
    has_keys: bool = False
    sent: int = 0
    acknowledged: dict[int, int | None] = field(default_factory=dict)
    """The offset of each record that was, by its number; None where it was acknowledged as a duplicate."""
    failures: list[str] = field(default_factory=list)

    def start(self) -> None:
        """Begin to write."""
        settings: dict[str, Any] = {**_PATIENT, "enable.idempotence": self.is_idempotent}
        if self.is_idempotent:
            settings |= RESENT_AS_IT_WAS
        self._producer = Producer({**settings, "bootstrap.servers": self.bootstrap})
        super().start()

    def finish(self, seconds: float) -> None:
        """Stop, and wait until all that was sent is acknowledged. Raises AssertionError where something is not."""
        self.stop()
        left = self._producer.flush(seconds)
        assert not left, f"{left} records to {self.partition} are not acknowledged after {seconds} s"
        assert not self.failures, f"records to {self.partition} were refused for good: {self.failures[:3]}"

    def _run(self) -> None:
        # A leader takes any first sequence number of a producer that it does not know, and librdkafka takes that for
        # an acknowledgement of what it sent to the leader before: so nothing follows the first record before that is.
        self._send(1)
        while not self._stopped.wait(0.02):
            if self.acknowledged and len(self._producer) < _MOST_UNANSWERED:
                self._send(self.random.randint(1, _MOST_AT_ONCE))
            self._producer.poll(0)

    def _send(self, count: int) -> None:
        for number in range(self.sent, self.sent + count):
            try:
                self._produce(number)
            except KafkaException as error:
                self.failures.append(str(error))
                self._stopped.set()
                return
            self.sent += 1

    def _produce(self, number: int) -> None:
        def note(error: KafkaError | None, message: Message) -> None:
            if error is None:
                offset = message.offset()
                self.acknowledged[number] = None if offset is None or offset < 0 else offset
            else:
                self.failures.append(f"record {number}: {error}")

        topic, partition = self.partition
        record = keyed_record(number) if self.has_keys else KeyedRecord(None, value_of(number))
        self._producer.produce(topic, record.value, record.key, partition=partition, on_delivery=note)
