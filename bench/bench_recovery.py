"""How fast a log is recovered after a crash; `python -m bench.peer` has Kafka's own LogLoader beside it.

One segment of 1 GiB, written in batches of 16 KiB as a broker does, so that the page cache holds it in the same
pieces. A fresh mapping pays a page fault for each of them; a touched one has been read before. Without
--benchmark-enable everything is small.
"""

import functools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.replica import BATCH_BYTES, RECORDS, log, one_batch
from bench.room import BUILD, require_room
from logstore import Log, encode_batch
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.file_name import FileKind, file_name
from logstore.kernels.recover import recover
from logstore.kernels.recovery_state import RecoveryColumns, Slot, new_state
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.recovery.log_loader import load_log
from logstore.topic_partition import TopicPartition

FULL, SMALL = 1 << 30, 1 << 20
ROUNDS = 5
PARTITIONS = 10_000
BYTES_OF_A_PARTITION = 64 << 10
"""On the disk: a few blocks for each of its files, and its directory."""
CONFIG = LogConfig()


@functools.cache
def appended(size: int) -> Path:
    """A log file that was written just now, 16 KiB at a time: one that the page cache has read back maps faster."""
    require_room(disk=size, memory=3 * size)
    path = BUILD / f"recovery-{size}.log"
    content = log(size).read_bytes()
    path.unlink(missing_ok=True)
    with open(path, "wb", buffering=0) as file:
        file.writelines(content[start : start + BATCH_BYTES] for start in range(0, len(content), BATCH_BYTES))
    return path


def crashed_log(size: int) -> Path:
    """A partition directory with one segment, nothing flushed, hard-linked (nothing is torn)."""
    directory = BUILD / "recovery" / "t-0"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    os.link(appended(size), directory / file_name(FileKind.LOG, 0))
    return directory


def size_of(benchmark: BenchmarkFixture) -> int:
    return SMALL if benchmark.disabled else FULL


def measure(benchmark: BenchmarkFixture, call: Callable[[], object], size: int) -> None:
    benchmark.pedantic(call, rounds=1 if benchmark.disabled else ROUNDS, warmup_rounds=1)
    if not benchmark.disabled:
        benchmark.extra_info["GB/s"] = round(size / benchmark.stats.stats.median / 1e9, 2)


def bench_recovery_of_a_log(benchmark: BenchmarkFixture) -> None:
    size = size_of(benchmark)
    directory = crashed_log(size)

    def load() -> None:
        loaded = load_log(directory, CONFIG)
        assert loaded.report.recovered_bytes >= size * 9 // 10
        for path in directory.glob("*.snapshot"):
            path.unlink()

    measure(benchmark, load, size)


@pytest.mark.parametrize("touched", [False, True], ids=["fresh", "touched"])
def bench_recovery_kernel(benchmark: BenchmarkFixture, *, touched: bool) -> None:
    path = appended(size_of(benchmark))
    kept = LogFile.open(path)

    def go_over() -> int:
        log = kept if touched else LogFile.open(path)
        data: np.ndarray[tuple[int], np.dtype[np.uint8]] = log.array
        state, columns = new_state(0), RecoveryColumns()
        while recover(data, len(data), base_offset=0, interval=4_096, state=state, columns=columns) == 1:
            pass
        return int(state[Slot.LAST_OFFSET])

    measure(benchmark, go_over, size_of(benchmark))
    assert go_over() == path.stat().st_size // len(one_batch()) * RECORDS - 1


def bench_opening_a_log_after_a_crash(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """A log of 200 segments whose process has died: the processor time of the cheapest round."""
    segments, size = (3, SMALL) if benchmark.disabled else (200, SMALL)
    require_room(disk=segments * size, memory=segments * size)
    directory = tmp_path / "t-0"
    log = Log.open(directory, LogConfig(segment_bytes=size))
    batch = encode_batch([b"x" * 100] * 140)
    while len([*directory.glob(f"*{FileKind.LOG}")]) < segments:
        for _ in range(size // len(batch)):
            log.append(batch)
    end = log.log_end_offset
    log.abandon()
    costs: list[float] = []

    def open_again() -> None:
        before = time.process_time()
        opened = Log.open(directory, LogConfig(segment_bytes=size))
        costs.append(time.process_time() - before)
        assert opened.log_end_offset == end
        opened.abandon()

    benchmark.pedantic(open_again, rounds=1 if benchmark.disabled else 2 * ROUNDS)
    if not benchmark.disabled:
        benchmark.extra_info["ms of processor time, least"] = round(min(costs) * 1e3, 1)


def bench_opening_a_root_of_many_partitions(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    count = 20 if benchmark.disabled else PARTITIONS
    require_room(disk=count * BYTES_OF_A_PARTITION)
    records = [Record(0, time.time_ns() // 1_000_000, b"key", b"value" * 20)] * 3
    with LogDirectory.open(tmp_path / "root") as directory:
        for number in range(count):
            directory.create(TopicPartition("topic", number)).append(records, leader_epoch=0)

    before = resident_bytes()
    opened = benchmark.pedantic(LogDirectory.open, (tmp_path / "root",), rounds=1)
    benchmark.extra_info["bytes per partition"] = (resident_bytes() - before) // count
    assert len(opened.partitions) == count
    opened.abandon()


def resident_bytes() -> int:
    """What the process has in memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
