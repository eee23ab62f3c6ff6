"""The codecs of record batches, with output that never exceeds a limit, whatever the bytes say."""

import zlib
from enum import IntEnum
from typing import Final

from logstore.batch import compression
from logstore.batch.compression.decompression_limit import (
    block_limit,
    decompression_limit,
    too_many_blocks,
)
from logstore.errors import DecompressionError, DecompressionLimitError

_GZIP: Final = 16 + zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
_GZIP_WINDOW: Final = 16 << 10


class Codec(IntEnum):
    """How a batch's records are compressed: the lowest three bits of its attributes (Kafka: CompressionType)."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


def decompress(codec: int, data: memoryview | bytes, *, limit: int | None = None, magic: int = 2) -> bytes:
    """Decompress a batch's records, framed as Kafka frames them in batches of this magic.

    Raises DecompressionLimitError where more than `limit` bytes come out (`decompression_limit` by default) or more
    blocks go in than `block_limit`, and DecompressionError where the data is invalid or the codec unknown. Memory is
    bounded by the limit.
    """
    view = memoryview(data)
    limit = decompression_limit(len(view)) if limit is None else limit
    match codec:
        case Codec.NONE:
            return _within(bytes(view), limit)
        case Codec.GZIP:
            return _decompress_gzip(view, limit)
        case Codec.SNAPPY:
            return compression.snappy_framing.decompress_snappy(view, limit)
        case Codec.LZ4:
            return compression.lz4_framing.decompress_lz4(view, limit, check_header=magic > 0)
        case Codec.ZSTD:
            return compression.zstd_framing.decompress_zstd(view, limit)
        case _:
            raise DecompressionError(f"codec {codec} is unknown")


def compress(codec: int, data: bytes | bytearray | memoryview, level: int | None = None) -> bytes:
    """Compress a batch's records, framed as Kafka does in batches of magic 2, at a level or at Kafka's default.

    Only gzip and zstd have levels here. Raises ValueError where the codec is unknown.
    """
    view = memoryview(data)
    match codec:
        case Codec.NONE:
            return bytes(view)
        case Codec.GZIP:
            return zlib.compress(view, zlib.Z_DEFAULT_COMPRESSION if level is None else level, wbits=_GZIP)
        case Codec.SNAPPY:
            return compression.snappy_framing.compress_snappy(view)
        case Codec.LZ4:
            return compression.lz4_framing.compress_lz4(view)
        case Codec.ZSTD:
            return compression.zstd_framing.compress_zstd(view, level)
        case _:
            raise ValueError(f"codec {codec!r} is unknown: pass Codec.LZ4 or another Codec")


def _within(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise DecompressionLimitError(f"the records take more than {limit:,} bytes")
    return data


def _decompress_gzip(data: memoryview, limit: int) -> bytes:
    """Decompress concatenated members; what follows them and is no member is ignored, as Java's reader does."""
    parts: list[bytes] = []
    position, most = 0, block_limit(len(data))
    while not parts or bytes(data[position : position + 2]) == _GZIP_MAGIC:
        if len(parts) == most:
            raise too_many_blocks(len(data), "gzip members")
        part, position = _decompress_gzip_member(data, position, limit)
        limit -= len(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _decompress_gzip_member(data: memoryview, position: int, limit: int) -> tuple[bytes, int]:
    """Return what the member at `position` holds, and where it ends."""
    member = zlib.decompressobj(_GZIP)
    output = bytearray()
    while not member.eof:
        window = data[position : position + _GZIP_WINDOW]
        if not window:
            raise DecompressionError("the gzip stream ends early")
        try:
            output += member.decompress(window, limit - len(output) + 1)
        except zlib.error as error:
            raise DecompressionError(f"invalid gzip stream ({error})") from error
        if len(output) > limit:
            raise DecompressionLimitError("a gzip stream holds more than the limit")
        position += len(window) - len(member.unused_data)
    return bytes(output), position
