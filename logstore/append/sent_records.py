"""The records of a batch that a producer sends, decompressed within bounds of bytes, blocks and time."""

from typing import Final

from logstore.append.time_limit import TimeLimit
from logstore.batch import compression
from logstore.batch.compression.codec import Codec, decompress
from logstore.batch.compression.decompression_limit import PRODUCER_LIMIT, block_limit
from logstore.errors import DecompressionLimitError

AT_ONCE: Final = 16 << 20
"""Bytes that are decompressed in one call, which nothing interrupts: a fraction of a second."""


def sent_records(codec: int, data: memoryview) -> memoryview:
    """Decompress a producer's records; more than `AT_ONCE` in pieces, with a look at the clock after each.

    Raises DecompressionError, DecompressionLimitError beyond `PRODUCER_LIMIT` bytes or `block_limit` blocks, and
    RecordTooLargeError where it takes too long.
    """
    if codec == Codec.NONE:
        return data
    try:
        return memoryview(decompress(codec, data, limit=AT_ONCE))
    except DecompressionLimitError:  # of blocks too, which the pieces have as well
        return memoryview(_in_pieces(codec, data)).toreadonly()


def _in_pieces(codec: int, data: memoryview) -> bytearray:
    limit, records = TimeLimit(), bytearray()
    most = block_limit(len(data))
    pieces = compression.decompressed_pieces.decompressed_pieces
    for piece in pieces(codec, data, most_blocks=most, most_bytes=PRODUCER_LIMIT):
        records += piece
        if len(records) > PRODUCER_LIMIT:
            raise DecompressionLimitError(f"the records take more than {PRODUCER_LIMIT:,} bytes")
        limit.ensure_left(f"to decompress {len(records):,} bytes out of a batch's {len(data):,}")
    return records
