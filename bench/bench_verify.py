"""How fast a partition is verified: in the library, and as a whole command.

`python -m bench.peer` has Kafka's own tool beside the command.
"""

import subprocess
import sys

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.replica import partition
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import verify_partition

FULL, SMALL = 1 << 30, 1 << 20


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


@pytest.mark.parametrize("options", [(), ("--records",)], ids=["batches", "records"])
def bench_verify(benchmark: BenchmarkFixture, options: tuple[str, ...]) -> None:
    measure_command(benchmark, "verify", *options, partition(size(benchmark)))


def measure_command(benchmark: BenchmarkFixture, *words: object) -> None:
    """Run a command of ours in processes of its own; what it prints is thrown away where it is measured."""
    command = [sys.executable, "-m", "replication.cli", *map(str, words)]
    output, rounds = (subprocess.PIPE, 1) if benchmark.disabled else (subprocess.DEVNULL, 3)
    done = benchmark.pedantic(lambda: subprocess.run(command, stdout=output, check=True), rounds=rounds)
    assert done.stdout or not benchmark.disabled
