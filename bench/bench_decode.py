"""How fast records of one batch are decoded, of every codec: as objects, and as columns.

Batches of 160 records of 100 bytes, whose values compress by about half. `bench_kernels` decodes many plain ones.
"""

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.bench_encode import BATCH_RECORDS, CODECS, note_rate, one_batch
from logstore.batch.batch import RecordBatch
from logstore.kernels.column_scan import scan
from logstore.kernels.decode import decode_section


@pytest.mark.parametrize("codec", CODECS)
def bench_decode_to_objects(benchmark: BenchmarkFixture, codec: str) -> None:
    batch = RecordBatch(memoryview(one_batch(codec)))
    records = benchmark(lambda: list(batch.records()))
    assert len(records) == BATCH_RECORDS
    note_rate(benchmark, records=BATCH_RECORDS, size=BATCH_RECORDS * 100)


@pytest.mark.parametrize("codec", CODECS)
def bench_decode_to_columns(benchmark: BenchmarkFixture, codec: str) -> None:
    data = one_batch(codec)
    batch = RecordBatch(memoryview(data))
    batches = scan(np.frombuffer(data, np.uint8), check_crc=False)
    records = benchmark(lambda: decode_section(np.frombuffer(batch.section(), np.uint8), batches, 0))
    assert len(records) == BATCH_RECORDS
    note_rate(benchmark, records=BATCH_RECORDS, size=BATCH_RECORDS * 100)
