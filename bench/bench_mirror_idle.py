"""What 10,000 partitions without news cost a mirror: processor time, memory, descriptors and mappings.

The leader is a program of ours that speaks Kafka's protocol with fetch sessions, since a single real broker takes long
to make so many partitions; the mirror is `epochlog mirror` in a process of its own. 20 without --benchmark-enable.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.room import require_room
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition

PROJECT = Path(__file__).parent.parent
BUILD = PROJECT / "build/bench/mirror-idle"
FULL, SMALL = 10_000, 20
IDLE_SECONDS = {FULL: 60.0, SMALL: 1.0}
BYTES_OF_A_PARTITION = 64 << 10
"""On the disk, and in the memory of leader and mirror together."""
SETTLED_SECONDS = 10.0
SECONDS = 900
TICKS = os.sysconf("SC_CLK_TCK")


def lead(root: Path, count: int) -> None:
    """Lead so many partitions, all with one log, until the process is ended."""
    from tests.replication.cluster.mirror.wire_leader import WireLeader  # noqa: PLC0415  the benchmark's own process needs none

    with Log.open(root / "idle-0", LogConfig()) as log, WireLeader() as leader:
        log.append([Record.of(b"one")], leader_epoch=0)
        log.update_high_watermark(1)
        for number in range(count):
            leader.lead(TopicPartition("idle", number), log, 0)
        print(leader.bootstrap, flush=True)
        time.sleep(SECONDS)


@pytest.fixture
def leader(benchmark: BenchmarkFixture) -> Iterator[tuple[str, int]]:
    """Its address, and how many partitions it leads."""
    count = FULL if benchmark.enabled else SMALL
    require_room(disk=count * BYTES_OF_A_PARTITION, memory=count * BYTES_OF_A_PARTITION)
    shutil.rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    command = [sys.executable, "-m", "bench.bench_mirror_idle", str(BUILD), str(count)]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip(), count
        process.kill()
    shutil.rmtree(BUILD)


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def megabytes(pid: int) -> float:
    (line,) = [each for each in Path(f"/proc/{pid}/status").read_text().splitlines() if each.startswith("VmRSS")]
    return int(line.split()[1]) / 1e3


def bench_idle_partitions(benchmark: BenchmarkFixture, leader: tuple[str, int]) -> None:
    """The time of pytest-benchmark is how long it idles; the costs stand in its extra information."""
    address, count = leader
    words = ["mirror", "--bootstrap", address, "--topics", "idle", "--output", str(BUILD / "copy"), "--json"]
    with (
        open(BUILD / "out", "wb") as out,
        subprocess.Popen([sys.executable, "-m", "replication.cli", *words], cwd=PROJECT, stdout=out) as process,
    ):
        deadline = time.monotonic() + SECONDS
        while b'"lagging": 0' not in (BUILD / "out").read_bytes():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        time.sleep(SETTLED_SECONDS if benchmark.enabled else 0)
        before, begun = cpu_seconds(process.pid), time.monotonic()
        benchmark.pedantic(time.sleep, args=(IDLE_SECONDS[count],), rounds=1)
        share = (cpu_seconds(process.pid) - before) / (time.monotonic() - begun)
        measured = {
            "partitions": count,
            "processor, % of a core": round(100 * share, 2),
            "memory, MB": round(megabytes(process.pid)),
            "descriptors": len(os.listdir(f"/proc/{process.pid}/fd")),  # noqa: PTH208  only their number counts
            "mappings": len(Path(f"/proc/{process.pid}/maps").read_text().splitlines()),
        }
        process.terminate()
        assert process.wait(SECONDS) == 0
    benchmark.extra_info |= measured
    if benchmark.enabled:
        print(f"\n{measured}")


if __name__ == "__main__":
    lead(Path(sys.argv[1]), int(sys.argv[2]))
