"""How fast `epochlog serve` hands out records, beside a real broker that has the same files, and how soon it answers.

A topic of 256 MiB (with --benchmark-enable; else 4 MiB) in batches of 16 KiB, of records of 1 KiB in transactions of a
mebibyte, of which each tenth is aborted. Both sides answer the same client, in turn; both have the files in the page
cache. The bare client does no more than receive.
"""

import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import UUID

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient, NewTopic
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_mirror import wait_for
from bench.measuring import is_measuring
from bench.room import require_room
from logstore import LogConfig, Record, TopicPartition
from logstore.batch.batch_template import BatchTemplate
from logstore.directory.log_directory import LogDirectory
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from replication.cluster.serving.frozen_broker import made_id
from replication.wire.addresses import Address
from replication.wire.client.exchange import Exchange
from replication.wire.encoding.framing import SIZE_BYTES
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchPartition, FetchRequest
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import BENCHMARKED
from tests.replication.cluster.serving.many_partitions import END, TOPIC, many_partitions
from tests.replication.cluster.serving.served_process import ServedProcess

BUILD = Path(__file__).parent.parent / "build/bench/serve"
FULL, SMALL = 256 << 20, 4 << 20
BENCH = TopicPartition("bench", 0)
SETTINGS = {"log.retention.ms": -1, "log.segment.bytes": 1 << 30, "log.index.size.max.bytes": 10 << 20}
PRODUCER = 7
RECORDS = 15
"""Of a batch: 16 KiB."""
BATCHES = 64
"""Of a transaction."""
ANSWER_BYTES = 1 << 20
AT_ONCE, AT_ONCE_SECONDS = 200, 0.02
"""Of records that a consumer hands over; the last ones are waited for in vain, on both sides."""
SECONDS = 120
KAFKA, OURS = "Kafka", "epochlog serve"
ROUNDS = 7
WARM_UP = 2
"""Rounds that do not count: a JVM compiles what it does often."""
PARTITIONS, FEW = 1_000, 20


def fill(root: Path, size: int) -> None:
    """Put transactions in the place of an empty partition."""
    topic_id = PartitionMetadata.read(root / str(BENCH) / PARTITION_METADATA_NAME).topic_id
    shutil.rmtree(root / str(BENCH))
    records = [Record.of(os.urandom(1 << 9) * 2, timestamp=1_700_000_000_000 + number) for number in range(RECORDS)]
    with LogDirectory.open(root, LogConfig(segment_bytes=1 << 30, retention_ms=-1)) as directory:
        log = directory.create(BENCH, topic_id=topic_id)
        sequence = transactions = 0
        while log.size < size:
            for _ in range(BATCHES):
                template = BatchTemplate(
                    producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence, is_transactional=True
                )
                log.append(records, leader_epoch=0, template=template)
                sequence += RECORDS
            transactions += 1
            log.append_end_transaction(PRODUCER, 0, commit=transactions % 10 != 0, leader_epoch=0)
        log.update_high_watermark(log.log_end_offset)


def copy(source: Path, target: Path) -> None:
    """Copy a broker's directory; the records, which nobody changes, as other names of the same files."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.log", ".lock"))
    for file in source.glob("*/*.log"):
        os.link(file, target / file.relative_to(source))


@dataclass(frozen=True)
class Sides:
    """Who answers, and what there is to read."""

    addresses: dict[str, Address]
    topic_id: UUID
    bytes: int
    end: int


@pytest.fixture(scope="module")
def sides(request: pytest.FixtureRequest) -> Iterator[Sides]:
    measured = is_measuring(request.config)
    size = FULL if measured else SMALL
    require_room(disk=size, memory=size)
    shutil.rmtree(BUILD, ignore_errors=True)
    java_options = ("-Xms1g", "-Xmx1g") if measured else None
    cluster = KafkaCluster(BUILD / "kafka", BENCHMARKED, settings=SETTINGS, java_options=java_options)
    with cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap()})
        admin.create_topics([NewTopic(BENCH.topic, 1)])[BENCH.topic].result(SECONDS)
        partition = cluster.log_dir(1) / str(BENCH)
        wait_for((partition / PARTITION_METADATA_NAME).exists)
        cluster.stop(1)
        fill(cluster.log_dir(1), size)
        copy(cluster.log_dir(1), BUILD / "copy")
        cluster.start(1)
        with ServedProcess(BUILD / "copy") as served:
            addresses = {KAFKA: Address("127.0.0.1", cluster.ports[1]), OURS: served.address}
            total = sum(file.stat().st_size for file in partition.glob("*.log"))
            topic_id = PartitionMetadata.read(partition / PARTITION_METADATA_NAME).topic_id
            yield Sides(addresses, topic_id, total, total // (1 << 20) * RECORDS * BATCHES)
    shutil.rmtree(BUILD)


class BareClient:
    """One connection: asks, and receives."""

    def __init__(self, address: Address, topic_id: UUID) -> None:
        self._socket = socket.create_connection(address, SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._exchange = Exchange("bench")
        self._ids = {BENCH.topic: topic_id}
        self._room = memoryview(bytearray(2 * ANSWER_BYTES))

    def read(self, offsets: range) -> int:
        """Fetch a mebibyte from each offset, one after the other; return how many bytes came."""
        return sum(len(self._answer(offset)) for offset in offsets)

    def check(self) -> None:
        """Fetch once, and look at the answer: without an error, and as large as was asked for."""
        fetched = self._exchange.answer(self._answer(0))[1].partitions[BENCH]
        assert fetched.error is ErrorCode.NONE
        assert len(fetched.records) > ANSWER_BYTES * 9 // 10
        self._exchange = Exchange("bench")

    def _answer(self, offset: int) -> memoryview:
        request = FetchRequest(
            partitions={BENCH: FetchPartition(offset, ANSWER_BYTES)}, topic_ids=self._ids, max_wait_ms=0
        )
        self._socket.sendall(self._exchange.ask(request)[1])
        size = int.from_bytes(self._received(SIZE_BYTES), "big")
        return self._received(size)

    def _received(self, size: int) -> memoryview:
        room, got = self._room[:size], 0
        while got < size:
            count = self._socket.recv_into(room[got:])
            assert count, "the server has hung up"
            got += count
        return room

    def close(self) -> None:
        self._socket.close()


def in_turn(benchmark: BenchmarkFixture, sides: Sides, read: Callable[[str], int], unit: str = "MB/s") -> None:
    """Read both sides, each first in every second round. `read` returns how much came."""
    rates: dict[str, list[float]] = {name: [] for name in sides.addresses}

    def both() -> None:
        names = list(rates) if len(rates[OURS]) % 2 else list(rates)[::-1]
        for name in names:
            begun = time.perf_counter()
            count = read(name)
            rates[name].append(count / (time.perf_counter() - begun) / 1e6)

    for _ in range(WARM_UP if benchmark.enabled else 0):
        both()
    for each in rates.values():
        each.clear()
    benchmark.pedantic(both, rounds=ROUNDS if benchmark.enabled else 1)
    middle = {name: median(each) for name, each in rates.items()}
    benchmark.extra_info |= {f"{name}, {unit}": round(each) for name, each in middle.items()}
    benchmark.extra_info["times as fast as Kafka"] = round(middle[OURS] / middle[KAFKA], 2)
    if benchmark.enabled:
        print(f"\n{benchmark.extra_info}; {rates}")


@pytest.mark.parametrize("connections", [1, 4])
def bench_large_answers(benchmark: BenchmarkFixture, sides: Sides, connections: int) -> None:
    """Answers of 1 MiB, to clients that read the whole log."""
    offsets = range(0, sides.end, RECORDS * BATCHES)

    def read_by_one(address: Address) -> int:
        with closing(BareClient(address, sides.topic_id)) as client:
            return client.read(offsets)

    for address in sides.addresses.values():
        with closing(BareClient(address, sides.topic_id)) as client:
            client.check()
    with ThreadPoolExecutor(connections) as threads:
        in_turn(benchmark, sides, lambda name: sum(threads.map(read_by_one, [sides.addresses[name]] * connections)))


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def bench_librdkafka_consumer(benchmark: BenchmarkFixture, sides: Sides, isolation: str) -> None:
    """Records of 1 KiB, from the first offset to the end."""
    counts: set[int] = set()

    def read(name: str) -> int:
        counts.add(consumed(sides.addresses[name], isolation))
        return sides.bytes

    in_turn(benchmark, sides, read)
    assert len(counts) == 1, "both have the same records"
    (count,) = counts
    assert count > sides.end * 4 // 5


def consumed(address: Address, isolation: str) -> int:
    """Return how many records there are."""
    consumer = Consumer(
        {
            "bootstrap.servers": str(address),
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        }
    )
    consumer.assign([Place(*BENCH, OFFSET_BEGINNING)])
    count, until = 0, time.monotonic() + SECONDS
    try:
        while time.monotonic() < until:
            messages = consumer.consume(AT_ONCE, AT_ONCE_SECONDS)
            errors = [error for message in messages if (error := message.error()) is not None]
            count += len(messages) - len(errors)
            if errors:
                assert errors[0].code() == KafkaError._PARTITION_EOF, errors  # noqa: SLF001  its documented name
                return count
        raise TimeoutError(f"{count:,} records came within {SECONDS} s")
    finally:
        consumer.close()


def bench_start_to_first_answer(benchmark: BenchmarkFixture) -> None:
    """From the command, with 1,000 partitions, to the records of one of them."""
    directory = many_partitions(PARTITIONS if benchmark.enabled else FEW)
    seconds: list[float] = []

    def start() -> None:
        begun = time.perf_counter()
        with ServedProcess(directory) as served:
            first_answer(served.address)
            seconds.append(time.perf_counter() - begun)

    benchmark.pedantic(start, rounds=ROUNDS if benchmark.enabled else 1, warmup_rounds=int(benchmark.enabled))
    benchmark.extra_info["s"] = round(median(seconds), 2)
    if benchmark.enabled:
        print(f"\n{benchmark.extra_info}; {sorted(seconds)}")


def first_answer(address: Address) -> None:
    exchange = Exchange("bench")
    many = TopicPartition(TOPIC, 0)
    request = FetchRequest(partitions={many: FetchPartition(0, ANSWER_BYTES)}, topic_ids={TOPIC: made_id(TOPIC)})
    with socket.create_connection(address, SECONDS) as connected:
        connected.sendall(exchange.ask(request)[1])
        size = int.from_bytes(connected.recv(SIZE_BYTES, socket.MSG_WAITALL), "big")
        answer = exchange.answer(memoryview(connected.recv(size, socket.MSG_WAITALL)))[1]
    assert answer.partitions[many].high_watermark == END
    assert answer.partitions[many].records
