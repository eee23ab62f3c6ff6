"""What a curve lacks is told, and what was measured before an interruption is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.results import OURS, read_runs
from bench.scaling import __main__ as scaling
from bench.scaling import audits
from bench.scaling.curve import Curve, Sample


def sleeping(_scale: int) -> Iterator[Sample]:
    yield Sample(lambda: sum(range(1000)), items=1)


def interrupted(_scale: int) -> Iterator[Sample]:
    raise KeyboardInterrupt
    yield


def test_curves_that_are_complete_are_written_before_the_next_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [Curve("first", (1, 2), (1, 2), sleeping), Curve("second", (1, 2), (1, 2), interrupted)]
    monkeypatch.setattr(scaling, "all_curves", lambda *, quick: chosen if quick else [])
    with pytest.raises(KeyboardInterrupt):
        scaling.main(["--quick", "--json", str(tmp_path / "result.json")])
    [run] = read_runs(tmp_path / "result.json")
    assert [(row.group, row.scale, len(row.times[OURS])) for row in run.rows] == [("first", 1, 1), ("first", 2, 1)]


def test_without_java_audits_are_skipped_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [curve] = audits.CURVES
    without = [Curve(curve.name, curve.scales, curve.quick, curve.make, missing=lambda: "no Java was found")]
    monkeypatch.setattr(scaling, "all_curves", lambda *, quick: without if quick else [])
    assert scaling.main(["--quick"]) == 0
    assert capsys.readouterr().out.count("skipped: no Java was found") == len(curve.quick)
