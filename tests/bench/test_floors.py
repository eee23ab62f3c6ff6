"""A ratio below its floor, a floor without a row and a row without a floor are each told, and fail."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.floor_finding import MORE_TRIES, Finding
from bench.floors import FLOORS, Floor, check, main, read_floors
from bench.results import KAFKA, OURS, Row, Run, write_runs

APPEND, READ = "append", "read"


def row(name: str, ratio: float, side: str = KAFKA) -> Row:
    return Row(name, times={OURS: [100.0], side: [100.0 * ratio]})


def never(name: str) -> Iterable[Row]:
    raise AssertionError(f"{name} was measured again")


def findings(floors: list[Floor], rows: list[Row], *more: float, complete: bool = True) -> list[Finding]:
    """Check, where `more` are the ratios that further measurements find."""
    left = list(more)
    found = list(check(floors, rows, lambda name: [row(name, left.pop(0))], complete=complete))
    assert left == [], "measured again more seldom than expected"
    return found


def test_a_ratio_at_its_floor_holds() -> None:
    [finding] = check([Floor(KAFKA, APPEND, 0.5)], [row(APPEND, 0.5)], never, complete=True)
    assert not finding.fails


def test_a_ratio_below_its_floor_fails_after_it_was_measured_again_twice() -> None:
    [finding] = findings([Floor(KAFKA, APPEND, 0.5)], [row(APPEND, 0.4)], 0.3, 0.49)
    assert finding.fails
    assert finding.told == "0.40, 0.30, 0.49 times as fast as Kafka; the floor is 0.5"


@given(st.lists(st.floats(0.01, 10), min_size=1 + MORE_TRIES, max_size=1 + MORE_TRIES), st.floats(0.01, 10))
def test_a_floor_holds_where_one_of_three_measurements_reaches_it(ratios: list[float], floor: float) -> None:
    left = ratios[1:]
    [finding] = check(
        [Floor(KAFKA, APPEND, floor)], [row(APPEND, ratios[0])], lambda name: [row(name, left.pop(0))], complete=True
    )
    reached = [row(APPEND, ratio).ratio(KAFKA) for ratio in ratios]
    assert finding.fails == all(ratio is not None and ratio < floor for ratio in reached)


def test_all_missed_floors_are_told_not_only_the_first() -> None:
    floors = [Floor(KAFKA, APPEND, 1), Floor(KAFKA, READ, 1)]
    found = list(check(floors, [row(APPEND, 0.1), row(READ, 0.1)], lambda _: [], complete=True))
    assert [(each.name, each.fails) for each in found] == [(APPEND, True), (READ, True)]


def test_a_floor_without_a_row_fails() -> None:
    found = findings([Floor(KAFKA, APPEND, 1), Floor(KAFKA, READ, 1)], [row(APPEND, 2)])
    assert [each.name for each in found if each.fails] == [READ]
    assert "no row in the result" in found[1].told


def test_a_row_without_a_floor_fails() -> None:
    found = findings([Floor(KAFKA, APPEND, 1)], [row(APPEND, 2), row(READ, 2)])
    assert [each.name for each in found if each.fails] == [READ]
    assert "has no floor beside Kafka" in found[1].told


def test_bare_write_is_no_side_that_needs_a_floor() -> None:
    both = Row(APPEND, times={OURS: [1.0], KAFKA: [1.0], "write()": [1.0]})
    assert [each.fails for each in findings([Floor(KAFKA, APPEND, 1)], [both])] == [False]


def test_each_side_has_floors_of_its_own() -> None:
    floors = [Floor(KAFKA, APPEND, 1), Floor("aiokafka", APPEND, 8)]
    both = Row(APPEND, times={OURS: [1.0], KAFKA: [2.0], "aiokafka": [7.0]})
    found = list(check(floors, [both], lambda _: [], complete=True))
    assert [(each.told, each.fails) for each in found] == [
        ("2.00 times as fast as Kafka; the floor is 1", False),
        ("7.00 times as fast as aiokafka; the floor is 8", True),
    ]


def test_a_row_that_lacks_the_sides_figure_fails() -> None:
    floors = [Floor(KAFKA, APPEND, 1), Floor(KAFKA, READ, 1)]
    found = findings(floors, [row(APPEND, 2), Row(READ, times={OURS: [1.0]})])
    assert [(each.name, each.told) for each in found if each.fails] == [(READ, "has no figure of Kafka")]


@pytest.mark.parametrize("complete", [False, True])
def test_a_skipped_row_and_a_missing_side_fail_only_where_nothing_may_be_skipped(*, complete: bool) -> None:
    floors = [Floor(KAFKA, APPEND, 1), Floor(KAFKA, READ, 1)]
    found = findings(floors, [row(APPEND, 2), Row(READ, skipped="no room")], complete=complete)
    assert [(each.told, each.fails) for each in found[1:]] == [("was skipped: no room", complete)]
    found = findings(floors, [Row(APPEND, times={OURS: [1.0]})], complete=complete)
    assert [(each.name, each.fails) for each in found] == [(KAFKA, complete)]


@pytest.mark.parametrize(("ratio", "status"), [(2.0, 0), (0.5, 1)])
def test_the_command_tells_of_every_floor_and_its_status_says_whether_all_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ratio: float, status: int
) -> None:
    floors, result = tmp_path / "floors.toml", tmp_path / "result.json"
    floors.write_text(f'[{KAFKA}]\n"{APPEND}" = 1\n"{READ}" = 1.5\n')
    write_runs(result, [Run("bench.peer", [row(APPEND, ratio), row(READ, 3)])])
    assert main([str(result), "--floors", str(floors)], again=lambda _: []) == status
    told = capsys.readouterr().out
    assert f"{'FAILED' if status else 'ok    '} append: " in told
    assert "ok     read: 3.00 times as fast as Kafka; the floor is 1.5" in told


def test_what_was_not_measured_does_not_hold_without_a_word(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REQUIRE_ALL", raising=False)
    floors, result = tmp_path / "floors.toml", tmp_path / "result.json"
    floors.write_text(f'[{KAFKA}]\n"{APPEND}" = 1\n')
    write_runs(result, [Run("bench.peer", [Row(APPEND, times={OURS: [1.0]})])])
    assert main([str(result), "--floors", str(floors)], again=never) == 0
    told = capsys.readouterr().out.splitlines()
    assert told == [
        "-      Kafka: was not measured: there is nothing to compare with",
        "every floor that was measured holds",
    ]


@pytest.mark.parametrize("content", [None, "{", "[3]", '[{"rows": [{"what": 1}]}]'])
def test_a_file_that_is_no_result_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None
) -> None:
    result = tmp_path / "result.json"
    if content is not None:
        result.write_text(content)
    assert main([str(result)], again=never) == 2
    assert "result.json" in capsys.readouterr().err


def test_floors_are_proposed_at_half_of_the_worst_ratio(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result, floors = tmp_path / "result.json", tmp_path / "floors.toml"
    write_runs(result, [Run("bench.peer", [row(APPEND, ratio), row(READ, 30, "aiokafka")]) for ratio in (3, 1, 2)])
    assert main([str(result), "--propose"]) == 0
    floors.write_text(capsys.readouterr().out)
    assert read_floors(floors) == [Floor(KAFKA, APPEND, 0.5), Floor("aiokafka", READ, 15)]


def test_the_floors_in_use_are_positive_and_name_a_row_once() -> None:
    floors = read_floors(FLOORS)
    assert all(floor.times > 0 for floor in floors)
    assert {floor.side for floor in floors} >= {KAFKA}
