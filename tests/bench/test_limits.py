import pytest

from bench import limits
from bench.limits import MACHINE, fastest, told
from bench.results import Row

MIB = 1 << 20


def test_every_limit_has_a_figure_for_each_round() -> None:
    rows = list(limits.limits(MIB, rounds=2))
    assert len(rows) == len({row.name for row in rows}) == 10
    for row in rows:
        assert len(row.times[MACHINE]) == 2, row.name
        assert min(row.times[MACHINE]) > 0, row.name
    assert not limits.WORK.exists()


def test_throughput_is_that_of_the_fastest_round() -> None:
    row = Row("read memory", times={MACHINE: [4e9, 2e9, 3e9]}, bytes=1 << 30)
    assert fastest(row) == 2e9
    assert "0.54 GB/s" in told(row)


def test_what_has_no_room_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "lacking", lambda **wanted: " and ".join(f"no {each}" for each in wanted))
    rows = list(limits.limits(MIB, rounds=1))
    assert [(row.name, row.times, row.skipped) for row in rows] == [
        ("memory", {}, "no memory"),
        ("files", {}, "no disk"),
    ]
    assert [told(row) for row in rows] == ["skipped: no memory", "skipped: no disk"]
