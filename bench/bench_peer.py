"""All that `python -m bench.peer` measures, once and small: both sides can do it, and find the same."""

from pathlib import Path

from pytest_benchmark.fixture import BenchmarkFixture

from bench.peer.comparison import compare, needed
from bench.peer.turns import Settings
from bench.results import OURS
from bench.room import require_room
from tests.oracle.kafka import classpath
from tests.oracle.release import BENCHMARKED

SIZE = 2 << 20


def bench_both_sides(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    classpath(BENCHMARKED)  # skips where Kafka's classes cannot be had
    require_room(**needed(SIZE))
    settings = Settings(tmp_path, SIZE, rounds=1, warm_up=0, calls=500)
    rows = benchmark.pedantic(lambda: list(compare(settings, kafka=True, measured=False)), rounds=1)
    for row in rows:
        assert not row.skipped, row.name
        assert len(row.times) > 1, row.name
        assert all(times[0] > 0 for times in row.times.values()), row.name
    assert len({row.name for row in rows}) == len(rows)


def bench_our_side_without_kafka(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    require_room(**needed(SIZE))
    settings = Settings(tmp_path, SIZE, rounds=1, warm_up=0, calls=500)
    wanted = {
        "records as columns",
        "end offset for an epoch, 10 epochs",
        "offset index lookup",
        "truncate to the middle",
    }
    rows = benchmark.pedantic(lambda: list(compare(settings, kafka=False, wanted=wanted.__contains__)), rounds=1)
    assert {row.name: list(row.times) for row in rows} == {name: [OURS] for name in wanted}
