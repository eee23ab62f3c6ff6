"""Where the fields of a batch stand, by what is written there."""

import numpy as np
import pytest

from logstore import BatchTemplate, Record, encode_batch
from logstore.batch import layout
from logstore.batch.batch import RecordBatch
from logstore.kernels.bytes import int8, int16, int32, int64, uint32

FIELDS = {
    "leader_epoch": int32,
    "magic": int8,
    "crc": uint32,
    "attributes": int16,
    "base_timestamp": int64,
    "max_timestamp": int64,
    "producer_id": int64,
    "producer_epoch": int16,
    "base_sequence": int32,
    "record_count": int32,
}
RECORDS = [Record(100, 1_700, b"k", b"v"), Record(101, 1_900, None, b"w")]


@pytest.fixture
def batch() -> RecordBatch:
    template = BatchTemplate(100, leader_epoch=7, producer_id=81, producer_epoch=3, base_sequence=12)
    return RecordBatch(memoryview(encode_batch(RECORDS, template)))


@pytest.mark.parametrize("field", FIELDS)
def test_kernels_find_a_field_where_the_header_has_it(batch: RecordBatch, field: str) -> None:
    data = np.frombuffer(batch.data, np.uint8)
    assert FIELDS[field](data, getattr(layout, f"{field.upper()}_AT")) == getattr(batch, field)


def test_kernels_find_the_length_and_the_last_offset(batch: RecordBatch) -> None:
    data = np.frombuffer(batch.data, np.uint8)
    assert layout.LOG_OVERHEAD + int32(data, layout.LENGTH_AT) == batch.size
    assert batch.base_offset + int32(data, layout.LAST_OFFSET_DELTA_AT) == batch.last_offset


def test_some_fields_are_read_in_their_order_without_the_others(batch: RecordBatch) -> None:
    fields = layout.header_of("base_offset", "magic", "max_timestamp")
    assert fields.unpack_from(batch.data) == (100, 2, 1_900)
    assert fields.size == layout.MAX_TIMESTAMP_AT + 8


def test_a_header_has_61_bytes() -> None:
    assert layout.HEADER_SIZE == 61
    assert layout.header_of("length").size == layout.LOG_OVERHEAD == 12
