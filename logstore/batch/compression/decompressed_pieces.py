"""A batch's decompressed records in pieces, so that memory stays bounded however much they are."""

import zlib
from collections.abc import Iterator
from typing import Final

from logstore.batch.compression.codec import Codec
from logstore.batch.compression.decompression_limit import too_many_blocks
from logstore.batch.compression.lz4_framing import lz4_pieces
from logstore.batch.compression.snappy_framing import snappy_pieces
from logstore.batch.compression.zstd_framing import zstd_pieces
from logstore.errors import DecompressionError

PIECE_BYTES: Final = 1 << 20
_GZIP: Final = 16 + zlib.MAX_WBITS
_GZIP_MAGIC: Final = b"\x1f\x8b"
_WINDOW: Final = 16 << 10


def decompressed_pieces(
    codec: int, data: memoryview, *, magic: int = 2, most_blocks: int | None = None, most_bytes: int | None = None
) -> Iterator[bytes]:
    """Yield what `decompress` returns, in pieces of a few MiB at most, whatever they add up to.

    A piece of snappy is what one block states, which it can have. A limit for all of it is the caller's. Raises
    DecompressionError, and DecompressionLimitError for more than `most_blocks`, or a piece of more than `most_bytes`.
    """
    most = len(data) if most_blocks is None else most_blocks
    match codec:
        case Codec.GZIP:
            return _gzip_pieces(data, most)
        case Codec.SNAPPY:
            return snappy_pieces(data, most, most_bytes)
        case Codec.LZ4:
            return lz4_pieces(data, most, check_header=magic > 0)
        case Codec.ZSTD:
            return zstd_pieces(data, most, PIECE_BYTES)
        case _:
            raise DecompressionError(f"codec {codec} is unknown")


def _gzip_pieces(data: memoryview, most_members: int) -> Iterator[bytes]:
    """Decompress concatenated members; what follows them and is no member is ignored, as Java's reader does."""
    position = members = 0
    while position == 0 or bytes(data[position : position + 2]) == _GZIP_MAGIC:
        if members == most_members:
            raise too_many_blocks(len(data), "gzip members")
        members += 1
        member = zlib.decompressobj(_GZIP)
        while not member.eof:
            window = member.unconsumed_tail or data[position : position + _WINDOW]
            if not window:
                raise DecompressionError("the gzip stream ends early")
            position += 0 if member.unconsumed_tail else len(window)
            try:
                yield member.decompress(window, PIECE_BYTES)
            except zlib.error as error:
                raise DecompressionError(f"invalid gzip stream ({error})") from error
        position -= len(member.unused_data)
