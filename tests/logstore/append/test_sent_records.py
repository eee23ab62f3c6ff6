"""What a producer sends is decompressed within bounds of bytes, blocks and time."""

import gzip
import tracemalloc
from itertools import count
from random import Random

import cramjam
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.append import sent_records as sending
from logstore.append import time_limit
from logstore.append.append_validation import validate_for_leader
from logstore.append.sent_records import sent_records
from logstore.batch.batch import RecordBatch
from logstore.batch.compression.codec import Codec, compress
from logstore.batch.compression.decompression_limit import MOST_BLOCKS
from logstore.errors import DecompressionError, DecompressionLimitError, RecordTooLargeError
from logstore.log_config import LogConfig
from tests.logstore.batches import batch, record

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
MEGABYTE = 1 << 20


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is sent is too much to be decompressed at once."""
    monkeypatch.setattr(sending, "AT_ONCE", -1)


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second goes by at each look at the clock."""
    clock = count()
    monkeypatch.setattr(time_limit, "monotonic", lambda: next(clock))


@pytest.mark.parametrize("is_large", [False, True])
@settings(max_examples=40, deadline=None)
@given(codec=st.sampled_from(Codec), seed=st.integers(0, 2**32), size=st.integers(0, 3 * MEGABYTE))
def test_what_was_sent_comes_out(codec: Codec, seed: int, size: int, *, is_large: bool) -> None:
    word = Random(seed).randbytes(300)
    data = (word * (size // 300 + 1))[:size]
    with pytest.MonkeyPatch.context() as patch:
        if is_large:
            patch.setattr(sending, "AT_ONCE", -1)
        assert sent_records(codec, memoryview(compress(codec, data))) == data


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.usefixtures("in_pieces")
def test_more_bytes_than_a_producer_sends_are_refused(codec: Codec, monkeypatch: pytest.MonkeyPatch) -> None:
    data = memoryview(compress(codec, bytes(MEGABYTE)))
    monkeypatch.setattr(sending, "PRODUCER_LIMIT", MEGABYTE)
    assert len(sent_records(codec, data)) == MEGABYTE
    monkeypatch.setattr(sending, "PRODUCER_LIMIT", MEGABYTE - 1)
    with pytest.raises(DecompressionLimitError):
        sent_records(codec, data)


def test_what_a_block_of_snappy_claims_reserves_nothing() -> None:
    claimed = cramjam.snappy.compress_raw(bytes(1))
    block = b"\xff\xff\xff\xff\x0f" + bytes(claimed) + bytes(20 * MEGABYTE)
    tracemalloc.start()
    with pytest.raises(DecompressionLimitError):
        sent_records(Codec.SNAPPY, memoryview(block))
    assert tracemalloc.get_traced_memory()[1] < MEGABYTE
    tracemalloc.stop()


@pytest.mark.usefixtures("in_pieces")
def test_more_blocks_than_any_producer_makes_are_refused() -> None:
    with pytest.raises(DecompressionLimitError, match="gzip members"):
        sent_records(Codec.GZIP, memoryview(gzip.compress(b"") * (MOST_BLOCKS + 1)))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.usefixtures("in_pieces", "slowly")
def test_what_takes_too_long_to_decompress_is_refused(codec: Codec) -> None:
    blocks = b"".join(Random(9).randbytes(1000) * 1000 for _ in range(20))
    with pytest.raises(
        RecordTooLargeError, match=r"to decompress [\d,]+ bytes out of a batch's [\d,]+ took more than 5 s"
    ):
        sent_records(codec, memoryview(compress(codec, blocks)))


@pytest.mark.usefixtures("slowly")
def test_a_small_batch_is_decompressed_whatever_the_clock_says() -> None:
    assert sent_records(Codec.ZSTD, memoryview(compress(Codec.ZSTD, bytes(MEGABYTE)))) == bytes(MEGABYTE)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.usefixtures("in_pieces")
def test_a_damaged_stream_is_an_error(codec: Codec) -> None:
    data = compress(codec, Random(1).randbytes(100_000))
    with pytest.raises(DecompressionError):
        sent_records(codec, memoryview(data[: len(data) - 9]))


def test_a_batch_of_a_hundred_megabytes_that_a_stock_producer_makes_is_taken() -> None:
    lines = [Random(number).randbytes(40).hex().encode() * 64 for number in range(7)]
    section = b"".join(record(offset_delta=number, value=lines[number % 7]) for number in range(20_000))
    sent = batch(
        section=compress(Codec.ZSTD, section), attributes=Codec.ZSTD, record_count=20_000, last_offset_delta=19_999
    )
    assert len(section) > 100_000_000 > 500 * len(sent)
    append = validate_for_leader(sent, next_offset=7, leader_epoch=3, now_ms=2_000, config=LogConfig())
    assert (append.first_offset, append.last_offset) == (7, 20_006)
    assert isinstance(append.batches[0], RecordBatch)
