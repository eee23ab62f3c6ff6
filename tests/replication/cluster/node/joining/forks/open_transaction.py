"""A transaction that goes on while its leaders die: what they alone have of it is cut off, and written again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from confluent_kafka import Producer

from logstore import TopicPartition
from tests.replication.waiting import SECONDS

_APPENDED_SECONDS: Final = 0.3
"""Within which a leader has what is sent to it, also where nobody else gets it."""


@dataclass
class OpenTransaction:
    """Of librdkafka's producer, with records in all of some partitions."""

    bootstrap: str
    partitions: Sequence[TopicPartition]
    is_committed: bool
    values: list[bytes] = field(default_factory=list)
    """What each partition gets, in this order."""

    def begin(self) -> None:
        """Write the first records, which all replicas get."""
        self._producer = self._opened()
        self._producer.begin_transaction()
        self._send()
        assert self._producer.flush(SECONDS) == 0

    def go_on(self) -> None:
        """Write one more record to each partition, and do not wait until it is acknowledged."""
        self._send()
        self._producer.flush(_APPENDED_SECONDS)

    def end(self) -> None:
        """Commit or abort it, once all of it is acknowledged; return once its markers are written."""
        assert self._producer.flush(SECONDS) == 0
        if self.is_committed:
            self._producer.commit_transaction(SECONDS)
        else:
            self._producer.abort_transaction(SECONDS)
        self._opened()  # a successor has to wait for the markers

    def check(self, partition: TopicPartition, committed: Sequence[bytes | None]) -> None:
        """Check that all of it is among what is committed, once, or nothing. Raises AssertionError."""
        found = [value for value in committed if value in self.values]
        assert found == (self.values if self.is_committed else []), f"{partition} has a part of a transaction"

    def _opened(self) -> Producer:
        producer = Producer(
            {
                "bootstrap.servers": self.bootstrap,
                "transactional.id": f"{self.partitions[0].topic}-open",
                "transaction.timeout.ms": SECONDS * 2_000,
                "message.timeout.ms": SECONDS * 1_000,
            }
        )
        producer.init_transactions(SECONDS)
        return producer

    def _send(self) -> None:
        value = b"in a transaction: %d" % len(self.values)
        self.values.append(value)
        for topic, partition in self.partitions:
            self._producer.produce(topic, value, partition=partition)
