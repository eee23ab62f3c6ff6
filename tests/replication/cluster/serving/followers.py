"""Kafka's clients that remember leader epochs, each of which reads a partition on and on while who leads it changes."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import TracebackType
from typing import Protocol, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer
from confluent_kafka import TopicPartition as ConfluentPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition
from kafka.errors import LogTruncationError

from logstore import TopicPartition
from tests.oracle.kafka import JavaProgram
from tests.replication.cluster.serving.clients import SECONDS
from tests.replication.cluster.serving.seekers import NO_POLICY, Truncated, told


class Follower(Protocol):
    """Reads one partition from its first offset on."""

    def next(self, count: int) -> list[int] | Truncated:
        """Return the offsets of so many more records, or what was told instead."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


StartFollower = Callable[[str, TopicPartition, str], Follower]
"""Starts one at a bootstrap address, with what it does when its position is gone."""


class ConfluentFollower:
    """librdkafka."""

    def __init__(self, bootstrap: str, partition: TopicPartition, policy: str) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error" if policy == NO_POLICY else policy,
            }
        )
        self._consumer.assign([ConfluentPartition(*partition, OFFSET_BEGINNING)])

    def next(self, count: int) -> list[int] | Truncated:
        offsets: list[int] = []
        while len(offsets) < count:
            found = told(self._consumer.poll(SECONDS))
            if isinstance(found, Truncated):
                return found
            offsets.append(found)
        return offsets

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._consumer.close()


class PythonFollower:
    """kafka-python, in a process of its own: it forgets to close sockets whose connections break."""

    def __init__(self, bootstrap: str, partition: TopicPartition, policy: str) -> None:
        self._process = ProcessPoolExecutor(
            1, get_context("spawn"), initializer=_start, initargs=(bootstrap, partition, policy)
        )

    def next(self, count: int) -> list[int] | Truncated:
        return self._process.submit(_next, count).result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._process.submit(_close).result()
        self._process.shutdown()


_started: list[KafkaConsumer] = []
"""The consumer of the process that is kafka-python's."""


def _start(bootstrap: str, partition: TopicPartition, policy: str) -> None:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, auto_offset_reset=policy)
    consumer.assign([PythonPartition(*partition)])
    consumer.seek_to_beginning()
    _started.append(consumer)


def _next(count: int) -> list[int] | Truncated:
    offsets: list[int] = []
    try:
        while len(offsets) < count:
            polled = _started[0].poll(timeout_ms=SECONDS * 1_000)
            assert polled, f"nothing came for {SECONDS} s"
            offsets += [record.offset for records in polled.values() for record in records]
    except LogTruncationError as truncation:
        (divergent,) = truncation.divergent_offsets.values()
        return Truncated(divergent.offset)
    return offsets


def _close() -> None:
    _started[0].close()


class JavaFollower:
    """The client in Java."""

    def __init__(self, java: JavaProgram, bootstrap: str, partition: TopicPartition, policy: str) -> None:
        self._java = java
        java.ask(f"connect {bootstrap}", f"follow {policy} {partition.topic}:{partition.partition}")

    def next(self, count: int) -> list[int] | Truncated:
        words = self._java.ask(f"next {count}")[0].split()
        return Truncated(int(words[1])) if words[0] == "truncated" else [int(each) for each in words]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._java.ask("stop")


FOLLOWERS: dict[str, StartFollower] = {"confluent-kafka": ConfluentFollower, "kafka-python": PythonFollower}
