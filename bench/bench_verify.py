"""How fast a partition is verified: in the library, and as a whole command beside Kafka's own tool."""

import subprocess
import sys
import time
from collections.abc import Callable
from statistics import median

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.replica import log, partition
from logstore.partition_directory import PartitionDirectory
from logstore.verify import verify_partition
from tests.oracle.kafka import classpath

FULL, SMALL = 1 << 30, 1 << 20
DUMP_TOOL = "org.apache.kafka.tools.DumpLogSegments"


def size(benchmark: BenchmarkFixture) -> int:
    return SMALL if benchmark.disabled else FULL


@pytest.mark.parametrize("records", [False, True], ids=["batches", "records"])
def bench_verify_on_a_fresh_mapping(benchmark: BenchmarkFixture, records: bool) -> None:
    directory = PartitionDirectory.open(partition(size(benchmark)))

    def verify() -> None:
        assert list(verify_partition(directory, records=records)) == []

    benchmark.pedantic(verify, rounds=1 if benchmark.disabled else 5, warmup_rounds=1)
    if not benchmark.disabled:
        benchmark.extra_info["GB/s"] = round(FULL / 1e9 / benchmark.stats.stats.median, 2)


def epochlog(*arguments: object) -> Callable[[], None]:
    return command([sys.executable, "-m", "replication.cli", *map(str, arguments)])


def kafka(*arguments: object) -> Callable[[], None]:
    return command(["java", "-Xmx1g", "-cp", classpath(), DUMP_TOOL, *map(str, arguments)])


def command(arguments: list[str]) -> Callable[[], None]:
    def run() -> None:
        subprocess.run(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    return run


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(("verify", "--records"), ("--deep-iteration",)), (("verify",), ("--deep-iteration",))],
    ids=["verify --records", "verify"],
)
def bench_whole_command_beside_kafkas(
    benchmark: BenchmarkFixture, ours: tuple[str, ...], theirs: tuple[str, ...]
) -> None:
    beside(
        benchmark,
        epochlog(*ours, partition(size(benchmark))),
        kafka(*theirs, "--files", log(size(benchmark))),
    )


def beside(benchmark: BenchmarkFixture, ours: Callable[[], None], theirs: Callable[[], None]) -> None:
    """Run the two in turn, and put Kafka's median and the ratio beside ours."""
    rounds = 1 if benchmark.disabled else 3
    kafkas: list[float] = []

    def their_turn() -> None:
        start = time.perf_counter()
        theirs()
        kafkas.append(time.perf_counter() - start)

    benchmark.pedantic(ours, setup=their_turn, rounds=rounds)
    if not benchmark.disabled:
        benchmark.extra_info["kafka_seconds"] = round(median(kafkas), 2)
        benchmark.extra_info["times_as_fast"] = round(median(kafkas) / benchmark.stats.stats.median, 1)
