"""Frames come out as they went in, however the bytes arrive."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.wire.encoding.framing import FrameReader
from replication.wire.errors import MalformedResponseError


def _arrive(reader: FrameReader, data: bytes, sizes: list[int]) -> list[bytes]:
    """Let the data arrive in pieces of these sizes, over and over, each as far as the reader has room."""
    frames = []
    position = turn = 0
    while position < len(data):
        room = reader.wanted()
        assert len(room) > 0
        piece = data[position : position + min(len(room), sizes[turn % len(sizes)])]
        room[: len(piece)] = piece
        frame = reader.received(len(piece))
        if frame is not None:
            frames.append(bytes(frame))
        position += len(piece)
        turn += 1
    return frames


@given(
    st.lists(st.binary(max_size=40) | st.integers(0, 200_000).map(bytes), max_size=6),
    st.lists(st.integers(1, 70_000), min_size=1, max_size=5),
)
def test_frames_come_out_as_they_went_in(frames: list[bytes], sizes: list[int]) -> None:
    data = b"".join(len(frame).to_bytes(4, "big") + frame for frame in frames)
    assert _arrive(FrameReader(), data, sizes) == frames


def test_a_frame_of_the_limit_is_taken_and_a_larger_one_refused() -> None:
    assert _arrive(FrameReader(limit=3), b"\0\0\0\3abc", [1]) == [b"abc"]
    with pytest.raises(MalformedResponseError, match=r"a message of 4 bytes is announced .* at most 3"):
        _arrive(FrameReader(limit=3), b"\0\0\0\4abcd", [1])


@pytest.mark.parametrize(
    ("start", "guess"),
    [
        (b"HTTP/1.1 400 Bad Request", "web server"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "speaks TLS"),
        (b"SSH-2.0-OpenSSH", "SSH"),
        (b"\xff\xff\xff\xff", "not a Kafka listener"),
        (b"\x7f\xff\xff\xff", "not a Kafka listener"),
    ],
)
def test_who_speaks_another_protocol_is_recognised(start: bytes, guess: str) -> None:
    with pytest.raises(MalformedResponseError, match=guess):
        _arrive(FrameReader(), start, [100])


def test_memory_is_taken_for_what_arrived_not_for_what_was_announced() -> None:
    reader = FrameReader(limit=2**30)
    tracemalloc.start()
    try:
        _arrive(reader, (2**30).to_bytes(4, "big") + bytes(1_000_000), [100_000])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8_000_000


def test_a_frame_can_be_read_until_the_next_is_asked_for_and_not_be_changed() -> None:
    reader = FrameReader()
    reader.wanted()[:4] = b"\0\0\0\2"
    assert reader.received(4) is None
    reader.wanted()[:2] = b"hi"
    frame = reader.received(2)
    assert frame is not None
    assert frame.readonly
    assert bytes(frame) == b"hi"


def test_a_reader_that_lets_go_of_its_room_changes_no_frame() -> None:
    reader = FrameReader()
    sent = b"\0\1\0\0" + bytes(1 << 16)
    frame = None
    while frame is None:
        room = reader.wanted()
        count = min(len(room), len(sent))
        room[:count], sent = sent[:count], sent[count:]
        frame = reader.received(count)
    assert reader.holds_more_than((1 << 16) - 1)
    reader.let_go()
    assert not reader.holds_more_than(1 << 10)
    assert _arrive(reader, b"\0\0\0\3abc", [3]) == [b"abc"]
    assert frame == bytes(1 << 16)
