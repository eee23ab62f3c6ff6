"""Zstandard's frames (RFC 8878) as Kafka reads them: one after the other, without dictionaries.

Contexts are used again, each by one caller at a time: to make one takes longer than to decompress 16 KiB. A frame is
walked over by the headers of its blocks first, as the library returns neither where it ends nor how much it may hold.
"""

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from logstore.batch.compression.decompression_limit import block_limit, too_many_blocks
from logstore.errors import DecompressionError, DecompressionLimitError

if TYPE_CHECKING:
    from zstandard import ZstdCompressor, ZstdDecompressor

ZSTD_LEVEL: Final = 3
"""Kafka's default."""

_LARGEST_HEADER: Final = 18
_BLOCK_HEADER_SIZE: Final = 3
_LARGEST_BLOCK: Final = 128 << 10
"""Bytes that a block stands for, at most."""
_REPEATED, _RESERVED = 1, 3
_EMPTY_BLOCK: Final = b"\1\0\0"
"""The last block, if it holds nothing."""
_CHECKSUM_SIZE: Final = 4

_SKIPPABLE: Final = 0x184D2A50
"""The magic number of a frame that holds no content, but for its last four bits."""
_SKIPPABLE_HEADER_SIZE: Final = 8

_CONTEXTS: Final = 8
"""Contexts of a kind that wait for their next use, at most."""
_USUAL_WINDOW: Final = 8 << 20
"""Bytes of history that a waiting context may hold memory for. Kafka's own frames want 2 MiB."""
_compressors: "Final[deque[ZstdCompressor]]" = deque(maxlen=_CONTEXTS)
_decompressors: "Final[deque[ZstdDecompressor]]" = deque(maxlen=_CONTEXTS)


class _Frame(NamedTuple):
    """What a frame's header says, and those of its blocks."""

    end: int
    blocks: int
    content_size: int | None
    """None where it is not said, as in Kafka's own frames."""
    window_size: int


def decompress_zstd(data: memoryview, limit: int) -> bytes:
    """Decompress all frames to at most `limit` bytes."""
    parts: list[bytes] = []
    position, most = 0, block_limit(len(data))
    while position < len(data) or not parts:
        frame = _frame(data, position, most)
        part = _content(data[position : frame.end], frame, limit) if frame.content_size != 0 else b""
        position = frame.end
        most -= frame.blocks
        limit -= len(part)
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def zstd_pieces(data: memoryview, most_blocks: int, size: int) -> Iterator[bytes]:
    """Decompress all frames, at most `size` bytes at once."""
    import zstandard  # noqa: PLC0415  start-up time: few logs need it

    position = 0
    while position < len(data) or not position:
        frame = _frame(data, position, most_blocks)
        most_blocks -= frame.blocks
        if frame.content_size != 0:
            with zstandard.ZstdDecompressor().stream_reader(data[position : frame.end]) as reader:
                try:
                    while piece := reader.read(size):
                        yield piece
                except zstandard.ZstdError as error:
                    raise _invalid(error) from error
        position = frame.end


def compress_zstd(data: memoryview, level: int | None = None) -> bytes:
    """Compress to one frame, by default at Kafka's level. Contexts wait for their next use at that alone."""
    level = ZSTD_LEVEL if level is None else level
    if level != ZSTD_LEVEL:
        return _compressor(level).compress(data)
    try:
        context = _compressors.pop()
    except IndexError:
        context = _compressor(level)
    frame = context.compress(data)
    _compressors.append(context)
    return frame


def _compressor(level: int) -> "ZstdCompressor":
    from zstandard import ZstdCompressor  # noqa: PLC0415  start-up time: few logs need it

    return ZstdCompressor(level=level)


def _frame(data: memoryview, position: int, most_blocks: int) -> _Frame:
    """Look at the frame that begins at `position`. Raises DecompressionError where it does not end in the data."""
    import zstandard  # noqa: PLC0415  as above

    if int.from_bytes(data[position : position + 4], "little") & ~0xF == _SKIPPABLE:
        return _skippable_frame(data, position, most_blocks)
    header = data[position : position + _LARGEST_HEADER]
    try:
        said = zstandard.get_frame_parameters(header)
        start = position + zstandard.frame_header_size(header)
    except zstandard.ZstdError as error:
        raise _invalid(error) from error
    blocks, end = _blocks(data, start, most_blocks)
    if said.content_size == 0 and bytes(data[start:end]) != _EMPTY_BLOCK:
        raise DecompressionError("a zstd frame states that it is empty, and is not")
    end += _CHECKSUM_SIZE if said.has_checksum else 0
    if end > len(data):
        raise _ends_early()
    is_unknown = said.content_size == zstandard.CONTENTSIZE_UNKNOWN
    return _Frame(end, blocks, None if is_unknown else said.content_size, said.window_size)


def _skippable_frame(data: memoryview, position: int, most_blocks: int) -> _Frame:
    """Count it as a block: it takes as long."""
    if most_blocks == 0:
        raise too_many_blocks(len(data), "zstd blocks")
    end = position + _SKIPPABLE_HEADER_SIZE + int.from_bytes(data[position + 4 : position + 8], "little")
    if end > len(data):
        raise _ends_early()
    return _Frame(end, blocks=1, content_size=0, window_size=0)


def _blocks(data: memoryview, position: int, most: int) -> tuple[int, int]:
    """Count the blocks from `position` on up to a frame's last one, and return where that ends."""
    for number in range(1, most + 1):
        header = int.from_bytes(data[position : position + _BLOCK_HEADER_SIZE], "little")
        position += _BLOCK_HEADER_SIZE
        is_last, kind, size = header & 1, header >> 1 & 3, header >> 3
        if kind == _RESERVED:
            raise DecompressionError("a zstd frame has a block of an unknown kind")
        position += 1 if kind == _REPEATED else size
        if position > len(data):
            raise _ends_early()
        if is_last:
            return number, position
    raise too_many_blocks(len(data), "zstd blocks")


def _content(frame: memoryview, said: _Frame, limit: int) -> bytes:
    """Decompress a frame that ends where its last block does."""
    import zstandard  # noqa: PLC0415  as above

    most = said.blocks * _LARGEST_BLOCK
    if said.content_size is not None:
        if said.content_size > most:
            raise DecompressionError("a zstd frame states a size that its blocks cannot have")
        if said.content_size > limit:
            raise _beyond_limit()
    try:
        context = _decompressors.pop()
    except IndexError:
        context = zstandard.ZstdDecompressor()
    try:
        content = context.decompress(frame, max_output_size=min(most, limit + 1))
    except zstandard.ZstdError as error:
        # It is whole, so that room is what was missing, unless it holds more than it states.
        if said.content_size is None and "full frame" in str(error):
            raise _beyond_limit() from error
        raise _invalid(error) from error
    finally:
        if said.window_size <= _USUAL_WINDOW:
            _decompressors.append(context)
    if len(content) > limit:
        raise _beyond_limit()
    return content


def _invalid(error: Exception) -> DecompressionError:
    return DecompressionError(f"invalid zstd frame ({error})")


def _ends_early() -> DecompressionError:
    return DecompressionError("a zstd frame ends early")


def _beyond_limit() -> DecompressionLimitError:
    return DecompressionLimitError("a zstd frame holds more than the limit")
