"""Every hot path once, beside what a program would use otherwise: `make bench-quick` measures it in two minutes."""

from shutil import rmtree

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.quick.works import WORKS, Work
from bench.room import BUILD, require_room

FULL, SMALL = 64 << 20, 1 << 20
DISK = 4 << 30


@pytest.mark.parametrize("work", WORKS, ids=lambda work: f"{work.group}, {work.name}".replace(" ", "-"))
def bench_hot_path(benchmark: BenchmarkFixture, work: Work) -> None:
    require_room(disk=DISK, memory=DISK // 4)
    directory = BUILD / "quick"
    rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    benchmark.group, benchmark.name = work.group, work.name
    with work.opened(directory, FULL if benchmark.enabled else SMALL) as call:
        benchmark(call)
    rmtree(directory)
