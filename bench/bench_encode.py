"""How fast batches are encoded and validated, and producers kept: records of 100 bytes, batches of 16 KiB.

Without --benchmark-enable everything runs once, over little.
"""

import functools
import random
from pathlib import Path

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from logstore.append.append_validation import validate_for_follower, validate_for_leader
from logstore.append.encoding import encode_batch, encode_columns, encode_values
from logstore.batch.append_origin import AppendOrigin
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.batches import read_batches
from logstore.batch.columns import RecordColumns
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.log_config import LogConfig
from logstore.producers.producer_state import ProducerState

VALUE_BYTES = 91
"""With its numbers a record of a batch of 16 KiB has 100 bytes."""
BATCH_RECORDS = 160
RECORDS = 20_000
"""Columns and batches of one call: two megabytes, which stay in the cache."""
NOW = 1_700_000_000_000

CODECS = [codec.name.lower() for codec in Codec]


@functools.cache
def values(count: int) -> list[bytes]:
    """Values that compress by about half."""
    rng = random.Random(1)
    return [rng.randbytes(VALUE_BYTES // 2) + bytes(VALUE_BYTES - VALUE_BYTES // 2) for _ in range(count)]


def columns(count: int) -> RecordColumns:
    nowhere = np.zeros(count, np.int64)
    return RecordColumns(
        data=np.frombuffer(b"".join(values(count)), np.uint8),
        batch=nowhere,
        offset=nowhere,
        timestamp=np.full(count, NOW),
        key_start=nowhere,
        key_length=np.full(count, -1, np.int32),
        value_start=np.arange(count) * VALUE_BYTES,
        value_length=np.full(count, VALUE_BYTES, np.int32),
        headers_start=nowhere,
        header_count=np.zeros(count, np.int32),
    )


@functools.cache
def one_batch(codec: str = "none", *, count: int = BATCH_RECORDS) -> bytes:
    records = [Record(0, NOW, None, value) for value in values(count)]
    return bytes(encode_batch(records, BatchTemplate(codec=Codec[codec.upper()])))


def records_in(encoded: bytes | bytearray | memoryview) -> int:
    return sum(batch.record_count for batch in read_batches(memoryview(encoded)))


def note_rate(benchmark: BenchmarkFixture, *, records: int, size: int) -> None:
    if benchmark.stats is not None:
        seconds = benchmark.stats.stats.median
        benchmark.extra_info["M records/s"] = round(records / seconds / 1e6, 2)
        benchmark.extra_info["GB/s"] = round(size / seconds / 1e9, 2)


@pytest.mark.parametrize("codec", CODECS)
def bench_encode_columns(benchmark: BenchmarkFixture, codec: str) -> None:
    records, template = columns(RECORDS), BatchTemplate(codec=Codec[codec.upper()])
    encoded = benchmark(lambda: encode_columns(records, template=template))
    assert records_in(encoded) == RECORDS
    note_rate(benchmark, records=RECORDS, size=RECORDS * 100)


def bench_encode_lists_of_bytes(benchmark: BenchmarkFixture) -> None:
    contents = values(RECORDS)
    encoded = benchmark(lambda: encode_values(contents, NOW))
    assert records_in(encoded) == RECORDS
    note_rate(benchmark, records=RECORDS, size=len(encoded))


@pytest.mark.parametrize("count", [1, BATCH_RECORDS])
def bench_encode_one_batch_of_records(benchmark: BenchmarkFixture, count: int) -> None:
    records = [Record(0, NOW, None, value) for value in values(count)]
    encoded = benchmark(lambda: encode_batch(records))
    assert records_in(encoded) == count
    note_rate(benchmark, records=count, size=len(encoded))


@pytest.mark.parametrize("count", [1, BATCH_RECORDS])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def bench_validate_as_leader(benchmark: BenchmarkFixture, codec: str, count: int) -> None:
    data, config = one_batch(codec, count=count), LogConfig()
    append = benchmark(lambda: validate_for_leader(data, next_offset=1_000, leader_epoch=5, now_ms=NOW, config=config))
    assert append.last_offset == 1_000 + count - 1
    note_rate(benchmark, records=count, size=count * 100)


@pytest.mark.parametrize("codec", CODECS)
def bench_recompress_as_leader(benchmark: BenchmarkFixture, codec: str) -> None:
    data, config = (
        one_batch("snappy" if codec == "none" else "none"),
        LogConfig(compression_type="uncompressed" if codec == "none" else codec),
    )
    append = benchmark(lambda: validate_for_leader(data, next_offset=1_000, leader_epoch=5, now_ms=NOW, config=config))
    assert append.batches[0].codec == Codec[codec.upper()]
    note_rate(benchmark, records=BATCH_RECORDS, size=BATCH_RECORDS * 100)


@pytest.mark.parametrize("batches", [1, 32])
def bench_validate_as_follower(benchmark: BenchmarkFixture, batches: int) -> None:
    content = one_batch()[8:]
    data = b"".join((number * BATCH_RECORDS).to_bytes(8) + content for number in range(batches))
    append = benchmark(lambda: validate_for_follower(data, next_offset=0, leader_epoch=5))
    assert len(append.batches) == batches
    note_rate(benchmark, records=batches * BATCH_RECORDS, size=len(data))


def bench_keep_an_idempotent_producer(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """Check and remember one batch of an idempotent producer."""
    state = ProducerState(tmp_path)
    template = BatchTemplate(producer_epoch=0, base_sequence=0, producer_id=7)
    records = [Record(0, NOW, None, b"v")]
    follower = validate_for_follower(encode_batch(records, template), next_offset=0, leader_epoch=5)

    def keep() -> None:
        state.update(state.prepare(follower.batches, AppendOrigin.REPLICATION))

    benchmark(keep)
    assert state.producers[7].last_sequence == 0
