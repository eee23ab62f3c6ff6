"""One compiled call checks a follower's batch and writes it: all of it, nothing of it, or it says that it could not."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.kernels.follow import append_one
from tests.logstore.batches import batch, record
from tests.logstore.kernels import twins
from tests.logstore.kernels.guarded import guarded

LARGEST = twins.LARGEST
NO_LIMITS = (LARGEST, LARGEST, LARGEST)
PIPE_BYTES = 1 << 16

LIES = st.sampled_from(
    [{}] * 40
    + [{"crc": 1}, {"length": 48}, {"length": 49}, {"length": 70}, {"length": LARGEST >> 32}, {"length": -1}]
    + [{"last_offset_delta": -1}, {"record_count": -1}, {"magic": 1}, {"magic": 3}, {"producer_id": 7}]
    + [{"leader_epoch": 6}, {"base_offset": 9}, {"base_offset": -1}, {"base_offset": LARGEST}]
)
NEAR = st.sampled_from([0] * 8 + [1, -1])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written") / "file"


@pytest.fixture(scope="module")
def descriptor(path: Path) -> Iterator[int]:
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    yield opened
    os.close(opened)


@given(
    values=st.lists(st.binary(max_size=300), max_size=4),
    max_timestamp=st.sampled_from([-1, 0, 1_000, LARGEST]),
    lie=LIES,
    tail=st.sampled_from([b""] * 6 + [b"\0", batch(base_offset=20)]),
    cut=st.sampled_from([0] * 6 + [1, 20]),
    step=NEAR,
    room=NEAR,
    offsets=NEAR,
    until=NEAR,
)
def test_what_is_written_is_what_plain_python_would_write(
    path: Path,
    descriptor: int,
    values: list[bytes],
    max_timestamp: int,
    lie: dict[str, Any],
    tail: bytes,
    cut: int,
    step: int,
    room: int,
    offsets: int,
    until: int,
) -> None:
    header: dict[str, Any] = {"base_offset": 10, "leader_epoch": 5, "max_timestamp": max_timestamp}
    header["last_offset_delta"] = len(values)
    records = [record(offset_delta=number, value=value) for number, value in enumerate(values)]
    data = batch(records=records, **(header | lie)) + tail
    data = data[: len(data) - cut]
    place = (10 + step, 5, len(data) + room, 10 + len(values) + offsets, min(max_timestamp + until, LARGEST))
    os.truncate(path, 0)
    done = append_one(guarded(data).data, descriptor, *place)
    assert done == twins.append_one(data, *place)
    assert path.read_bytes() == (data if done[3] else b"")


def test_nothing_is_written_without_a_descriptor() -> None:
    assert append_one(memoryview(batch()), -1, 0, 0, *NO_LIMITS)[3] == 0


def test_a_write_that_fails_is_told(path: Path, descriptor: int) -> None:
    os.truncate(path, 0)
    closed = os.dup(descriptor)
    os.close(closed)
    read_only = os.open(path, os.O_RDONLY)
    for unfit in (closed, read_only):
        assert append_one(memoryview(batch()), unfit, 0, 0, *NO_LIMITS)[3] == -1
    os.close(read_only)
    assert path.read_bytes() == b""


def test_a_write_of_a_part_is_told() -> None:
    reader, writer = os.pipe2(os.O_NONBLOCK)
    data = batch(records=[record(value=bytes(2 * PIPE_BYTES))])
    assert append_one(memoryview(data), writer, 0, 0, *NO_LIMITS)[3] == -1
    found = os.read(reader, len(data))
    assert found == data[: len(found)] != b""
    os.close(reader)
    os.close(writer)
