"""How fast records are decoded, of every codec: of one batch as objects and as columns, and of many as objects, as
columns, and as Arrow's record batches.

Batches of 160 records of 100 bytes, whose values compress by about half. `bench_kernels` decodes many plain ones to
columns.
"""

from collections import deque
from unittest.mock import patch

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_encode import BATCH_RECORDS, CODECS, note_rate, one_batch
from logstore.batch.batch import RecordBatch
from logstore.batch.decoding.plain_records import PLAIN_RECORDS
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode_section
from logstore.offline.log_file import LogFile
from logstore.segment.read_view import ReadView

BATCHES = 64
"""A megabyte of records, as much as readers of a log take at once."""


@pytest.mark.parametrize("codec", CODECS)
def bench_decode_to_objects(benchmark: BenchmarkFixture, codec: str) -> None:
    batch = RecordBatch(memoryview(one_batch(codec)))
    with patch.object(PLAIN_RECORDS, "records_left", 0):
        records = benchmark(lambda: list(batch.records()))
    assert len(records) == BATCH_RECORDS
    note_rate(benchmark, records=BATCH_RECORDS, size=BATCH_RECORDS * 100)


def bench_decode_to_objects_one_by_one(benchmark: BenchmarkFixture) -> None:
    """Plain Python, which few records are decoded in."""
    batch = RecordBatch(memoryview(one_batch("none")))
    with patch.object(PLAIN_RECORDS, "records_left", 2**62):
        records = benchmark(lambda: list(batch.records()))
    assert len(records) == BATCH_RECORDS
    note_rate(benchmark, records=BATCH_RECORDS, size=BATCH_RECORDS * 100)


@pytest.mark.parametrize("codec", CODECS)
def bench_view_to_objects(benchmark: BenchmarkFixture, codec: str) -> None:
    """Checksums verified, as each reader of a log has it; the objects are not kept."""
    data = many_batches(codec)
    with patch.object(PLAIN_RECORDS, "records_left", 0):
        last = benchmark(lambda: deque(ReadView(0, memoryview(data)).records(), 1))
    assert last[0].offset == BATCHES * BATCH_RECORDS - 1
    note_rate(benchmark, records=BATCHES * BATCH_RECORDS, size=BATCHES * BATCH_RECORDS * 100)


@pytest.mark.parametrize("codec", CODECS)
def bench_decode_to_columns(benchmark: BenchmarkFixture, codec: str) -> None:
    data = one_batch(codec)
    batch = RecordBatch(memoryview(data))
    batches = scan(np.frombuffer(data, np.uint8), check_crc=False)
    records = benchmark(lambda: decode_section(np.frombuffer(batch.section(), np.uint8), batches, 0))
    assert len(records) == BATCH_RECORDS
    note_rate(benchmark, records=BATCH_RECORDS, size=BATCH_RECORDS * 100)


@pytest.mark.parametrize("codec", CODECS)
def bench_log_to_columns(benchmark: BenchmarkFixture, codec: str) -> None:
    log = LogFile(memoryview(many_batches(codec)))
    assert benchmark(lambda: sum(map(len, log.columns()))) == BATCHES * BATCH_RECORDS
    note_rate(benchmark, records=BATCHES * BATCH_RECORDS, size=BATCHES * BATCH_RECORDS * 100)


@pytest.mark.parametrize("codec", CODECS)
def bench_log_to_arrow(benchmark: BenchmarkFixture, codec: str) -> None:
    log = LogFile(memoryview(many_batches(codec)))
    table = benchmark(log.to_arrow)
    assert table.num_rows == BATCHES * BATCH_RECORDS
    note_rate(benchmark, records=BATCHES * BATCH_RECORDS, size=BATCHES * BATCH_RECORDS * 100)


def many_batches(codec: str) -> bytes:
    """A log of the same batch again and again, at rising offsets."""
    batch = one_batch(codec)
    return b"".join((number * BATCH_RECORDS).to_bytes(8) + batch[8:] for number in range(BATCHES))
