"""How fast Spark reads records from segments: all columns, by headers alone, and a few offsets found by the indexes."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pytest_benchmark.fixture import BenchmarkFixture

from bench.processor import processor_seconds
from bench.replica import RECORDS, one_batch, partition
from replication.audit import count_records, start_session
from tests.conftest import require_java_for_spark

FULL, SMALL = 1 << 30, 4 << 20
SEEK, SEEK_SMALL = 205 << 20, 4 << 20
OFFSETS = 1_000
GIB = 1 << 30
WARM_UPS = 2


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """A session of two cores, as long as this file is measured; or that of tests, which goes on."""
    require_java_for_spark()
    is_ours = SparkContext._active_spark_context is None  # noqa: SLF001  no thread has to know of it as its own
    session = start_session("local[2]")
    yield session
    if is_ours:
        session.stop()


def bench_records_all_columns(benchmark: BenchmarkFixture, spark: SparkSession) -> None:
    """Every column of every record, uncompressed, to a sink that does nothing."""
    place, size, count = made(FULL, SMALL, benchmark)
    table = logs(spark, place, rows="records")
    costs = measured(benchmark, lambda: table.write.format("noop").mode("overwrite").save())
    note(benchmark, costs, size, count)
    assert logs(spark, place, rows="records", columns="partition").count() == count


def bench_count_of_records(benchmark: BenchmarkFixture, spark: SparkSession) -> None:
    """`count(*)`, of a column that headers tell."""
    place, size, count = made(FULL, SMALL, benchmark)
    table = logs(spark, place, rows="records", columns="partition")
    costs = measured(benchmark, lambda: expect(table, count))
    note(benchmark, costs, size, count)


def bench_count_records(benchmark: BenchmarkFixture, spark: SparkSession) -> None:
    """The same number, counted in the tasks that read."""
    place, size, count = made(FULL, SMALL, benchmark)

    def query() -> None:
        assert count_records(spark, place) == count

    costs = measured(benchmark, query)
    note(benchmark, costs, size, count)


def bench_thousand_offsets(benchmark: BenchmarkFixture, spark: SparkSession) -> None:
    """A thousand offsets in the middle of a segment; beside it what Spark takes for a query of nothing."""
    place, _, count = made(SEEK, SEEK_SMALL, benchmark)
    first = count // 2
    table = logs(spark, place, rows="records", startingOffsets=str(first), endingOffsets=str(first + OFFSETS))
    measured(benchmark, lambda: expect(table, OFFSETS))
    if benchmark.disabled:
        return
    own = sorted(seconds(lambda: spark.range(1).count()) for _ in range(9))[4]
    benchmark.extra_info["s beyond Spark's own"] = round(benchmark.stats.stats.median - own, 3)


def made(full: int, small: int, benchmark: BenchmarkFixture) -> tuple[Path, int, int]:
    """Write a partition of records of 100 bytes: its directory, the log's bytes, and how many records it has."""
    directory = partition(small if benchmark.disabled else full)
    size = sum(path.stat().st_size for path in directory.glob("*.log"))
    return directory, size, size // len(one_batch()) * RECORDS


def logs(spark: SparkSession, place: Path, **options: str) -> DataFrame:
    return spark.read.format("kafka-log").options(**options).load(str(place))


def expect(table: DataFrame, count: int) -> None:
    assert table.count() == count


def measured(benchmark: BenchmarkFixture, query: Callable[[], None]) -> list[float]:
    """Run a query some times after Java and Python have warmed up; return each one's processor time in seconds."""
    costs: list[float] = []

    def run() -> None:
        before = processor_seconds()
        query()
        costs.append(processor_seconds() - before)

    rounds = 1 if benchmark.disabled else 5
    benchmark.pedantic(run, rounds=rounds, warmup_rounds=0 if benchmark.disabled else WARM_UPS)
    return costs[-rounds:]


def note(benchmark: BenchmarkFixture, costs: list[float], size: int, count: int) -> None:
    cost = sorted(costs)[len(costs) // 2]
    if not benchmark.disabled:
        benchmark.extra_info["core-s/GiB"] = round(cost / (size / GIB), 2)
        benchmark.extra_info["M records/s and core"] = round(count / cost / 1e6, 2)


def seconds(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun
