"""How fast a log appends, reads, finds, truncates and opens, beside bare `write()` of the same bytes.

`python -m bench.peer` has Kafka's own log beside it.

Batches: 16 KiB of 148 records, where nothing else is said. With --benchmark-enable a log has 1 GiB in 16 segments,
else 4 MiB.
"""

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from shutil import rmtree
from threading import Event, Thread

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.room import require_room
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.indexes.live_offset_index import FIND_SOUND_BATCH
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.view_source import PIECE_BYTES
from logstore.log_config import LogConfig
from logstore.segment.read_view import ReadView
from logstore.segment.single_record import FIND_RECORD_AT

BUILD = Path(__file__).parent.parent / "build/bench/log"
TINY_RECORDS = 8
RECORDS = 148
BIG_RECORDS = 9_600
FIRST_TIMESTAMP = 1_700_000_000_000
FULL, SMALL = 1 << 30, 4 << 20
SEGMENTS = 16
READS = 1_000
LEADER = LogConfig(message_timestamp_after_max_ms=2**63 - 1, max_message_bytes=2 << 20)


def batch(records: int, codec: Codec = Codec.NONE) -> bytes:
    """A batch of records of 100 bytes, a millisecond apart, which compress by about half."""
    rng = random.Random(records)
    made = [
        Record(0, FIRST_TIMESTAMP + number, b"key%05d" % number, rng.randbytes(45) + bytes(45))
        for number in range(records)
    ]
    return bytes(encode_batch(made, BatchTemplate(leader_epoch=0, codec=codec)))


class Source:
    """Batches that follow each other, `group` of them at once, each time in the same memory: it is in the cache too."""

    def __init__(self, records: int, group: int = 1, codec: Codec = Codec.NONE) -> None:
        self.records = records
        one = batch(records, codec)
        self.data = bytearray(one * group)
        self.positions = range(0, len(self.data), len(one))
        self.next_offset = 0
        self.size = len(self.data)

    def next(self) -> bytearray:
        for position in self.positions:
            self.data[position : position + 8] = self.next_offset.to_bytes(8)
            # Base and largest timestamp stay: the checksum covers them.
            self.next_offset += self.records
        return self.data


GROUPS = {"tiny": (TINY_RECORDS, 1), "one": (RECORDS, 1), "32": (RECORDS, 32), "1MiB": (BIG_RECORDS, 1)}
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]


@pytest.fixture
def directory(benchmark: BenchmarkFixture) -> Iterator[Path]:
    size = 2 * FULL if benchmark.enabled else SMALL
    require_room(disk=size, memory=size)
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
    assert os.fstat(descriptor).st_size == source.size * source.next_offset // (len(source.positions) * source.records)
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


def bench_append_that_begins_a_segment(benchmark: BenchmarkFixture, directory: Path) -> None:
    """Nothing of the segment before is flushed."""
    source = Source(RECORDS)
    log = Log.open(directory / "t-0", LogConfig(segment_bytes=FULL // 2 if benchmark.enabled else SMALL))

    def fill() -> tuple[tuple[bytearray], dict[str, int]]:
        log.flush()
        if len(log.segments) > 1:
            log.delete_records(log.segments[-1].base_offset)
            log.delete_old_segments()
        log.roll()
        while log.segments[-1].size + source.size <= log.config.segment_bytes:
            log.append_batches(source.next())
        return (source.next(),), {}

    benchmark.pedantic(log.append_batches, setup=fill, rounds=5 if benchmark.enabled else 2)
    log.abandon()


@pytest.mark.parametrize("appends", ["bare", "log"])
def bench_append_while_another_thread_flushes(
    benchmark: BenchmarkFixture, directory: Path, rounds: int, appends: str
) -> None:
    """1 KiB a call, and without a pause; `bare` is a write beside an fsync of the same file."""
    value = bytes(1_024)
    log = Log.open(directory / "t-0")
    descriptor = os.open(directory / "bare", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    calls: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
        "bare": (lambda: os.write(descriptor, value), lambda: os.fsync(descriptor)),
        "log": (lambda: log.append([value]), log.flush),
    }
    append, flush = calls[appends]
    is_over = Event()
    flushes = Thread(target=lambda: [flush() for _ in iter(is_over.is_set, True)])
    flushes.start()
    benchmark.pedantic(append, rounds=10 * rounds)
    is_over.set()
    flushes.join()
    data = sorted(benchmark.stats.stats.data) if benchmark.enabled else [0.0]
    benchmark.extra_info["µs, 99th percentile"] = data[len(data) * 99 // 100] * 1e6
    os.close(descriptor)
    log.abandon()


def source_share(group: str) -> int:
    """By how much fewer rounds a group takes."""
    return 1 if group in {"tiny", "one"} else 10


@pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name.lower())
def bench_append_compressed_as_follower(
    benchmark: BenchmarkFixture, directory: Path, rounds: int, codec: Codec
) -> None:
    source = Source(RECORDS, codec=codec)
    log = Log.open(directory / "t-0")
    log.append_batches(source.next())
    benchmark.pedantic(log.append_batches, setup=lambda: ((source.next(),), {}), rounds=rounds)
    assert log.log_end_offset == source.next_offset
    log.abandon()


@pytest.mark.parametrize("records", [TINY_RECORDS, RECORDS, BIG_RECORDS], ids=["tiny", "one", "1MiB"])
def bench_append_as_leader(benchmark: BenchmarkFixture, directory: Path, rounds: int, records: int) -> None:
    rounds = max(rounds // 10, 1) if records == BIG_RECORDS else rounds
    lead(benchmark, Log.open(directory / "t-0", LEADER), batch(records), rounds)


@pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name.lower())
def bench_append_compressed_as_leader(benchmark: BenchmarkFixture, directory: Path, rounds: int, codec: Codec) -> None:
    """The producer's codec is kept, so that records are only looked at."""
    lead(benchmark, Log.open(directory / "t-0", LEADER), batch(RECORDS, codec), rounds)


@pytest.mark.parametrize("codec", COMPRESSED, ids=lambda codec: codec.name.lower())
def bench_append_as_leader_that_compresses(
    benchmark: BenchmarkFixture, directory: Path, rounds: int, codec: Codec
) -> None:
    """The topic has a codec of its own."""
    config = replace(LEADER, compression_type=codec.name.lower())
    lead(benchmark, Log.open(directory / "t-0", config), batch(RECORDS), rounds)


def lead(benchmark: BenchmarkFixture, log: Log, data: bytes, rounds: int) -> None:
    first = log.append(data, leader_epoch=0)
    benchmark.pedantic(log.append, (data,), {"leader_epoch": 0}, rounds=rounds)
    assert log.log_end_offset >= 2 * (first.last_offset + 1)
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


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4, Codec.ZSTD], ids=lambda codec: codec.name.lower())
@pytest.mark.parametrize("order", ["at random", "rising"])
def bench_get(benchmark: BenchmarkFixture, directory: Path, order: str, codec: Codec) -> None:
    """Single records by their offsets, of a million in batches of 100."""
    end = 1_000_000 if benchmark.enabled else 1_000
    source = Source(100, codec=codec)
    with Log.open(directory / "t-0", LogConfig(segment_bytes=64 << 20, retention_ms=-1)) as log:
        while log.log_end_offset < end:
            log.append_batches(source.next())
        first = end // 2
        rng = random.Random(1)
        offsets = [
            rng.randrange(end) if order == "at random" else first + number for number in range(min(READS, first))
        ]
        for kernel in (FIND_SOUND_BATCH, FIND_RECORD_AT):
            kernel.get()

        def get_all() -> None:
            for offset in offsets:
                log.get(offset)

        benchmark(get_all)
        benchmark.extra_info["records"] = len(offsets)
        found = log.get(offsets[-1])
        assert found is not None
        assert found.offset == offsets[-1]


def bench_get_by_key(benchmark: BenchmarkFixture, directory: Path) -> None:
    """The last records of keys, of a million that have a key each."""
    end = 1_000_000 if benchmark.enabled else 1_000
    with Log.open(directory / "t-0", LogConfig(segment_bytes=64 << 20, retention_ms=-1)) as log:
        for first in range(0, end, 100):
            log.append([Record.of(bytes(100), b"key%09d" % number) for number in range(first, first + 100)])
        rng = random.Random(1)
        keys = [b"key%09d" % rng.randrange(end) for _ in range(READS)]
        for kernel in (FIND_SOUND_BATCH, FIND_RECORD_AT):
            kernel.get()

        def get_all() -> None:
            for key in keys:
                log.get(key=key)

        benchmark(get_all)
        benchmark.extra_info["records"] = len(keys)
        found = log.get(key=keys[-1])
        assert found is not None
        assert found.key == keys[-1]


@pytest.mark.parametrize("held", [False, True], ids=["dropped", "held"])
def bench_read_behind_an_append(benchmark: BenchmarkFixture, directory: Path, rounds: int, held: bool) -> None:
    """A kilobyte that was just appended, by a reader that keeps up."""
    source = Source(TINY_RECORDS)
    views: list[ReadView] = []
    mappings = count_mappings()
    with Log.open(directory / "t-0") as log:

        def append() -> None:
            log.append_batches(source.next())
            if not held:
                views.clear()

        def read() -> None:
            views.append(log.read(log.log_end_offset - TINY_RECORDS, PIECE_BYTES))

        benchmark.pedantic(read, setup=append, rounds=rounds)
        assert views[-1].next_offset == source.next_offset
        benchmark.extra_info["mappings"] = count_mappings() - mappings


def count_mappings() -> int:
    """How many mappings this process has."""
    return len(Path("/proc/self/maps").read_text().splitlines())


def bench_offset_for_timestamp(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    with filled() as log:
        rng = random.Random(1)
        timestamps = [FIRST_TIMESTAMP + rng.randrange(RECORDS) for _ in range(READS)]

        def find() -> None:
            for timestamp in timestamps:
                log.offset_for_timestamp(timestamp)

        benchmark(find)
        found = log.offset_for_timestamp(timestamps[0])
        assert found is not None
        assert found.offset == timestamps[0] - FIRST_TIMESTAMP


def bench_open_after_a_clean_stop(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    opened: list[Log] = [filled()]

    def close() -> None:
        opened.pop().close()

    benchmark.pedantic(lambda: opened.append(filled()), setup=close, rounds=5)
    assert opened[-1].report.recovered_segments == 0
    close()


def bench_truncate_within_the_last_segment(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    with filled() as log:
        end, rounds = log.log_end_offset, 3 if benchmark.enabled else 1
        benchmark.pedantic(lambda: log.truncate_to(log.log_end_offset - 2 * RECORDS), rounds=rounds)
        assert log.log_end_offset == end - rounds * 2 * RECORDS


def bench_truncate_to_the_middle(benchmark: BenchmarkFixture, filled: Callable[[], Log]) -> None:
    with filled() as log:
        benchmark.pedantic(lambda: log.truncate_to(log.log_end_offset // 2), rounds=1)
        assert len(log.segments) < SEGMENTS
