"""Floors, aims and benchmarks call the same work by the same names."""

import re
from pathlib import Path

import pytest

from bench.floors import read_floors
from bench.limits import limits
from bench.peer.comparison import SUITES
from bench.peer.files import Logs
from bench.peer.turns import Settings
from bench.report.curve import read_reasons
from bench.report.targets import Target, read_targets
from bench.results import ROOT
from bench.scaling.__main__ import all_curves

TARGETS = read_targets()


@pytest.fixture
def rows(tmp_path: Path) -> set[str]:
    """The names of all rows of bench/peer."""
    settings, logs = Settings(tmp_path, 1 << 20, rounds=1), Logs(tmp_path)
    return {name for suite in SUITES for name in suite(settings, logs, None).works()}


def test_every_row_has_a_floor_and_every_floor_a_row(rows: set[str]) -> None:
    assert {floor.row for floor in read_floors()} == rows


def test_every_aim_beside_another_side_has_a_row(rows: set[str]) -> None:
    assert {target.row for target in TARGETS if target.row} <= rows


def test_every_aim_of_a_limit_has_that_limit() -> None:
    names = {row.name for row in limits(1 << 20, rounds=1)}
    assert {target.of_limit for target in TARGETS if target.of_limit} <= names


@pytest.mark.parametrize("target", [target for target in TARGETS if target.benchmark], ids=lambda target: target.what)
def test_every_aim_of_a_suite_has_a_benchmark(target: Target) -> None:
    path, _, name = target.benchmark.partition("::")
    assert re.search(rf"^def {name.partition('[')[0]}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_every_reason_for_a_rise_has_a_curve() -> None:
    assert read_reasons().keys() <= {curve.name for curve in all_curves(quick=True)}
