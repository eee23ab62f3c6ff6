"""Small files are read whole, however large they may be; cores are counted that may be used."""

import os
from io import BytesIO
from pathlib import Path

import pytest

from epoch.base.resource_limits import read_bounded, read_up_to, usable_cores


@pytest.mark.parametrize(("limit", "expected"), [(0, b"a"), (2, b"abc"), (3, b"abc"), (1 << 40, b"abc")])
def test_a_file_is_read_up_to_one_byte_beyond_the_limit(tmp_path: Path, limit: int, expected: bytes) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    with open(tmp_path / "file", "rb") as file:
        assert read_bounded(file, limit) == expected


@pytest.mark.parametrize(("size", "expected"), [(0, b""), (2, b"ab"), (3, b"abc"), (9, b"abc")])
def test_a_file_that_gives_a_byte_at_a_time_is_read_as_far_as_asked(size: int, expected: bytes) -> None:
    assert read_up_to(Slow(b"abc"), size) == expected


class Slow(BytesIO):
    """What some file systems do that are not on a disk."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(1, size or 0))


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system ties no process to cores")
def test_cores_are_counted_that_the_process_may_run_on() -> None:
    allowed = os.sched_getaffinity(0)
    assert usable_cores() == len(allowed)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert usable_cores() == 1
    finally:
        os.sched_setaffinity(0, allowed)
