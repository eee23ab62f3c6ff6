"""Batches that are too much to be decompressed at once are read in pieces: the same, with little memory."""

import tracemalloc
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.append.append_validation import validate_for_leader
from logstore.batch.batch import RecordBatch
from logstore.batch.compression import codec as codecs
from logstore.batch.compression.codec import Codec, compress, decompress
from logstore.batch.compression.decompressed_pieces import decompressed_pieces
from logstore.errors import CorruptRecordError, DecompressionError
from logstore.kernels.column_scan import scan
from logstore.log_config import LogConfig
from logstore.offline.columns.decoded_records import Unreadable, decoded_records
from tests.logstore.batches import batch, record
from tests.logstore.verify.logs import kinds
from tests.logstore.verify.test_verify import TWO_EPOCHS, append, write_partition

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every compressed batch is too much to be decompressed at once."""
    monkeypatch.setattr(codecs, "decompression_limit", lambda _: 0)


@settings(max_examples=60, deadline=None)
@given(codec=st.sampled_from(CODECS), seed=st.integers(0, 2**32), size=st.integers(0, 3 << 20), cut=st.integers(0, 40))
def test_pieces_are_what_is_decompressed_at_once(codec: Codec, seed: int, size: int, cut: int) -> None:
    random = Random(seed)
    word = random.randbytes(random.randint(1, 300))
    data = (word * (size // len(word) + 1))[:size]
    compressed = memoryview(compress(codec, data))
    pieces = list(decompressed_pieces(codec, compressed))
    assert b"".join(pieces) == data
    assert max(map(len, pieces), default=0) <= 4 << 20
    torn = compressed[: len(compressed) - cut]
    try:
        expected = decompress(codec, torn)
    except DecompressionError:
        with pytest.raises(DecompressionError):
            list(decompressed_pieces(codec, torn))
    else:
        assert b"".join(decompressed_pieces(codec, torn)) == expected


RECORDS = st.lists(st.tuples(st.binary(max_size=40), st.none() | st.binary(max_size=300)), min_size=1, max_size=30)


@pytest.mark.usefixtures("in_pieces")
@settings(max_examples=60, deadline=None)
@given(contents=RECORDS, codec=st.sampled_from(CODECS), damage=st.integers(-1, 400), lie=st.sampled_from([0, 0, 1, -1]))
def test_what_is_read_is_the_same(
    contents: list[tuple[bytes, bytes | None]], codec: Codec, damage: int, lie: int
) -> None:
    records = [record(offset_delta=n, key=key, value=value) for n, (key, value) in enumerate(contents)]
    section = bytearray(b"".join(records))
    if 0 <= damage < len(section):
        section[damage] ^= 0x15
    count = len(records) + lie
    plain = batch(section=bytes(section), record_count=count, last_offset_delta=len(records) - 1)
    packed = batch(
        section=compress(codec, section), attributes=codec, record_count=count, last_offset_delta=len(records) - 1
    )
    assert _columns(packed) == _columns(plain)
    assert _records(packed) == _records(plain)


def _columns(data: bytes) -> list[tuple[object, ...]] | None:
    columns = scan(np.frombuffer(data, np.uint8), check_crc=True)
    found: list[tuple[object, ...]] = []
    for part in decoded_records(memoryview(data), columns, np.array([0])):
        if isinstance(part, Unreadable):
            return None
        for row in range(len(part)):
            key, value = part.key_start[row], part.value_start[row]
            texts = part.data[key : key + part.key_length[row]], part.data[value : value + part.value_length[row]]
            found.append((int(part.offset[row]), int(part.timestamp[row]), *map(bytes, texts)))
    return found


def _records(data: bytes) -> list[object] | None:
    try:
        return list(RecordBatch(memoryview(data)).records())
    except CorruptRecordError:
        return None


def test_a_batch_of_a_hundred_megabytes_is_read_and_taken_from_a_producer(tmp_path: Path) -> None:
    value = b'{"event": "page_view"}' * 240
    records = [record(offset_delta=number, value=value) for number in range(20_000)]
    packed = batch(
        base_offset=0, section=compress(Codec.ZSTD, b"".join(records)), attributes=Codec.ZSTD, record_count=20_000,
        last_offset_delta=19_999,
    )  # fmt: skip
    assert len(packed) < 200_000
    del records
    tracemalloc.start()
    assert sum(1 for each in RecordBatch(memoryview(packed)).records() if each.value == value) == 20_000
    assert tracemalloc.get_traced_memory()[1] < 32 << 20
    tracemalloc.stop()
    taken = validate_for_leader(
        packed, next_offset=7, leader_epoch=0, config=LogConfig(message_timestamp_after_max_ms=2**63 - 1), now_ms=1_000,
    )  # fmt: skip
    assert taken.batches[0].last_offset == 20_006
    directory = write_partition(tmp_path, [], TWO_EPOCHS)
    append(directory, packed)
    assert [kind for kind in kinds(directory, records=True) if "record" in kind or "bomb" in kind] == []
