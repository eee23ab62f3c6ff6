"""Where a user keeps what can be made again: in the home directory, unless another place is named."""

import sys
from pathlib import Path

import pytest

from epoch.compiling.user_cache import user_cache


@pytest.fixture(autouse=True)
def on_linux(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)


def test_it_is_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user_cache() == tmp_path / ".cache/epochlog"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert user_cache() == tmp_path / "Library/Caches/epochlog"


def test_a_place_that_is_named_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert user_cache() == tmp_path / "caches/epochlog"


@pytest.mark.parametrize("named", ["", "caches", "~"])
def test_a_relative_place_is_none(named: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    assert user_cache() is None


def test_a_user_without_a_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", fail)
    assert user_cache() is None
