"""`python -m bench.cold_start` once: what it measures is real commands, compiled anew."""

import shutil

from pytest_benchmark.fixture import BenchmarkFixture

from bench.cold_start import KEPT, NEEDED, rows
from bench.results import OURS
from bench.room import require_room


def bench_first_and_later_commands(benchmark: BenchmarkFixture) -> None:
    require_room(disk=NEEDED, memory=NEEDED)
    wanted = {"import logstore", "epochlog verify"}
    try:
        measured = benchmark.pedantic(lambda: list(rows(1, wanted.__contains__)), rounds=1)
    finally:
        shutil.rmtree(KEPT, ignore_errors=True)
    assert [row.name for row in measured] == ["import logstore", "epochlog verify, the first", "epochlog verify, later"]
    assert all(row.times[OURS][0] > 0 for row in measured)
