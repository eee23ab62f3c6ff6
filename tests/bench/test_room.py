import shutil

import pytest

from bench import room
from bench.room import SPARE, lacking, require_room

MUCH = 1 << 60


def test_nothing_is_lacking_where_nothing_is_needed() -> None:
    assert lacking() == ""


def test_disk_and_memory_that_are_lacking_are_told_with_what_is_free() -> None:
    free = shutil.disk_usage(room.BUILD).free
    reason = lacking(disk=MUCH, memory=MUCH)
    assert "1073741825.0 GiB of disk below build/bench are needed" in reason
    assert f"{free / 2**30:.0f}"[:-1] in reason
    assert "of memory are needed" in reason


@pytest.mark.parametrize(("free", "enough"), [(SPARE + 9, False), (SPARE + 10, True)])
def test_something_is_left_to_others(monkeypatch: pytest.MonkeyPatch, free: int, *, enough: bool) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: free)
    assert (lacking(memory=10) == "") is enough


def test_a_system_that_does_not_tell_of_its_memory_has_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "free_memory", lambda: None)
    assert lacking(memory=MUCH) == ""


def test_a_benchmark_without_room_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    with pytest.raises(pytest.skip.Exception, match="GiB of memory are needed"):
        require_room(memory=MUCH)
    require_room(disk=1, memory=1)


def test_where_nothing_may_be_skipped_it_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REQUIRE_ALL", "1")
    with pytest.raises(pytest.fail.Exception, match="allows no skips"):
        require_room(disk=MUCH)
