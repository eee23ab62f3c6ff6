"""What takes the place of a file has the same readers; where nothing can be made beside it, it is written itself."""

import os
from pathlib import Path
from stat import S_IMODE

import pytest

from replication.base.new_target import is_replaced, replaced_target


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_who_may_read_a_file_does_not_change(tmp_path: Path, mode: int) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    page.chmod(mode)
    with replaced_target(page) as part:
        assert S_IMODE(part.stat().st_mode) == mode
        part.write_text("new")
    assert (page.read_text(), S_IMODE(page.stat().st_mode)) == ("new", mode)


def test_a_file_in_a_directory_that_cannot_be_written_is_written_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "page.html"
    page.write_text("old")
    monkeypatch.setattr(os, "access", lambda place, _: place != tmp_path)
    assert not is_replaced(page)
    with replaced_target(page) as part:
        assert part == page
        part.write_text("new")
    assert page.read_text() == "new"
