"""Small files are read whole, however large they may be."""

from pathlib import Path

import pytest

from epoch.resource_limits import read_bounded


@pytest.mark.parametrize(("limit", "expected"), [(0, b"a"), (2, b"abc"), (3, b"abc"), (1 << 40, b"abc")])
def test_a_file_is_read_up_to_one_byte_beyond_the_limit(tmp_path: Path, limit: int, expected: bytes) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    with open(tmp_path / "file", "rb") as file:
        assert read_bounded(file, limit) == expected
