"""Frames of zstd: what the library's own streams read is read, whole or not at all, and contexts are used again."""

import os
import random
import signal
import struct
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import cramjam
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from logstore.batch.compression import zstd_framing
from logstore.batch.compression.decompression_limit import block_limit
from logstore.batch.compression.zstd_framing import compress_zstd, decompress_zstd
from logstore.errors import DecompressionError, DecompressionLimitError

LIMIT = 1 << 20
MEGABYTE = 1 << 20
HEADER = bytes.fromhex("28b52ffd0058")
"""Of a frame that states no size, with a window of 2 MiB, as Kafka's own."""
EMPTY, LAST = b"\0\0\0", b"\1\0\0"
"""Blocks that hold nothing."""


def streamed(content: bytes) -> bytes:
    """A frame that states no size, as Kafka's producers write it."""
    compressor = cramjam.zstd.Compressor(3)
    compressor.compress(content)
    return bytes(compressor.finish())


def with_checksum(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


def skippable(content: bytes) -> bytes:
    return struct.pack("<II", 0x184D2A5F, len(content)) + content


def decompressed(data: bytes, limit: int = LIMIT) -> bytes:
    return decompress_zstd(memoryview(data), limit)


def read_by_its_stream(data: bytes) -> bytes | None:
    """What another library's stream makes of it, as Kafka's does; None for an error."""
    output = bytearray(LIMIT + 1)
    try:
        return bytes(output[: cramjam.zstd.decompress_into(data, output)])
    except cramjam.DecompressionError:
        return None


CONTENT = (
    st.binary(max_size=300)
    | st.binary(min_size=1, max_size=50).map(lambda part: part * 500)
    | st.binary(min_size=1, max_size=8).map(lambda part: part * 30_000)  # four of them stay below the limit
)
FRAMES = (
    st.builds(streamed, CONTENT)
    | st.builds(zstandard.compress, CONTENT)
    | st.builds(with_checksum, CONTENT.filter(len))
    | st.builds(skippable, st.binary(max_size=20))
)
CHANGE = st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 20), st.binary(max_size=4))


@given(frames=st.lists(FRAMES, min_size=1, max_size=4).map(b"".join))
def test_frames_are_read_as_one_stream(frames: bytes) -> None:
    assert decompressed(frames) == read_by_its_stream(frames)


@given(frames=st.lists(FRAMES, min_size=1, max_size=3).map(b"".join), changes=st.lists(CHANGE, min_size=1, max_size=3))
def test_what_is_damaged_is_read_as_the_stream_reads_it_or_refused(
    frames: bytes, changes: list[tuple[float, int, bytes]]
) -> None:
    for place, removed, added in changes:
        at = int(place * min(len(frames), 40))
        frames = frames[:at] + added + frames[at + removed :]
    try:
        content = decompressed(frames)
    except DecompressionError:
        return
    assert content == read_by_its_stream(frames)


@given(frames=st.lists(FRAMES, min_size=1, max_size=2).map(b"".join))
def test_a_frame_that_is_cut_anywhere_is_an_error(frames: bytes) -> None:
    whole = decompressed(frames)
    for end in range(max(0, len(frames) - 30), len(frames)):
        try:
            assert whole.startswith(decompressed(frames[:end]))
        except DecompressionError:
            continue
        # Between two frames.
        assert read_by_its_stream(frames[:end]) is not None


@pytest.mark.parametrize("compress", [streamed, zstandard.compress], ids=["streamed", "size stated"])
def test_frames_share_one_limit(compress: Callable[[bytes], bytes]) -> None:
    two = compress(b"one " * 100) + compress(b"two!" * 100)
    assert decompressed(two, limit=800) == b"one " * 100 + b"two!" * 100
    with pytest.raises(DecompressionLimitError):
        decompressed(two, limit=799)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not enough data"),
        (b"no frame at all", "Unknown frame"),
        (HEADER + LAST + b"rest", "Unknown frame"),
        (HEADER, "ends early"),
        (HEADER + EMPTY, "ends early"),
        (HEADER + b"\x81\0\0" + b"15 of 16 bytes.", "ends early"),
        (HEADER + b"\7\0\0", "unknown kind"),
        (HEADER + b"\x25\0\0" + b"junk", "invalid zstd frame"),
        (skippable(b"cut")[:-1], "ends early"),
        (with_checksum(b"content")[:-1], "ends early"),
        (with_checksum(b"content")[:-1] + b"?", "checksum"),
        (bytes.fromhex("28b52ffd2000") + b"\x09\0\0" + b"x", "is empty, and is not"),
        (bytes.fromhex("28b52ffd2005") + b"\x09\0\0" + b"x", "invalid zstd frame"),
        (bytes.fromhex("28b52ffd2001") + b"\x19\0\0" + b"xyz", "invalid zstd frame"),
        (bytes.fromhex("28b52ffde0") + b"\0" * 7 + b"\x40" + LAST, "its blocks cannot have"),
        (bytes.fromhex("28b52ffd0090") + b"\x09\0\0" + b"x", "too much memory"),
    ],
)
def test_what_no_frame_can_be_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(DecompressionError, match=message):
        decompressed(data)
    assert read_by_its_stream(data) is None


def test_more_blocks_than_any_producer_makes_are_beyond_the_limit() -> None:
    most = block_limit(1000)
    for data in (HEADER + EMPTY * (most - 1) + LAST, (HEADER + LAST) * most, skippable(b"") * most):
        assert decompressed(data) == b""
    for data in (HEADER + EMPTY * most + LAST, (HEADER + LAST) * (most + 1), skippable(b"") * (most + 1)):
        with pytest.raises(DecompressionLimitError, match=f"more than {most:,} "):
            decompressed(data)


def test_a_size_beyond_the_limit_is_refused_before_there_is_room_for_it() -> None:
    frame = zstandard.compress(bytes(8 * MEGABYTE))
    with pytest.raises(DecompressionLimitError):
        decompressed(frame, limit=MEGABYTE)


def test_threads_that_decompress_at_once_get_each_its_own() -> None:
    contents = [bytes([number]) * (40_000 + number) for number in range(12)]
    frames = [compress_zstd(memoryview(content)) for content in contents]

    def all_right(number: int) -> bool:
        return all(
            decompressed(frames[number]) == contents[number]
            and compress_zstd(memoryview(contents[number])) == frames[number]
            for _ in range(200)
        )

    with ThreadPoolExecutor(len(frames)) as pool:
        assert all(pool.map(all_right, range(len(frames))))


def test_a_handler_of_signals_may_decompress_in_the_midst_of_it() -> None:
    mine, its = bytes(range(256)) * 512, b"handler" * 20_000
    frames = streamed(mine), streamed(its)
    handled: list[bool] = []
    before = signal.signal(signal.SIGALRM, lambda *_: handled.append(decompressed(frames[1]) == its))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        while len(handled) < 100:
            assert decompressed(frames[0]) == mine
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(handled)


def test_a_fork_may_use_the_contexts_that_it_was_given() -> None:
    content = random.Random(1).randbytes(5_000) * 3
    frame = compress_zstd(memoryview(content))
    assert decompressed(frame) == content
    child = os.fork()
    if not child:
        os._exit(decompressed(frame) != content or compress_zstd(memoryview(content)) != frame)
    assert decompressed(frame) == content
    assert os.waitpid(child, 0)[1] == 0


def test_a_context_is_used_again_but_not_one_that_holds_much_memory() -> None:
    zstd_framing._decompressors.clear()
    small, broken, large = streamed(b"content"), HEADER + b"\x25\0\0" + b"junk", bytes.fromhex("28b52ffd0070") + LAST
    assert decompressed(small) == b"content"
    [context] = zstd_framing._decompressors
    with pytest.raises(DecompressionError):
        decompressed(broken)
    assert decompressed(small) == b"content"
    assert list(zstd_framing._decompressors) == [context]
    assert decompressed(large) == b""
    assert not zstd_framing._decompressors
