"""What librdkafka's clients do to a broker, and how long that takes them."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from statistics import quantiles
from threading import Event, Thread

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic

from replication.wire.addresses import Address

SECONDS = 120
HANDED_OVER = 1_000
"""Records that a producer is given at once."""
QUEUED_KIB = 1 << 20
PAUSE_SECONDS = 0.001
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Load:
    """What is produced."""

    record_bytes: int
    batch_bytes: int
    acks: str = "1"

    @property
    def settings(self) -> Mapping[str, str | int]:
        """Those of librdkafka."""
        return {
            "acks": self.acks,
            "batch.size": self.batch_bytes,
            "batch.num.messages": 1_000_000,
            "message.max.bytes": 1 << 20,
            "linger.ms": 5,
            "queue.buffering.max.kbytes": QUEUED_KIB,
            "queue.buffering.max.messages": 10_000_000,
        }


def create_topic(bootstrap: str, topic: str, replicas: int | list[int] = 1) -> None:
    """Make a topic of one partition, on so many brokers or on these, and wait until its leader leads."""
    placed = {"replication_factor": replicas} if isinstance(replicas, int) else {"replica_assignment": [replicas]}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, **placed)])[topic].result(SECONDS)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    deadline = time.monotonic() + SECONDS
    try:
        while time.monotonic() < deadline:
            with suppress(KafkaException):
                consumer.get_watermark_offsets(Place(topic, 0), 1)
                return
    finally:
        consumer.close()
    raise TimeoutError(f"{topic} has no leader after {SECONDS} s")


@contextmanager
def fetching(bootstrap: str, partitions: int) -> Iterator[None]:
    """Fetch so many partitions as a consumer, in which nothing is written."""
    topic, ended = "idle", Event()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions)])[topic].result(SECONDS)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})

    def poll() -> None:
        while not ended.is_set():
            consumer.poll(POLL_SECONDS)

    thread = Thread(target=poll)
    try:
        consumer.assign([Place(topic, number, 0) for number in range(partitions)])
        thread.start()
        yield
    finally:
        ended.set()
        thread.join()
        consumer.close()


def end_offset(bootstrap: str, topic: str) -> int:
    """Return how many records a topic has of which nothing was deleted."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "unused"})
    try:
        end: int = consumer.get_watermark_offsets(Place(topic, 0), SECONDS)[1]
        return end
    finally:
        consumer.close()


class Throughput:
    """A producer that is connected already, and gives a broker as much as that takes."""

    def __init__(self, bootstrap: str, topic: str, load: Load) -> None:
        self._topic = topic
        self._load = load
        failures: list[KafkaError] = []
        self._failures = failures

        def told(error: KafkaError | None, _: Message) -> None:  # not a method: with a cycle it would be closed later
            if error is not None:
                failures.append(error)

        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "delivery.report.only.error": True,
                "on_delivery": told,
                **load.settings,
            }
        )
        self.records = 0
        """That were produced so far."""

    def produce(self, size: int) -> None:
        """Produce so many bytes of values, and wait until they are acknowledged."""
        count = max(1, size // self._load.record_bytes // HANDED_OVER)
        messages = [{"value": bytes(self._load.record_bytes)}] * HANDED_OVER
        for _ in range(count):
            taken = self._producer.produce_batch(self._topic, messages, partition=0)
            assert taken == HANDED_OVER, f"the producer has taken {taken}"
        assert self._producer.flush(SECONDS) == 0
        assert not self._failures, self._failures[0]
        self.records += count * HANDED_OVER


def latencies_ms(address: Address, topic: str, record_bytes: int, rate: int, count: int) -> Sequence[float]:
    """Produce so many records at a rate per second; return the 1st to the 99th percentile of what librdkafka waits.

    From when a record is given to it until its acknowledgement has come; it sends each at once.
    """
    seconds: list[float] = []

    def told(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        seconds.append(message.latency())

    producer = Producer({"bootstrap.servers": str(address), "acks": 1, "linger.ms": 0, "on_delivery": told})
    value = bytes(record_bytes)
    producer.produce(topic, value, partition=0)
    assert producer.flush(SECONDS) == 0
    seconds.clear()
    begun = time.monotonic()
    for number in range(count):
        while (left := begun + number / rate - time.monotonic()) > 0:
            producer.poll(min(left, PAUSE_SECONDS))
        producer.produce(topic, value, partition=0)
    assert producer.flush(SECONDS) == 0
    assert len(seconds) == count
    return [each * 1e3 for each in quantiles(seconds, n=100, method="inclusive")]
