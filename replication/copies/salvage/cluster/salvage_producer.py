"""Writes records to a cluster, in transactions under a name that only one run at a time can have."""

import time
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NoReturn

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as Delivery

from logstore.topic_partition import TopicPartition
from replication.copies.salvage.cluster.connection import Connection
from replication.copies.salvage.cluster.partition_writing import Message

TRANSACTIONAL_ID: Final = "epochlog-salvage"
_SECONDS_TO_COMMIT: Final = 120.0
_SECONDS_TO_BEGIN: Final = 90.0
"""A transaction that an earlier run has left open is ended first."""
_SECONDS_OPEN: Final = 300
"""After which the cluster ends a transaction. Ours is at its end before, by `TransactionSize` and _SECONDS_TO_COMMIT;
brokers allow 15 minutes by default."""
_NOT_KNOWN: Final = (
    "whether a transaction was written is not known, as its commit was not answered in the end: the same command, run "
    "again, finds out, and writes what is missing"
)
_WAITING_BYTES: Final = 32 << 20
"""Of records that are not sent yet: on a slow link the producer waits, so that time goes by where it is looked at."""


class SalvageProducer:
    """A transaction begins with its first record. All methods raise ClusterError.

    Then nothing of it is there; only where `commit` does, it may be: its message says which.
    """

    def __init__(self, connection: Connection, largest: int, batch: int) -> None:
        """`largest` is the size of the largest record's batch, and batches of several have up to `batch` bytes."""
        self._connection = connection
        self._failure = ""
        self._is_open = False
        self._producer = Producer(
            connection.settings(
                transactional_id=TRANSACTIONAL_ID,
                transaction_timeout_ms=_SECONDS_OPEN * 1_000,
                linger_ms=20,
                batch_size=batch,
                message_max_bytes=max(largest, 1_000_000),
                queue_buffering_max_messages=0,
                queue_buffering_max_kbytes=max(_WAITING_BYTES, 2 * largest) >> 10,
                delivery_report_only_error=True,
            )
            | {"on_delivery": self._undelivered}
        )

    def fence(self) -> None:
        """End what an earlier run has left open, and keep it from going on."""
        with self._connection.asking(f"no transactions as {TRANSACTIONAL_ID}"):
            self._producer.init_transactions(_SECONDS_TO_BEGIN)

    def write(self, messages: Iterable[Message], target: TopicPartition) -> None:
        """Write records to a partition."""
        try:
            if not self._is_open:
                self._producer.begin_transaction()
                self._is_open = True
            self._send(messages, target)
        except KafkaException as exception:
            self._give_up(exception)

    def commit(self) -> None:
        """Make what was written since the last time visible, at once; do nothing if nothing was."""
        if not self._is_open:
            return
        deadline = time.monotonic() + _SECONDS_TO_COMMIT
        while True:
            try:
                self._producer.commit_transaction(max(1.0, deadline - time.monotonic()))
            except KafkaException as exception:
                error: KafkaError = exception.args[0]
                if error.txn_requires_abort():
                    self._give_up(exception)
                if not error.retriable() or time.monotonic() > deadline:
                    self._give_up(exception, _NOT_KNOWN)
            else:
                self._is_open = False
                return

    def close(self) -> None:
        """Drop what was not committed."""
        if self._is_open:
            self._abort()
        with suppress(KafkaException):
            self._producer.purge()
            self._producer.flush(1)

    def _send(self, messages: Iterable[Message], target: TopicPartition) -> None:
        topic, partition = target
        produce, poll = self._producer.produce, self._producer.poll
        for value, key, timestamp, headers in messages:
            while True:
                try:
                    produce(topic, value, key, partition, timestamp=timestamp, headers=headers)
                except BufferError:
                    poll(0.1)
                else:
                    break
        poll(0)

    def _give_up(self, exception: KafkaException, outcome: str = "a transaction was not written") -> NoReturn:
        with suppress(KafkaException):
            self._producer.poll(0)  # lets the client say what was refused
        self._abort()
        because = f": {self._failure}" if self._failure else ""
        raise self._connection.error(f"{outcome}{because}", exception) from exception

    def _abort(self) -> None:
        """End a transaction; if that fails, too, the next run does it."""
        self._is_open = False
        with suppress(KafkaException):
            self._producer.abort_transaction(self._connection.timeout)

    def _undelivered(self, error: KafkaError | None, message: Delivery) -> None:
        if error is not None and not self._failure:
            self._failure = f"{message.topic()}-{message.partition()} refused a record: {error.str()}"
