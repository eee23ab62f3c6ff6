"""How fast our leaders take what librdkafka produces, beside a real broker that takes the same in turn.

Rounds of 16 MiB with --benchmark-enable; else a few records. One partition, no compression, acks=1.
"""

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.measuring import is_measuring
from bench.produced import Load, Throughput, create_topic, end_offset, fetching, latencies_ms
from bench.room import BUILD, require_room
from replication.wire.addresses import Address
from tests.oracle.cluster import KafkaCluster
from tests.oracle.release import BENCHMARKED
from tests.replication.cluster.serving.served_process import ServedProcess

KAFKA, OURS = "Kafka", "epochlog serve"
SETTINGS = {"log.segment.bytes": 1 << 30, "log.index.size.max.bytes": 10 << 20}
ROUNDS, WARM_UP = 9, 30
"""Rounds that count, and those before them: a JVM compiles what it does often, and after three rounds has not yet come
to half of its speed."""
ROUND_BYTES, SMALL_BYTES = 16 << 20, 4 << 20
LOADS = {
    "1KiB-in-16KiB": Load(1_024, 16 << 10),
    "1KiB-in-1MB": Load(1_024, 1_000_000),
    "100B-in-16KiB": Load(100, 16 << 10),
}
RATE = 1_000
LATENCY_ROUNDS, LATENCY_RECORDS = 7, 1_000
IDLE_PARTITIONS = 1_000
P50, P99 = 49, 98


@pytest.fixture(scope="module")
def leaders(request: pytest.FixtureRequest) -> Iterator[dict[str, Address]]:
    """A real broker and ours, each in a process of its own."""
    measured = is_measuring(request.config)
    build = BUILD / "lead"
    require_room(disk=1 << 30 if measured else 64 << 20, memory=1 << 30)
    shutil.rmtree(build, ignore_errors=True)
    java_options = ("-Xms1g", "-Xmx1g") if measured else None
    with (
        KafkaCluster(build / "kafka", BENCHMARKED, settings=SETTINGS, java_options=java_options) as cluster,
        ServedProcess(build / "ours", is_broker=True) as served,
    ):
        yield {KAFKA: Address("127.0.0.1", cluster.ports[1]), OURS: served.address}
    shutil.rmtree(build)


@pytest.mark.parametrize("name", LOADS)
def bench_producing(benchmark: BenchmarkFixture, leaders: dict[str, Address], name: str) -> None:
    """As much as each side takes of one producer."""
    load = LOADS[name]
    small = SMALL_BYTES if benchmark.enabled and load.record_bytes < SMALL_BYTES >> 12 else ROUND_BYTES
    size = small if benchmark.enabled else load.record_bytes
    for address in leaders.values():
        create_topic(str(address), name)
    producers = {side: Throughput(str(address), name, load) for side, address in leaders.items()}
    in_turn(benchmark, {side: producer.produce for side, producer in producers.items()}, OURS, size)
    for side, address in leaders.items():
        assert end_offset(str(address), name) == producers[side].records


def in_turn(benchmark: BenchmarkFixture, sides: Mapping[str, Callable[[int], None]], ours: str, size: int) -> None:
    """Append so many bytes to each side, by turns."""

    def rate(take: Callable[[int], None]) -> float:
        begun = time.perf_counter()
        take(size)
        return size / (time.perf_counter() - begun) / 1e6

    rates_in_turn(benchmark, {side: partial(rate, take) for side, take in sides.items()}, ours, (ROUNDS, WARM_UP))


def rates_in_turn(
    benchmark: BenchmarkFixture, sides: Mapping[str, Callable[[], float]], ours: str, rounds: tuple[int, int]
) -> None:
    """Measure the MB/s of each side by turns, each first in every second round; `rounds` count, and warm up."""
    rates: dict[str, list[float]] = {side: [] for side in sides}

    def both() -> None:
        for side in list(rates)[:: 1 if len(rates[ours]) % 2 else -1]:
            rates[side].append(sides[side]())

    counting, warm_up = rounds if benchmark.enabled else (1, 0)
    benchmark.pedantic(both, rounds=counting, warmup_rounds=warm_up)
    counted = {side: each[warm_up:] for side, each in rates.items()}
    told(benchmark, {f"{side}, MB/s": median(each) for side, each in counted.items()})
    ratios = [mine / other for mine, other in zip(counted[ours], counted[KAFKA], strict=True)]
    told(benchmark, {"times as fast as Kafka": median(ratios)})


@pytest.mark.parametrize("idle", [0, IDLE_PARTITIONS], ids=["alone", "beside-1000-partitions"])
def bench_latency(benchmark: BenchmarkFixture, leaders: dict[str, Address], idle: int) -> None:
    """From a record of 1 KiB to its acknowledgement, at 1,000 a second: seconds of Kafka's for one of ours."""
    with ExitStack() as stack:
        for address in leaders.values():
            if idle:
                stack.enter_context(fetching(str(address), idle if benchmark.enabled else 3))
        measure_latency(benchmark, leaders, f"latency-{idle}")


def measure_latency(benchmark: BenchmarkFixture, leaders: dict[str, Address], topic: str) -> None:
    count = LATENCY_RECORDS if benchmark.enabled else 20
    for address in leaders.values():
        create_topic(str(address), topic)
    found: dict[str, list[tuple[float, float]]] = {side: [] for side in leaders}

    def both() -> None:
        for side in list(found)[:: 1 if len(found[OURS]) % 2 else -1]:
            percentiles = latencies_ms(leaders[side], topic, 1_024, RATE, count)
            found[side].append((percentiles[P50], percentiles[P99]))

    benchmark.pedantic(
        both, rounds=LATENCY_ROUNDS if benchmark.enabled else 1, warmup_rounds=1 if benchmark.enabled else 0
    )
    if benchmark.enabled:
        for each in found.values():
            del each[0]
    for number, name in enumerate(("median", "99th percentile")):
        each = {side: [percentiles[number] for percentiles in rounds] for side, rounds in found.items()}
        told(benchmark, {f"{side}, {name}, ms": median(values) for side, values in each.items()})
        ratios = [ours / kafka for ours, kafka in zip(each[OURS], each[KAFKA], strict=True)]
        told(benchmark, {f"{name}, times as long as Kafka's": median(ratios)})


def told(benchmark: BenchmarkFixture, figures: dict[str, float]) -> None:
    benchmark.extra_info |= {name: round(value, 2) for name, value in figures.items()}
    if benchmark.enabled:
        print(f"\n{figures}")
