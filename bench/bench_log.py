"""How fast a log appends, reads, finds, truncates and opens, beside bare `write()` of the same bytes.

`python -m bench.peer` has Kafka's own log beside it.

Batches: 16 KiB of 148 records. With --benchmark-enable a log has 1 GiB in 16 segments, else 4 MiB.
"""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import rmtree

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from logstore.batch_template import BatchTemplate
from logstore.encoding import encode_batch
from logstore.isolation import Isolation
from logstore.log import Log
from logstore.log_config import LogConfig
from logstore.record import Record

BUILD = Path(__file__).parent.parent / "build/bench/log"
RECORDS = 148
BIG_RECORDS = 9_600
FIRST_TIMESTAMP = 1_700_000_000_000
FULL, SMALL = 1 << 30, 4 << 20
SEGMENTS = 16
READS = 1_000


def batch(records: int) -> bytes:
    """A batch of records of 100 bytes, a millisecond apart."""
    made = [Record(0, FIRST_TIMESTAMP + number, b"key%05d" % number, b"v" * 90) for number in range(records)]
    return bytes(encode_batch(made, BatchTemplate(leader_epoch=0)))


class Source:
    """Batches that follow each other, `group` of them at once."""

    def __init__(self, records: int, group: int = 1) -> None:
        self.records = records
        self.content = [bytearray(batch(records)) for _ in range(group)]
        self.next_offset = 0
        self.size = sum(map(len, self.content))

    def next(self) -> bytes:
        for content in self.content:
            content[:8] = self.next_offset.to_bytes(8)
            # Base and largest timestamp stay: the checksum covers them.
            self.next_offset += self.records
        return b"".join(self.content)


GROUPS = {"one": (RECORDS, 1), "32": (RECORDS, 32), "1MiB": (BIG_RECORDS, 1)}


@pytest.fixture
def directory() -> Iterator[Path]:
    rmtree(BUILD, ignore_errors=True)
    BUILD.mkdir(parents=True)
    yield BUILD
    rmtree(BUILD)


@pytest.fixture
def rounds(benchmark: BenchmarkFixture) -> int:
    return 3_000 if benchmark.enabled else 3


@pytest.mark.parametrize("group", GROUPS)
def bench_bare_write(benchmark: BenchmarkFixture, directory: Path, rounds: int, group: str) -> None:
    source = Source(*GROUPS[group])
    descriptor = os.open(directory / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    write = lambda data: os.write(descriptor, data)  # noqa: E731  as the log is called
    benchmark.pedantic(write, setup=lambda: ((source.next(),), {}), rounds=max(rounds // source_share(group), 1))
    os.close(descriptor)


@pytest.mark.parametrize("group", GROUPS)
def bench_append_as_follower(benchmark: BenchmarkFixture, directory: Path, rounds: int, group: str) -> None:
    source = Source(*GROUPS[group])
    log = Log.open(directory / "t-0")
    log.append_batches(source.next())
    benchmark.pedantic(
        log.append_batches, setup=lambda: ((source.next(),), {}), rounds=max(rounds // source_share(group), 1)
    )
    assert log.log_end_offset == source.next_offset
    log.abandon()


def source_share(group: str) -> int:
    """By how much fewer rounds a group takes."""
    return 1 if group == "one" else 10


def bench_append_as_leader(benchmark: BenchmarkFixture, directory: Path, rounds: int) -> None:
    log = Log.open(directory / "t-0", LogConfig(message_timestamp_after_max_ms=2**63 - 1))
    data = batch(RECORDS)
    log.append(data, leader_epoch=0)
    benchmark.pedantic(lambda: log.append(data, leader_epoch=0), rounds=rounds)
    log.abandon()


@pytest.fixture
def filled(benchmark: BenchmarkFixture, directory: Path) -> Callable[[], Log]:
    """A log of many segments, opened anew at each call."""
    size = FULL if benchmark.enabled else SMALL
    config = LogConfig(segment_bytes=size // SEGMENTS, retention_ms=-1)
    source = Source(RECORDS)
    with Log.open(directory / "t-0", config) as log:
        while log.size < size - source.size:
            log.append_batches(source.next())
    return lambda: Log.open(directory / "t-0", config)


@pytest.mark.parametrize("max_bytes", [16 << 10, 1 << 20])
@pytest.mark.parametrize("isolation", [Isolation.LOG_END, Isolation.HIGH_WATERMARK])
def bench_read(benchmark: BenchmarkFixture, filled: Callable[[], Log], max_bytes: int, isolation: Isolation) -> None:
    with filled() as log:
        log.update_high_watermark(log.log_end_offset - 1)
        rng = random.Random(1)
        offsets = [rng.randrange(log.log_end_offset - 1) for _ in range(READS)]

        def read() -> None:
            for offset in offsets:
                log.read(offset, max_bytes, isolation=isolation)

        benchmark(read)
        assert log.read(offsets[0], max_bytes).data


def bench_offset_for_timestamp(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    with filled() as log:
        timestamps = [FIRST_TIMESTAMP + random.Random(1).randrange(RECORDS) for _ in range(READS)]

        def find() -> None:
            for timestamp in timestamps:
                log.offset_for_timestamp(timestamp)

        benchmark(find)


def bench_open_after_a_clean_stop(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    opened: list[Log] = [filled()]

    def close() -> None:
        opened.pop().close()

    benchmark.pedantic(lambda: opened.append(filled()), setup=close, rounds=5)
    assert opened[-1].report.recovered_segments == 0
    close()


def bench_truncate_within_the_last_segment(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    with filled() as log:
        benchmark.pedantic(lambda: log.truncate_to(log.log_end_offset - 2 * RECORDS), rounds=3)


def bench_truncate_to_the_middle(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    with filled() as log:
        benchmark.pedantic(lambda: log.truncate_to(log.log_end_offset // 2), rounds=1)
        assert len(log.segments) < SEGMENTS
