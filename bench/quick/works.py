"""What `make bench-quick` measures: each hot path once, and beside it what a program would use otherwise."""

import os
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count, cycle, repeat
from pathlib import Path
from typing import Final

import crc32c
import numpy as np

from bench.bench_log import RECORDS, Source
from bench.peer.stores import LMDB, PLAIN, SQLITE, STORES, SqliteStore
from bench.replica import log as log_file
from bench.results import OURS
from epoch import EpochHistory, LeaderEpochCheckpoint, LeaderEpochFileCache
from epoch.bulk import EpochTable
from logstore import LogConfig, encode_batch
from logstore.batch.batch import RecordBatch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.offline.log_file import LogFile

LOG_END: Final = 10**9
VALUE: Final = random.Random(1).randbytes(50) + bytes(50)
"""100 bytes that compress by about half."""
MANY: Final = 10_000
CONFIG: Final = LogConfig(segment_bytes=64 << 20, retention_ms=-1)

Call = Callable[[], object]


@dataclass(frozen=True)
class Work:
    """What one call of a benchmark does, in words, and how to get ready for it."""

    group: str
    name: str
    opened: Callable[[Path, int], AbstractContextManager[Call]]
    """Takes an empty directory, and of how many bytes a log is."""


WORKS: Final[list[Work]] = []


def _work(group: str, name: str, *options: object) -> Callable[[Callable[..., Iterator[Call]]], Callable[..., object]]:
    """List a generator function as a piece of work, which takes these options behind the directory and the size."""

    def listed(function: Callable[..., Iterator[Call]]) -> Callable[..., Iterator[Call]]:
        opened = contextmanager(function)
        WORKS.append(Work(group, name, lambda directory, size: opened(directory, size, *options)))
        return function

    return listed


def _history(epochs: int) -> EpochHistory:
    return EpochHistory((2 * row, row * 100) for row in range(epochs))


@_work("end_offset_for", "10 epochs", 10)
@_work("end_offset_for", "1,000 epochs", 1_000)
@_work("end_offset_for", "100,000 epochs", 100_000)
def _end_offset_for(_: Path, _size: int, epochs: int) -> Iterator[Call]:
    cache = LeaderEpochFileCache(_history(epochs))
    rng = random.Random(epochs)
    rows = [rng.randrange(epochs - 1) for _ in range(1_000)]
    assert all(cache.end_offset_for(2 * row, LOG_END) == (2 * row, 100 * (row + 1)) for row in rows)
    yield map(cache.end_offset_for, cycle([2 * row for row in rows]), repeat(LOG_END)).__next__


@_work("end_offset_for", "beside it: bisect in a list of 1,000 epochs")
def _bisect(_: Path, _size: int) -> Iterator[Call]:
    epochs = [2 * row for row in range(1_000)]
    rng = random.Random(1_000)
    yield map(bisect_right, repeat(epochs), cycle([2 * rng.randrange(999) for _ in range(1_000)])).__next__


@_work("end_offset_for", "100,000 questions in one call, 1,000 epochs")
def _end_offsets_for(_: Path, _size: int) -> Iterator[Call]:
    known = _history(1_000)
    table = EpochTable([known])
    epochs = np.random.default_rng(1).integers(0, 1_998, 100_000)
    answers = table.end_offsets_for(0, epochs, LOG_END)
    assert (answers.epochs[0], answers.end_offsets[0]) == known.end_offset_for(int(epochs[0]), LOG_END)
    yield partial(table.end_offsets_for, 0, epochs, LOG_END)


@_work("leader-epoch checkpoint of 1,000 epochs", "write")
def _write_checkpoint(directory: Path, _size: int) -> Iterator[Call]:
    checkpoint, entries = LeaderEpochCheckpoint(directory), _history(1_000).entries
    yield partial(checkpoint.write, entries)
    assert len(LeaderEpochFileCache.open(directory)) == 1_000


@_work("leader-epoch checkpoint of 1,000 epochs", "read")
def _read_checkpoint(directory: Path, _size: int) -> Iterator[Call]:
    LeaderEpochCheckpoint(directory).write(_history(1_000).entries)
    assert len(LeaderEpochFileCache.open(directory)) == 1_000
    yield partial(LeaderEpochFileCache.open, directory)


@_work("append 16 KiB", "as follower")
def _follow(directory: Path, _size: int) -> Iterator[Call]:
    source = Source(RECORDS)
    with Log.open(directory / "t-0", CONFIG) as log:
        yield lambda: log.append_batches(source.next())
        assert log.log_end_offset == source.next_offset


@_work("append 16 KiB", "as leader")
def _lead(directory: Path, _size: int) -> Iterator[Call]:
    data = bytes(Source(RECORDS).next())
    with Log.open(directory / "t-0", LogConfig(retention_ms=-1, message_timestamp_after_max_ms=2**63 - 1)) as log:
        yield partial(log.append, data, leader_epoch=0)
        assert log.log_end_offset % RECORDS == 0


@_work("append 16 KiB", "beside it: write() alone")
def _write(directory: Path, _size: int) -> Iterator[Call]:
    data = bytes(Source(RECORDS).next())
    with (directory / "bare").open("ab", buffering=0) as file:
        yield partial(os.write, file.fileno(), data)


def _stores(group: str, *options: object) -> Callable[[Callable[..., Iterator[Call]]], Callable[..., object]]:
    """List a piece of work for each of the stores."""

    def listed(function: Callable[..., Iterator[Call]]) -> Callable[..., Iterator[Call]]:
        for store in (OURS, SQLITE, LMDB, PLAIN):
            _work(group, "ours" if store == OURS else f"beside it: {store}", store, *options)(function)
        return function

    return listed


@_stores("append a record of 100 bytes", 1, False)
@_stores("append 100 records of 100 bytes in one call", 100, False)
@_stores("append a record of 100 bytes, durably", 1, True)
def _append_records(directory: Path, _size: int, store: str, records: int, durable: bool) -> Iterator[Call]:
    opened = STORES[store](directory, durable=durable)
    try:
        yield partial(opened.append, [VALUE] * records)
    finally:
        opened.close()


@_stores(f"read {MANY:,} records of 100 bytes")
def _read_records(directory: Path, _size: int, store: str) -> Iterator[Call]:
    opened = STORES[store](directory, durable=False)
    try:
        for _ in range(MANY // 100):
            opened.append([VALUE] * 100)
        assert opened.read() == MANY * len(VALUE)
        yield opened.read
    finally:
        opened.close()


@_work("read a record at a random offset, of 10,000 in batches of 100", "ours")
def _get(directory: Path, _size: int) -> Iterator[Call]:
    with Log.open(directory / "t-0", CONFIG) as log:
        for _ in range(MANY // 100):
            log.append([VALUE] * 100)
        yield map(log.get, cycle(_offsets())).__next__


@_work("read a record at a random offset, of 10,000 in batches of 100", f"beside it: {SQLITE}")
def _select(directory: Path, _size: int) -> Iterator[Call]:
    with closing(SqliteStore(directory, durable=False)) as store:
        store.append([VALUE] * MANY)
        yield map(store.get, cycle(_offsets())).__next__


def _offsets() -> list[int]:
    rng = random.Random(1)
    return [rng.randrange(MANY) for _ in range(1_000)]


@_work("one batch of 148 records", "encode")
def _encode(_: Path, _size: int) -> Iterator[Call]:
    records = [Record(0, number, b"key%05d" % number, VALUE) for number in range(RECORDS)]
    yield partial(encode_batch, records, BatchTemplate(leader_epoch=0))


@_work("one batch of 148 records", "decode")
def _decode(_: Path, _size: int) -> Iterator[Call]:
    batch = RecordBatch(memoryview(bytes(Source(RECORDS).next())))
    assert len(list(batch.records())) == RECORDS
    yield lambda: list(batch.records())


@contextmanager
def _filled(directory: Path, size: int) -> Iterator[Log]:
    source = Source(RECORDS)
    directory.mkdir(exist_ok=True)
    with Log.open(directory / "t-0", LogConfig(segment_bytes=size // 16, retention_ms=-1)) as log:
        while log.size < size:
            log.append_batches(source.next())
        yield log


@_work("a log of 64 MiB in 16 segments", "read 64 KiB at a random offset")
def _read(directory: Path, size: int) -> Iterator[Call]:
    with _filled(directory, size) as log:
        rng = random.Random(1)
        offsets = [rng.randrange(log.log_end_offset - RECORDS) for _ in range(1_000)]
        assert log.read(offsets[0], 64 << 10).data
        yield map(log.read, cycle(offsets), repeat(64 << 10)).__next__


@_work("a log of 64 MiB in 16 segments", "find an offset by its time")
def _by_time(directory: Path, size: int) -> Iterator[Call]:
    with _filled(directory, size) as log:
        first = log.offset_for_timestamp(0)
        assert first is not None
        yield partial(log.offset_for_timestamp, first.timestamp + 1)


@_work("a log of 64 MiB in 16 segments", "append 16 KiB and truncate it again")
def _truncate(directory: Path, size: int) -> Iterator[Call]:
    with _filled(directory, size) as log:
        end, data = log.log_end_offset, bytearray(Source(RECORDS).next())
        data[:8] = end.to_bytes(8)

        def there_and_back() -> None:
            log.append_batches(data)
            log.truncate_to(end)

        yield there_and_back
        assert log.log_end_offset == end


@_work("a log of 64 MiB in 16 segments", "close and open again")
def _open(directory: Path, size: int) -> Iterator[Call]:
    with _filled(directory, size) as log:
        config = log.config

    def open_and_close() -> None:
        with Log.open(directory / "t-0", config) as log:
            assert log.report.recovered_segments == 0

    yield open_and_close


@_work("a log of 64 MiB in 16 segments", "recover after a crash that left it all unflushed")
def _recover(directory: Path, size: int) -> Iterator[Call]:
    with _filled(directory / "made", size) as log:
        end, config, made = log.log_end_offset, log.config, log.directory
    crashes = count()

    def recover() -> None:
        crashed = directory / f"{next(crashes)}" / "t-0"
        crashed.mkdir(parents=True)
        for path in made.glob("*.log"):
            os.link(path, crashed / path.name)
        with Log.open(crashed, config) as recovered:
            assert recovered.log_end_offset == end

    yield recover


@_work("checksums of 64 MiB of batches", "LogFile.scan")
def _scan(_: Path, size: int) -> Iterator[Call]:
    with LogFile.open(log_file(size)) as log:
        yield lambda: sum(len(columns) for columns in log.scan())


@_work("checksums of 64 MiB of batches", "beside it: crc32c of the same bytes")
def _checksum(_: Path, size: int) -> Iterator[Call]:
    yield partial(crc32c.crc32c, log_file(size).read_bytes())
