"""Codecs: what Kafka's clients write is read, and output never exceeds its limit."""

import gzip
import random
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.compression.codec import Codec, compress, decompress
from logstore.batch.compression.decompression_limit import DECOMPRESSION_LIMIT, block_limit, decompression_limit
from logstore.batch.compression.lz4_framing import header_checksum
from logstore.errors import DecompressionError, DecompressionLimitError

MEGABYTE = 1 << 20
XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
CONTENT = st.binary(max_size=2000) | st.binary(max_size=50).map(lambda part: part * 3000)


def xerial(data: bytes, block: int = 32 << 10) -> bytes:
    blocks = [bytes(cramjam.snappy.compress_raw(data[i : i + block])) for i in range(0, len(data), block)]
    return XERIAL + b"".join(struct.pack(">i", len(each)) + each for each in blocks)


def lz4_frame(data: bytes, *, flags: int = 0x60, block_descriptor: int = 0x40, magic: int = 2) -> bytes:
    descriptor = bytes([flags, block_descriptor]) + (struct.pack("<q", len(data)) if flags & 0x08 else b"")
    covered = (b"\x04\x22\x4d\x18" if magic == 0 else b"") + descriptor
    frame = b"\x04\x22\x4d\x18" + descriptor + bytes([header_checksum(covered)])
    for start in range(0, len(data), 64 << 10):
        block = data[start : start + (64 << 10)]
        small = bytes(cramjam.lz4.compress_block(block, store_size=False))
        frame += struct.pack("<I", len(small)) + small if len(small) < len(block) else raw_block(block)
        frame += b"\x00" * 4 if flags & 0x10 else b""
    return frame + bytes(4)


def raw_block(block: bytes) -> bytes:
    return struct.pack("<I", len(block) | 1 << 31) + block


def zstd(data: bytes) -> bytes:
    return bytes(cramjam.zstd.compress(data))


COMPRESS: dict[Codec, Callable[[bytes], bytes]] = {
    Codec.NONE: bytes,
    Codec.GZIP: gzip.compress,
    Codec.SNAPPY: xerial,
    Codec.LZ4: lz4_frame,
    Codec.ZSTD: zstd,
}
COMPRESSING = [codec for codec in Codec if codec]


@pytest.mark.parametrize("codec", Codec)
@given(data=CONTENT)
def test_what_was_compressed_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, COMPRESS[codec](data)) == data


@pytest.mark.parametrize("codec", Codec)
@given(data=CONTENT.filter(len), excess=st.integers(1, 100))
def test_output_may_be_as_large_as_the_limit_and_no_larger(codec: Codec, data: bytes, excess: int) -> None:
    compressed = COMPRESS[codec](data)
    assert decompress(codec, compressed, limit=len(data)) == data
    with pytest.raises(DecompressionLimitError):
        decompress(codec, compressed, limit=max(0, len(data) - excess))


@pytest.mark.parametrize("codec", COMPRESSING)
@given(data=CONTENT.filter(len), cut=st.floats(0, 1, exclude_max=True))
def test_a_cut_stream_is_an_error_or_what_was_before_the_cut(codec: Codec, data: bytes, cut: float) -> None:
    compressed = COMPRESS[codec](data)
    part = compressed[: int(len(compressed) * cut)]
    try:
        output = decompress(codec, part)
    except DecompressionError:
        return
    # A snappy stream that ends between two blocks has no end mark to miss.
    assert codec is Codec.SNAPPY
    assert data.startswith(output)


def test_snappy_without_xerial_s_header_is_one_raw_block() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(b"raw" * 100))) == b"raw" * 100
    assert decompress(Codec.SNAPPY, b"\x00") == b""


def test_concatenated_xerial_streams_are_one() -> None:
    assert decompress(Codec.SNAPPY, xerial(b"one ") + xerial(b"two")) == b"one two"


def test_a_snappy_block_that_claims_too_much_is_refused_before_it_is_decompressed() -> None:
    with pytest.raises(DecompressionLimitError):
        decompress(Codec.SNAPPY, b"\xff\xff\xff\xff\x0f" + b"x" * 10)


def test_concatenated_gzip_members_are_one_and_what_follows_is_ignored() -> None:
    members = gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two")
    assert decompress(Codec.GZIP, members + b"trailing") == b"one two"


@pytest.mark.parametrize("flags", [0x60, 0x64, 0x68, 0x70], ids=["plain", "content sum", "content size", "block sums"])
def test_lz4_frames_with_optional_fields_are_read(flags: int) -> None:
    data = bytes(range(256)) * 600
    assert decompress(Codec.LZ4, lz4_frame(data, flags=flags)) == data


def test_lz4_s_header_checksum_counts_except_in_magic_0() -> None:
    wrong = lz4_frame(b"data" * 100, magic=0)
    assert decompress(Codec.LZ4, wrong, magic=0) == b"data" * 100
    assert decompress(Codec.LZ4, lz4_frame(b"data" * 100), magic=0) == b"data" * 100
    with pytest.raises(DecompressionError, match="checksum"):
        decompress(Codec.LZ4, wrong, magic=1)


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x04\x22\x4d\x18",
        lz4_frame(b"x", flags=0x40),
        lz4_frame(b"x", flags=0x61),
        lz4_frame(b"x", flags=0xA0),
        lz4_frame(b"x", block_descriptor=0x30),
        lz4_frame(b"x", block_descriptor=0x41),
        lz4_frame(b"")[:-4] + raw_block(bytes(70_000)) + bytes(4),
        lz4_frame(b"")[:-4] + struct.pack("<I", 5) + b"\xff" * 5 + bytes(4),
        lz4_frame(b"")[:-4] + struct.pack("<I", 0x7FFFFFFF) + bytes(4),
    ],
)
def test_lz4_frames_that_kafka_refuses_are_refused(frame: bytes) -> None:
    with pytest.raises(DecompressionError):
        decompress(Codec.LZ4, frame)


def test_gzip_gives_no_more_than_the_limit_even_from_a_few_bytes() -> None:
    compressed = gzip.compress(bytes(8 * MEGABYTE))
    tracemalloc.start()
    with pytest.raises(DecompressionLimitError):
        decompress(Codec.GZIP, compressed, limit=1000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < MEGABYTE


@pytest.mark.parametrize("codec", [5, 6, 7, -1])
def test_an_unknown_codec_is_an_error(codec: int) -> None:
    with pytest.raises(DecompressionError):
        decompress(codec, b"data")


def test_the_limit_grows_with_what_is_on_disk() -> None:
    assert decompression_limit(1000) == DECOMPRESSION_LIMIT
    assert decompression_limit(100 * MEGABYTE) == 1600 * MEGABYTE


BOMB = """
import resource, sys
from logstore.batch.compression.codec import decompress
from logstore.errors import DecompressionLimitError
bomb = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decompress(int(sys.argv[1]), bomb)
except DecompressionLimitError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def bomb(codec: Codec) -> bytes:
    """Zeros: a gigabyte, or for snappy, which shrinks them only to a twentieth, just more than allowed."""
    zeros = bytes(16 * MEGABYTE)
    match codec:
        case Codec.SNAPPY:
            block = bytes(cramjam.snappy.compress_raw(zeros))
            return XERIAL + (struct.pack(">i", len(block)) + block) * 8
        case Codec.LZ4:
            frame = lz4_frame(zeros)
            return frame[:7] + frame[7:-4] * 64 + bytes(4)
        case Codec.GZIP:
            return gzip.compress(zeros) * 64
        case _:
            compressor = cramjam.zstd.Compressor()
            for _ in range(64):
                compressor.compress(zeros)
            return bytes(compressor.finish())


@pytest.mark.parametrize("codec", COMPRESSING)
def test_a_bomb_is_a_finding_and_memory_stays_within_a_few_limits(codec: Codec) -> None:
    content = bomb(codec)
    result = subprocess.run(
        [sys.executable, "-c", BOMB, str(int(codec))], input=content, capture_output=True, check=True
    )
    kilobytes = int(result.stdout)
    small = decompression_limit(len(content))
    assert kilobytes << 10 < 3 * small, f"{kilobytes:,} KiB for a limit of {small:,} bytes"


LZ4_HEADER = lz4_frame(b"")[:7]
EMPTY_BLOCKS = {
    "gzip members": (Codec.GZIP, b"", gzip.compress(b""), b""),
    "lz4 blocks": (Codec.LZ4, LZ4_HEADER, struct.pack("<I", 1) + b"\0", bytes(4)),
    "lz4 blocks of one byte": (Codec.LZ4, LZ4_HEADER, raw_block(b"\0"), bytes(4)),
    "snappy blocks": (Codec.SNAPPY, XERIAL, struct.pack(">i", 1) + b"\0", b""),
    "snappy headers": (Codec.SNAPPY, b"", XERIAL, b""),
}


@pytest.mark.parametrize("kind", EMPTY_BLOCKS)
def test_more_blocks_than_any_producer_makes_are_beyond_the_limit(kind: str) -> None:
    codec, header, block, end = EMPTY_BLOCKS[kind]
    most = block_limit(1000)
    content = decompress(codec, header + block * (most - 1) + end)
    assert content == bytes(len(content))
    with pytest.raises(DecompressionLimitError, match=f"more than {most:,} "):
        decompress(codec, header + block * (most + 1) + end)


def test_large_batches_may_have_a_block_for_64_bytes() -> None:
    assert block_limit(100 * MEGABYTE) == 100 * MEGABYTE // 64


def test_a_stored_block_of_nothing_ends_an_lz4_frame_as_in_kafka() -> None:
    frame = LZ4_HEADER + raw_block(b"kept") + raw_block(b"") + raw_block(b"ignored") + bytes(4)
    assert decompress(Codec.LZ4, frame) == b"kept"


@pytest.mark.parametrize("codec", Codec)
@given(data=CONTENT | st.binary(min_size=1000, max_size=2000).map(lambda part: part * 100))
def test_what_is_compressed_here_comes_back(codec: Codec, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data


@pytest.mark.parametrize("codec", COMPRESSING)
def test_repetition_is_compressed_in_every_block(codec: Codec) -> None:
    assert len(compress(codec, b"epoch" * 60_000)) < 20_000


def test_an_incompressible_block_of_lz4_is_stored_as_it_is() -> None:
    noise = random.Random(4).randbytes(70_000)
    assert len(compress(Codec.LZ4, noise)) == len(noise) + len(lz4_frame(b"")) + 2 * 4


def test_frames_begin_as_kafkas_producers_begin_them() -> None:
    assert compress(Codec.LZ4, b"").hex() == "04224d186040" + "82" + "00000000"
    assert compress(Codec.SNAPPY, b"") == XERIAL
    assert compress(Codec.GZIP, b"")[:3] == b"\x1f\x8b\x08"


def test_an_unknown_codec_compresses_nothing() -> None:
    with pytest.raises(ValueError, match="codec 5"):
        compress(5, b"")
