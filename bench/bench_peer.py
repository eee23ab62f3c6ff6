"""All that `python -m bench.peer` measures, once and small: both sides can do it."""

from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from bench.peer.comparison import Comparison
from tests.oracle.kafka import JavaProgram

SIZE = 4 << 20


def bench_both_sides(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    with JavaProgram("LogTimer") as program:
        works = Comparison(program, tmp_path, SIZE, rounds=1, warm_up=0).works()
        rows = benchmark.pedantic(lambda: [measure(name) for name, measure in works.items()], rounds=1)
    for row in rows:
        assert row.times["epochlog"][0] > 0 < row.times["Kafka"][0], row.name
