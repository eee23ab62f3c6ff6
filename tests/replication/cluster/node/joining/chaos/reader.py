"""A real consumer of what is committed that goes on whatever happens to the brokers."""

from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Consumer, TopicPartition

from tests.replication.cluster.node.joining.chaos.thread import ChaosThread

_PATIENT: Final = {
    "group.id": "chaos",
    "enable.auto.commit": False,
    "auto.offset.reset": "earliest",
    "isolation.level": "read_committed",
    "socket.timeout.ms": 5_000,
    "reconnect.backoff.max.ms": 500,
    "topic.metadata.refresh.interval.ms": 1_000,
    "log_level": 2,
}


@dataclass
class ChaosReader(ChaosThread):
    """Reads one partition from its beginning on, in a thread of its own."""

    bootstrap: str
    topic: str
    partition: int
    seen: dict[int, bytes] = field(default_factory=dict)
    """What was at each offset."""
    changed: list[str] = field(default_factory=list)
    """Offsets at which there was something else before."""

    def _run(self) -> None:
        settings: dict[str, Any] = {**_PATIENT, "bootstrap.servers": self.bootstrap}
        consumer = Consumer(settings)
        consumer.assign([TopicPartition(self.topic, self.partition, 0)])
        while not self._stopped.is_set():
            for message in consumer.consume(100, 0.2):
                if message.error() is None:
                    self._see(int(message.offset() or 0), bytes(message.value() or b""))
        consumer.close()

    def _see(self, offset: int, value: bytes) -> None:
        before = self.seen.setdefault(offset, value)
        if before != value:
            self.changed.append(f"offset {offset}: {before!r}, then {value!r}")
