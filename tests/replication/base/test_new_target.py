"""What takes the place of a file has the same readers; where nothing can be made beside it, it is written itself."""

import os
from pathlib import Path
from stat import S_IMODE

import pytest

from replication.base.new_target import is_replaced, new_target, replaced_target


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


class TargetRefusedError(Exception):
    pass


def refuse(path: Path, reason: str) -> Exception:
    return TargetRefusedError(f"{path}: {reason}")


def test_where_nothing_can_be_made_the_target_is_refused_by_its_own_name(tmp_path: Path) -> None:
    target = tmp_path / "lost"
    refused = f"{target}: cannot be made in {tmp_path}: Permission denied; name a file elsewhere"
    with pytest.raises(TargetRefusedError, match=f"^{refused}$"), new_target(target, "a file", refuse) as part:
        raise PermissionError(13, "Permission denied", str(part))  # root may write everywhere


def test_an_error_names_what_somebody_has_named_and_not_the_hidden_part(tmp_path: Path) -> None:
    target = tmp_path / "lost"
    with pytest.raises(FileNotFoundError) as caught, new_target(target, "a directory", refuse) as part:
        (part / "orders-0").mkdir()
    assert caught.value.filename == str(target / "orders-0")
    with pytest.raises(FileNotFoundError) as failed, replaced_target(target) as part:
        (part / "orders-0").touch()
    assert failed.value.filename == str(target / "orders-0")


def test_a_target_may_be_named_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as caught, new_target(Path("lost"), "a directory", refuse) as part:
        (part.absolute() / "orders-0").mkdir()
    assert caught.value.filename == "lost/orders-0"


def test_an_error_of_another_file_is_left_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(PermissionError, match="source"), new_target(tmp_path / "lost", "a file", refuse):
        raise PermissionError(13, "Permission denied", "source")
