"""Real transactional producers that a round of chaos writes with: librdkafka's and Kafka's own."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from logstore import TopicPartition
from tests.oracle.kafka import JavaProgram

RESENT_AS_IT_WAS: Final = {"batch.num.messages": 1, "max.in.flight.requests.per.connection": 1}
"""Of an idempotent producer: librdkafka fails for good, with OUT_OF_ORDER_SEQUENCE_NUMBER, as it puts records into
other batches after NOT_ENOUGH_REPLICAS, although an attempt before may have written them; and as it sends again what
lies before the last batch, which is all that a leader knows of a producer once it has been killed, Kafka's too."""
_SECONDS: Final = 20.0
_TIMEOUT_MS: Final = 60_000


class NotDoneError(Exception):
    """A producer was refused, or not answered in time."""


class TransactionalClient(Protocol):
    """A producer with one transactional id; each method raises NotDoneError."""

    def open(self) -> None:
        """Begin anew: what an earlier one with the same id has left open is aborted."""

    def send(self, values: Sequence[str], to: TopicPartition) -> None:
        """Begin a transaction, and return once all of it is written."""

    def commit(self) -> None:
        """Commit it; may be called again."""

    def abort(self) -> None:
        """Abort it; may be called again."""


class LibrdkafkaClient:
    """Has the coordinator add partitions, so that leaders verify them.

    What could not be written is aborted by another producer: librdkafka would give the sequence numbers of records that
    may have been written to those of the next transaction, and take them for written as leaders know the numbers.
    """

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._settings: Final = {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": _TIMEOUT_MS,
            **RESENT_AS_IT_WAS,
            "socket.timeout.ms": 5_000,
            "reconnect.backoff.max.ms": 500,
            "topic.metadata.refresh.interval.ms": 1_000,
            "log_level": 2,
        }

    def open(self) -> None:
        self._producer = Producer(self._settings)
        self._has_written = True
        _ensure(lambda: self._producer.init_transactions(_SECONDS))

    def send(self, values: Sequence[str], to: TopicPartition) -> None:
        _ensure(self._producer.begin_transaction)
        failures: list[object] = []

        def note(error: KafkaError | None, _: Message) -> None:
            failures.extend([error] * bool(error))

        self._has_written = False
        for value in values:
            _ensure(partial(self._producer.produce, to.topic, value, partition=to.partition, on_delivery=note))
        if self._producer.flush(_SECONDS) or failures:
            raise NotDoneError(str(failures))
        self._has_written = True

    def commit(self) -> None:
        _ensure(lambda: self._producer.commit_transaction(_SECONDS))

    def abort(self) -> None:
        if not self._has_written:
            raise NotDoneError("another producer is to abort this transaction")
        _ensure(lambda: self._producer.abort_transaction(_SECONDS))


class JavaClient:
    """Leaves it to leaders to add partitions where the cluster has transaction.version 2."""

    def __init__(self, program: JavaProgram, transactional_id: str) -> None:
        """Take turns: `program` is a TransactionClient that nobody else asks meanwhile."""
        self._program = program
        self._id = transactional_id
        self._is_open = False

    def open(self) -> None:
        if self._is_open:
            self._ask(f"close {self._id}")
        self._is_open = True
        self._ask(f"open {self._id} {_TIMEOUT_MS}")

    def send(self, values: Sequence[str], to: TopicPartition) -> None:
        self._ask(f"begin {self._id}")
        for value in values:
            self._ask(f"send {self._id} {value} {to.topic}:{to.partition}")

    def commit(self) -> None:
        self._ask(f"commit {self._id}")

    def abort(self) -> None:
        self._ask(f"abort {self._id}")

    def _ask(self, line: str) -> None:
        (answer,) = self._program.ask(line)
        if answer.startswith("ERR"):
            raise NotDoneError(answer)


def _ensure(do: Callable[[], object]) -> None:
    try:
        do()
    except KafkaException as error:
        raise NotDoneError(str(error)) from error
