"""How fast a partition is verified: in the library, and as a whole command.

`python -m bench.peer` has Kafka's own tool beside the command.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_log import COMPRESSED, RECORDS, batch
from bench.replica import LOG_NAME, partition
from epoch.checkpoint import format_checkpoint
from logstore.batch.compression.codec import Codec
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


@pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name.lower())
def bench_verify_compressed_records(benchmark: BenchmarkFixture, tmp_path: Path, codec: Codec) -> None:
    """Batches of 16 KiB before compression, one the copy of the other but for its offset, which no checksum covers."""
    content, batches = batch(RECORDS, codec)[8:], 4 if benchmark.disabled else 4_096
    directory = tmp_path / "t-0"
    directory.mkdir()
    log = b"".join((number * RECORDS).to_bytes(8) + content for number in range(batches))
    (directory / LOG_NAME).write_bytes(log)
    (directory / "leader-epoch-checkpoint").write_bytes(format_checkpoint([(0, 0)]))

    def verify() -> set[str]:
        return {finding.kind for finding in verify_partition(PartitionDirectory.open(directory), records=True)}

    assert benchmark.pedantic(verify, rounds=1 if benchmark.disabled else 5, warmup_rounds=1) == {"index-missing"}
    if not benchmark.disabled:
        benchmark.extra_info["µs a batch"] = round(benchmark.stats.stats.median / batches * 1e6, 1)


def measure_command(benchmark: BenchmarkFixture, *words: object) -> None:
    """Run a command of ours in processes of its own; what it prints is thrown away where it is measured."""
    command = [sys.executable, "-m", "replication.cli", *map(str, words)]
    output, rounds = (subprocess.PIPE, 1) if benchmark.disabled else (subprocess.DEVNULL, 3)
    done = benchmark.pedantic(lambda: subprocess.run(command, stdout=output, check=True), rounds=rounds)
    assert done.stdout or not benchmark.disabled
