"""How fast the kernels scan, check and decode a segment, and look up its indexes.

The segment is that of `bench.replica`, 1 GiB; without --benchmark-enable 1 MiB. A touched mapping has been read
before through the same mapping; a fresh one has not, so that each page costs a fault although it is in the page
cache.

Fresh figures depend on how the page cache was filled more than on any code: the same bytes map about eight times as
fast after they were read back in large pieces as after they were appended 16 KiB at a time, which is what a broker
does. Compare only files that were written alike and whose cache nobody dropped. They include unmapping.
"""

import functools
import mmap
import struct
from collections.abc import Callable

import crc32c
import numpy as np
import pytest
from numpy.typing import NDArray
from pytest_benchmark.fixture import BenchmarkFixture

from bench.replica import BATCH_BYTES, log, one_batch
from logstore.batch.columns import BatchColumns, StopReason
from logstore.kernels import crc, search
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode_chunks
from logstore.kernels.record_checks import check_records
from logstore.offline.header_scan import scan_headers
from logstore.offline.log_file import LogFile

FULL, SMALL = 1 << 30, 1 << 20
INDEX_ENTRIES = 1_300_000
LOOKUPS = 1_000

Data = NDArray[np.uint8]
ADVICE = {"none": None, "sequential": mmap.MADV_SEQUENTIAL, "willneed": mmap.MADV_WILLNEED, "populate": 22}
"""Hints about a mapping. 22 is MADV_POPULATE_READ, Linux 5.14 and later, which Python does not name."""


def map_segment(benchmark: BenchmarkFixture, advice: int | None = None) -> Data:
    """Map the segment anew."""
    with open(log(SMALL if benchmark.disabled else FULL), "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if advice is not None:
        mapping.madvise(advice)
    return np.frombuffer(mapping, np.uint8)


def scan_all(data: Data, *, check_crc: bool) -> list[BatchColumns]:
    """Scan a whole segment, chunk by chunk."""
    chunks = [scan(data, check_crc=check_crc)]
    while chunks[-1].stop is StopReason.MORE:
        chunks.append(scan(data, chunks[-1].next_position, check_crc=check_crc))
    assert chunks[-1].stop is StopReason.END
    return chunks


def state_rate(benchmark: BenchmarkFixture, unit: str, amount: float) -> None:
    """Put the rate of the median round beside its time."""
    if not benchmark.disabled:
        benchmark.extra_info[unit] = round(amount / benchmark.stats.stats.median, 2)


def measure(benchmark: BenchmarkFixture, call: Callable[[Data], object], data: Data) -> None:
    """Measure rounds over one mapping, after a first one that touches it."""
    benchmark.pedantic(call, (data,), rounds=1 if benchmark.disabled else 5, warmup_rounds=1)


def measure_fresh(benchmark: BenchmarkFixture, call: Callable[[Data], object], advice: str) -> None:
    """Measure rounds that each map the segment and give the advice themselves."""

    def mapped() -> None:
        call(map_segment(benchmark, ADVICE[advice]))

    benchmark.pedantic(mapped, rounds=1 if benchmark.disabled else 5, warmup_rounds=1)


def bench_header_scan_touched(benchmark: BenchmarkFixture) -> None:
    data = map_segment(benchmark)
    measure(benchmark, lambda data: scan_all(data, check_crc=False), data)
    state_rate(benchmark, "M batches/s", len(data) / len(one_batch()) / 1e6)


@pytest.mark.parametrize("advice", ADVICE)
def bench_header_scan_fresh(benchmark: BenchmarkFixture, advice: str) -> None:
    measure_fresh(benchmark, lambda data: scan_all(data, check_crc=False), advice)
    state_rate(benchmark, "M batches/s", FULL / len(one_batch()) / 1e6)


@pytest.mark.parametrize("threads", [1, 2])
def bench_headers_of_a_cached_file(benchmark: BenchmarkFixture, threads: int) -> None:
    path = log(SMALL if benchmark.disabled else FULL)
    expected = path.stat().st_size // len(one_batch())

    def read() -> None:
        assert sum(map(len, scan_headers(path, threads=threads))) == expected

    benchmark.pedantic(read, rounds=1 if benchmark.disabled else 5, warmup_rounds=1)
    state_rate(benchmark, "M batches/s", expected / 1e6)


def bench_crc_scan_by_two_threads(benchmark: BenchmarkFixture) -> None:
    with LogFile.open(log(SMALL if benchmark.disabled else FULL)) as file:
        size = file.size
        benchmark.pedantic(
            lambda: [chunk.crc_valid.all() for chunk in file.scan(threads=2)],
            rounds=1 if benchmark.disabled else 5,
            warmup_rounds=1,
        )
        assert all(chunk.crc_valid.all() for chunk in file.scan(threads=2))
    state_rate(benchmark, "GB/s", size / 1e9)


def bench_crc_scan_touched(benchmark: BenchmarkFixture) -> None:
    data = map_segment(benchmark)
    measure(benchmark, lambda data: scan_all(data, check_crc=True), data)
    assert all(chunk.crc_valid.all() for chunk in scan_all(data, check_crc=True))
    state_rate(benchmark, "GB/s", len(data) / 1e9)


@pytest.mark.parametrize("advice", ADVICE)
def bench_crc_scan_fresh(benchmark: BenchmarkFixture, advice: str) -> None:
    measure_fresh(benchmark, lambda data: scan_all(data, check_crc=True), advice)
    assert all(chunk.crc_valid.all() for chunk in scan_all(map_segment(benchmark), check_crc=True))
    state_rate(benchmark, "GB/s", FULL / 1e9)


def bench_record_decode(benchmark: BenchmarkFixture) -> None:
    data = map_segment(benchmark)
    chunks = scan_all(data, check_crc=False)

    def decode_all(data: Data) -> int:
        return sum(len(records) for chunk in chunks for records in decode_chunks(data, chunk))

    expected = sum(int(chunk.record_count.sum()) for chunk in chunks)
    assert decode_all(data) == expected
    measure(benchmark, decode_all, data)
    state_rate(benchmark, "M records/s", expected / 1e6)


def bench_check_records(benchmark: BenchmarkFixture) -> None:
    data = map_segment(benchmark)
    chunks = scan_all(data, check_crc=False)

    def check_all(data: Data) -> list[object]:
        return [fault for chunk in chunks for fault in check_records(data, chunk)]

    assert check_all(data) == []
    measure(benchmark, check_all, data)
    state_rate(benchmark, "M records/s", sum(int(chunk.record_count.sum()) for chunk in chunks) / 1e6)


@pytest.mark.parametrize("name", crc.available())
def bench_crc_of_16_kib(benchmark: BenchmarkFixture, name: str) -> None:
    data = np.frombuffer(np.random.default_rng(1).bytes(BATCH_BYTES), np.uint8)
    kernel = crc.available()[name]
    calls = 1 if benchmark.disabled else 200

    def check_often() -> None:
        for _ in range(calls):
            kernel(data, 0, BATCH_BYTES)

    benchmark(check_often)
    assert kernel(data, 0, BATCH_BYTES) == crc32c.crc32c(data)
    state_rate(benchmark, "GB/s", calls * BATCH_BYTES / 1e9)


@functools.cache
def offset_index(entries: int) -> Data:
    """An offset index with an entry for each 16 KiB."""
    return np.frombuffer(b"".join(struct.pack(">ii", i * 160 + 159, i * 1024) for i in range(1, entries + 1)), np.uint8)


@functools.cache
def time_index(entries: int) -> Data:
    """A time index with an entry for each 16 KiB, 160 ms apart."""
    return np.frombuffer(b"".join(struct.pack(">qi", i * 160, i * 160 - 1) for i in range(1, entries + 1)), np.uint8)


@pytest.mark.parametrize("where", ["random", "tail"])
def bench_offset_lookup_one_call(benchmark: BenchmarkFixture, where: str) -> None:
    entries = 100 if benchmark.disabled else INDEX_ENTRIES
    index = offset_index(entries)
    lowest = 0 if where == "random" else (entries - 50) * 160
    offsets = np.random.default_rng(1).integers(lowest, entries * 160, LOOKUPS).tolist()

    def look_up() -> None:
        for offset in offsets:
            search.lookup_offset(index, entries, 0, offset)

    benchmark(look_up)
    entry = max((offsets[0] + 1) // 160 - 1, 0)
    assert search.lookup_offset(index, entries, 0, offsets[0])[1] == entry * 1024
    state_rate(benchmark, "M lookups/s", LOOKUPS / 1e6)


def bench_offset_lookup_bulk(benchmark: BenchmarkFixture) -> None:
    entries = 100 if benchmark.disabled else INDEX_ENTRIES
    offsets = np.random.default_rng(1).integers(0, entries * 160, 100 * LOOKUPS)
    found, position = np.empty((2, len(offsets)), np.int64)
    benchmark(search.lookup_offsets, offset_index(entries), entries, 0, offsets, found, position)
    assert (found <= offsets).all()
    state_rate(benchmark, "M lookups/s", len(offsets) / 1e6)


def bench_time_lookup_one_call(benchmark: BenchmarkFixture) -> None:
    entries = 100 if benchmark.disabled else INDEX_ENTRIES
    index = time_index(entries)
    timestamps = np.random.default_rng(1).integers(0, entries * 160, LOOKUPS).tolist()

    def look_up() -> None:
        for timestamp in timestamps:
            search.lookup_timestamp(index, entries, 0, timestamp)

    benchmark(look_up)
    entry = timestamps[0] // 160
    assert search.lookup_timestamp(index, entries, 0, timestamps[0])[1] == max(entry * 160 - 1, 0)
    state_rate(benchmark, "M lookups/s", LOOKUPS / 1e6)


def bench_time_lookup_bulk(benchmark: BenchmarkFixture) -> None:
    entries = 100 if benchmark.disabled else INDEX_ENTRIES
    timestamps = np.random.default_rng(1).integers(0, entries * 160, 100 * LOOKUPS)
    found, offset = np.empty((2, len(timestamps)), np.int64)
    benchmark(search.lookup_timestamps, time_index(entries), entries, 0, timestamps, found, offset)
    assert (found <= timestamps).all()
    state_rate(benchmark, "M lookups/s", len(timestamps) / 1e6)
