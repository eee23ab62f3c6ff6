"""LZ4's frame format as Kafka reads and writes it: independent blocks, no dictionaries.

Message sets of magic 0 carry a wrong header checksum, computed over the frame's magic number as well, because the first
clients did (KIP-57); it is not checked there, as Kafka does not. Checksums of blocks and content are skipped: the
batch's own checksum covers the same bytes.
"""

from collections.abc import Iterator
from struct import Struct
from threading import local
from typing import Final

import cramjam

from logstore.batch.compression.decompression_limit import block_limit, too_many_blocks
from logstore.errors import DecompressionError, DecompressionLimitError

MAGIC: Final = b"\x04\x22\x4d\x18"
_UINT32: Final = Struct("<I")
_LARGEST_RATIO: Final = 256
"""No byte of a block stands for more."""
_CHECKSUM_SIZE: Final = 4
_CONTENT_SIZE_SIZE: Final = 8
_UNCOMPRESSED: Final = 1 << 31
_BLOCK_SIZES: Final = {4: 64 << 10, 5: 256 << 10, 6: 1 << 20, 7: 4 << 20}

_VERSION: Final = 0b0100_0000
_VERSION_BITS: Final = 0b1100_0000
_INDEPENDENT: Final = 0b0010_0000
_BLOCK_CHECKSUMS: Final = 0b0001_0000
_CONTENT_SIZE: Final = 0b0000_1000
_RESERVED: Final = 0b0000_0011
_BLOCK_64_KIB: Final = 4 << 4


def decompress_lz4(data: memoryview, limit: int, *, check_header: bool) -> bytes:
    """Decompress one frame to at most `limit` bytes; `check_header` is false for magic 0."""
    parts: list[bytes] = []
    left = limit
    for part in _parts(data, block_limit(len(data)), check_header=check_header):
        left -= len(part)
        if left < 0:
            raise DecompressionLimitError("an lz4 frame holds more than the limit")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def lz4_pieces(data: memoryview, most_blocks: int, *, check_header: bool) -> Iterator[bytes]:
    """Decompress one frame, a block of 4 MiB at most at once."""
    return _parts(data, most_blocks, check_header=check_header)


def _parts(data: memoryview, most_blocks: int, *, check_header: bool) -> Iterator[bytes]:
    flags, block_size, position = _read_header(data, check_header=check_header)
    for block, compressed in _blocks(data, position, most_blocks, block_checksums=bool(flags & _BLOCK_CHECKSUMS)):
        yield _decompress_block(block, block_size) if compressed else _stored_block(block, block_size)


def compress_lz4(data: memoryview) -> bytes:
    """Compress to one frame of blocks of 64 KiB, as Kafka's producers do."""
    parts: list[bytes | memoryview] = [_HEADER]
    for start in range(0, len(data), _BLOCK_SIZES[4]):
        block = data[start : start + _BLOCK_SIZES[4]]
        compressed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        if len(compressed) < len(block):
            parts += _UINT32.pack(len(compressed)), compressed
        else:
            parts += _UINT32.pack(len(block) | _UNCOMPRESSED), block
    parts.append(_END_MARK)
    return b"".join(parts)


def header_checksum(descriptor: bytes) -> int:
    """Checksum a frame descriptor, which is shorter than 16 bytes: the second byte of its xxHash-32.

    >>> hex(header_checksum(bytes.fromhex("6440")))
    '0xa7'
    """
    return _xxhash32_short(descriptor) >> 8 & 0xFF


def _read_header(data: memoryview, *, check_header: bool) -> tuple[int, int, int]:
    """Return the flags, the largest block size, and where the blocks begin."""
    if data[: len(_HEADER)] == _HEADER:
        return _DESCRIPTOR[0], _BLOCK_SIZES[4], len(_HEADER)
    if bytes(data[:4]) != MAGIC or len(data) < 7:
        raise DecompressionError("this is no lz4 frame")
    flags, block_descriptor = data[4], data[5]
    if flags & _VERSION_BITS != _VERSION or flags & _RESERVED or not flags & _INDEPENDENT:
        raise DecompressionError(f"lz4 frame with unsupported flags {flags:#04x}")
    block_size = _BLOCK_SIZES.get(block_descriptor >> 4)
    if block_size is None or block_descriptor & 0x0F:
        raise DecompressionError(f"lz4 frame with unsupported block descriptor {block_descriptor:#04x}")
    end = 6 + (_CONTENT_SIZE_SIZE if flags & _CONTENT_SIZE else 0)
    if end >= len(data):
        raise DecompressionError("the lz4 frame ends inside its header")
    if check_header and data[end] != header_checksum(bytes(data[4:end])):
        raise DecompressionError("the lz4 frame's header checksum does not match")
    return flags, block_size, end + 1


def _blocks(data: memoryview, position: int, most: int, *, block_checksums: bool) -> Iterator[tuple[memoryview, bool]]:
    """Yield each block and whether it is compressed, up to the end mark."""
    for _ in range(most + 1):
        if len(data) - position < _UINT32.size:
            raise DecompressionError("the lz4 frame has no end mark")
        (length,) = _UINT32.unpack_from(data, position)
        compressed = not length & _UNCOMPRESSED
        length &= ~_UNCOMPRESSED
        if length == 0:
            return
        position += _UINT32.size
        if length > len(data) - position:
            raise DecompressionError("the lz4 frame ends inside a block")
        yield data[position : position + length], compressed
        position += length + (_CHECKSUM_SIZE if block_checksums else 0)
    raise too_many_blocks(len(data), "lz4 blocks")


def _decompress_block(block: memoryview, block_size: int) -> bytes:
    room = min(block_size, _LARGEST_RATIO * len(block))
    output = _scratch.block if room <= len(_scratch.block) else bytearray(room)
    try:
        size = cramjam.lz4.decompress_block_into(block, output, output_len=len(output))
    except cramjam.DecompressionError as error:
        raise DecompressionError(f"invalid lz4 block ({error})") from error
    return bytes(memoryview(output)[:size])


def _stored_block(block: memoryview, block_size: int) -> bytes:
    if len(block) > block_size:
        raise DecompressionError("an lz4 block is larger than its frame allows")
    return bytes(block)


class _Scratch(local):
    """A block of the usual size for each thread: to make one for each batch takes longer than to decompress a KiB."""

    def __init__(self) -> None:
        self.block = bytearray(_BLOCK_SIZES[4])


_scratch: Final = _Scratch()


def _xxhash32_short(data: bytes) -> int:
    mask = 0xFFFF_FFFF
    digest = 0x165667B1 + len(data)
    words = len(data) // 4
    for (word,) in _UINT32.iter_unpack(data[: words * 4]):
        digest = digest + word * 0xC2B2AE3D & mask
        digest = (digest << 17 | digest >> 15) * 0x27D4EB2F & mask
    for byte in data[words * 4 :]:
        digest = digest + byte * 0x165667B1 & mask
        digest = (digest << 11 | digest >> 21) * 0x9E3779B1 & mask
    digest = (digest ^ digest >> 15) * 0x85EBCA77 & mask
    digest = (digest ^ digest >> 13) * 0xC2B2AE3D & mask
    return digest ^ digest >> 16


_DESCRIPTOR: Final = bytes([_VERSION | _INDEPENDENT, _BLOCK_64_KIB])
_HEADER: Final = MAGIC + _DESCRIPTOR + bytes([header_checksum(_DESCRIPTOR)])
_END_MARK: Final = _UINT32.pack(0)
