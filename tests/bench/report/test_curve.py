"""Whether the cost of a unit stays the same as the work grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.curve import FLAT, Curve, Point, curves
from bench.report.evidence import Evidence
from bench.results import OURS, Row, Run
from tests.bench.report.evidence import curve


@given(st.lists(st.floats(1, 1000), min_size=2, max_size=6))
def test_the_rise_is_the_most_by_which_a_unit_costs_more_than_at_any_smaller_size(costs: list[float]) -> None:
    [found] = curves(Evidence([curve("scan", *costs)]), {})
    rises = [later / earlier for place, later in enumerate(costs) for earlier in costs[:place]]
    assert found.rise == pytest.approx(max(rises))
    assert [point.cost for point in found.points] == pytest.approx(costs)


def test_falling_and_level_costs_are_flat_and_rising_ones_are_not() -> None:
    [falling] = curves(Evidence([curve("scan", 9, 5, 5.1)]), {})
    [rising] = curves(Evidence([curve("scan", 9, 5, 5 * FLAT + 0.1)]), {"scan": "caches end"})
    assert falling.is_flat
    assert not rising.is_flat
    assert rising.reason == "caches end"


@pytest.mark.parametrize(
    ("row", "unit", "cost"),
    [
        (Row("a", items=4, unit="epochs"), "epochs", 25),
        (Row("a", bytes=2 << 30), "GiB", 50),
        (Row("a"), "calls", 100),
    ],
)
def test_a_unit_is_an_item_or_a_gib_or_a_call(row: Row, unit: str, cost: float) -> None:
    row.group, row.times = "g", {OURS: [100.0]}
    rows = [Row(**(vars(row) | {"scale": scale})) for scale in (2, 1)]
    [found] = curves(Evidence([Run("bench.scaling", rows)]), {})
    assert (found.unit, [(point.scale, point.cost) for point in found.points]) == (unit, [(1, cost), (2, cost)])


def test_several_runs_of_a_curve_give_their_medians_and_skipped_points_are_left_out() -> None:
    evidence = Evidence([curve("scan", 1, 1), curve("scan", 3, 3), curve("scan", 2, 2)])
    evidence.runs.append(Run("bench.scaling", [Row("scan 1000", group="scan", scale=1000, skipped="no room")]))
    [found] = curves(evidence, {})
    assert [point.cost for point in found.points] == [2, 2]


def test_a_single_point_is_no_curve() -> None:
    assert curves(Evidence([curve("scan", 1)]), {}) == []


def test_a_scale_in_bytes_is_known_by_its_rows_and_memory_is_that_of_a_unit() -> None:
    rows = [
        Row("scan", times={OURS: [scale / 1e3]}, bytes=scale, memory=scale // 2, group="scan", scale=scale)
        for scale in (1 << 26, 1 << 33)
    ]
    [found] = curves(Evidence([Run("bench.scaling", rows)]), {})
    assert found.in_bytes
    assert found.grows
    assert [point.memory for point in found.points] == [0.5, 0.5]
    assert [point.total for point in found.points] == pytest.approx([(1 << 26) / 1e3, (1 << 33) / 1e3])


def test_work_that_is_the_same_at_the_smallest_sizes_does_not_grow_with_them() -> None:
    assert not Curve("ask", "answers", (Point(1, 9, 100, 0), Point(10, 5, 100, 0), Point(100, 3, 900, 0))).grows


def test_the_same_calls_among_more_entries_are_no_more_work() -> None:
    rows = [Row("ask", times={OURS: [5.0]}, items=100, unit="calls", group="ask", scale=scale) for scale in (1, 9)]
    [found] = curves(Evidence([Run("bench.scaling", rows)]), {})
    assert not found.grows
    assert not found.in_bytes
