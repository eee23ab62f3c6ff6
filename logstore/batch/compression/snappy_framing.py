"""The framing that Kafka's clients put around snappy: xerial's, not Google's frame format.

A 16-byte header (magic and two versions), then blocks: a big-endian length and that many bytes of raw snappy. Headers
may stand again between blocks, where streams were concatenated. Data without a header is one block of raw snappy.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final

import cramjam

from logstore.batch.compression.decompression_limit import block_limit, too_many_blocks
from logstore.errors import DecompressionError, DecompressionLimitError

MAGIC: Final = b"\x82SNAPPY\x00"
_HEADER: Final = MAGIC + (1).to_bytes(4) + (1).to_bytes(4)
"""The framing's version, and the oldest that reads it."""
_BLOCK_SIZE: Final = 32 << 10
_LARGEST_RATIO: Final = 32
"""A copy of three bytes stands for 64 at most."""
_LENGTH: Final = Struct(">I")


def decompress_snappy(data: memoryview, limit: int) -> bytes:
    """Decompress to at most `limit` bytes; a block's size is known before it is decompressed."""
    left = limit
    parts = []
    for block in _blocks(data, block_limit(len(data))):
        part = _decompress_block(block, left)
        left -= len(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def snappy_pieces(data: memoryview, most_blocks: int, most_bytes: int | None) -> Iterator[bytes]:
    """Decompress a block at once, which states no more than it can have, nor than `most_bytes`."""
    for block in _blocks(data, most_blocks):
        room = _LARGEST_RATIO * len(block)
        yield _decompress_block(block, room if most_bytes is None else min(room, most_bytes))


def compress_snappy(data: memoryview) -> bytes:
    """Compress in blocks of 32 KiB."""
    parts = [_HEADER]
    for start in range(0, len(data), _BLOCK_SIZE):
        block = bytes(cramjam.snappy.compress_raw(data[start : start + _BLOCK_SIZE]))
        parts += _LENGTH.pack(len(block)), block
    return b"".join(parts)


def _blocks(data: memoryview, most: int) -> Iterator[memoryview]:
    if bytes(data[: len(MAGIC)]) != MAGIC:
        yield data
        return
    position = 0
    for _ in range(most + 1):
        if position >= len(data):
            return
        if bytes(data[position : position + len(MAGIC)]) == MAGIC:
            position += len(_HEADER)
            continue
        if len(data) - position < _LENGTH.size:
            raise DecompressionError("the snappy stream ends inside a block's length")
        (length,) = _LENGTH.unpack_from(data, position)
        position += _LENGTH.size
        if length > len(data) - position:
            raise DecompressionError("the snappy stream ends inside a block")
        yield data[position : position + length]
        position += length
    raise too_many_blocks(len(data), "snappy blocks")


def _decompress_block(block: memoryview, limit: int) -> bytes:
    try:
        size = cramjam.snappy.decompress_raw_len(block)
        if size > limit:
            raise DecompressionLimitError("a snappy block states a size beyond the limit")
        return bytes(cramjam.snappy.decompress_raw(block)) if size else _empty(block)
    except cramjam.DecompressionError as error:
        raise DecompressionError(f"invalid snappy block ({error})") from error


def _empty(block: memoryview) -> bytes:
    # The one block of nothing: its size, zero, and no commands. The library refuses the shorter form.
    if bytes(block) != b"\x00":
        raise DecompressionError("a snappy block of size zero has content")
    return b""
