"""How fast `advise` reads and judges three replicas of a partition: in the library, and as a whole command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.replica import partition
from bench.room import BUILD, require_room
from replication.copies.audit.judgement.verdict import Verdict
from replication.copies.audit.local_judging import judge_replicas
from replication.planning import open_replicas

FULL, SMALL = 1 << 30, 1 << 20
REPLICAS = 3


def roots_of(size: int) -> list[Path]:
    """Make three roots whose copies of a partition are equal, each in files of its own."""
    source = partition(size)
    target = BUILD / f"advise-{size}"
    require_room(memory=REPLICAS * size)
    if not target.exists():
        require_room(disk=REPLICAS * size)
        partial = target.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        for number in range(1, REPLICAS + 1):
            shutil.copytree(source, partial / f"broker-{number}" / "bench-0")
        partial.rename(target)
    return sorted(target.iterdir())


@pytest.fixture
def roots(benchmark: BenchmarkFixture) -> list[Path]:
    """The three roots, small ones where nothing is measured."""
    return roots_of(SMALL if benchmark.disabled else FULL)


def bench_advise_on_three_replicas(benchmark: BenchmarkFixture, roots: list[Path]) -> None:
    """All bytes of three copies of a GiB, in the page cache, with warm kernels: aimed at two seconds."""

    def judge() -> None:
        [judged] = judge_replicas(open_replicas(roots))
        assert judged.verdict.verdicts == (Verdict.IDENTICAL,)

    benchmark.pedantic(judge, rounds=1 if benchmark.disabled else 5, warmup_rounds=1)
    if not benchmark.disabled:
        median = benchmark.stats.stats.median
        benchmark.extra_info |= {
            "seconds": round(median, 2),
            "GB/s": round(REPLICAS * FULL / 1e9 / median, 2),
            "cores": len(os.sched_getaffinity(0)),
        }


@pytest.mark.parametrize("options", [(), ("--epochs-only",)], ids=["records", "epochs"])
def bench_advise(benchmark: BenchmarkFixture, roots: list[Path], options: tuple[str, ...]) -> None:
    """The whole command, with Python's start."""
    command = [sys.executable, "-m", "replication.cli", "advise", *map(str, roots), *options]
    rounds = 1 if benchmark.disabled else 3
    done = benchmark.pedantic(lambda: subprocess.run(command, stdout=subprocess.PIPE, check=True), rounds=rounds)
    assert b"any replica may lead" in done.stdout or b"by leader epochs" in done.stdout
