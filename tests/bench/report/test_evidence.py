"""Result files of several programs and runs, put together."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench.report.evidence import Evidence, gather
from bench.report.targets import Target, judge
from bench.results import KAFKA, OURS, Row, Run, write_runs
from tests.bench.report.evidence import APPEND, beside, limit, runs

SUITE: dict[str, list[dict[str, Any]]] = {
    "benchmarks": [
        {
            "fullname": "bench/bench_epoch.py::bench_bulk[10]",
            "stats": {"median": 0.5, "iqr": 0.1, "rounds": 9},
            "extra_info": {"answers": 100, "mirror, MB/s": [3, 1, 2], "codec": "lz4"},
        }
    ]
}


def test_files_of_both_kinds_are_put_together(tmp_path: Path) -> None:
    write_runs(tmp_path / "one.json", [Run("bench.peer", [beside(APPEND, 2)])])
    write_runs(tmp_path / "two.json", [Run("bench.peer", [beside(APPEND, 3)])])
    (tmp_path / "suite.json").write_text(json.dumps(SUITE))
    evidence = gather(sorted(tmp_path.iterdir()))
    [found] = evidence.comparisons(KAFKA)
    assert (found.name, sorted(found.ratios)) == (APPEND, [2, 3])
    [measured] = evidence.benchmarks
    assert measured.group == "bench/bench_epoch.py"
    assert measured.figures == {"seconds": 0.5, "answers": 100, "mirror, MB/s": 2, "answers/s": 200}


def test_a_benchmark_that_was_measured_again_counts_as_it_was_last(tmp_path: Path) -> None:
    [first] = SUITE["benchmarks"]
    other = {**first, "fullname": "bench/bench_epoch.py::bench_other"}
    again = {**first, "stats": {"median": 0.25, "iqr": 0.1, "rounds": 3}}
    for name, measured in (("1.json", [first, other]), ("2.json", [again])):
        (tmp_path / name).write_text(json.dumps({"benchmarks": measured}))
    evidence = gather(sorted(tmp_path.iterdir()))
    assert [(each.name, each.seconds) for each in evidence.benchmarks] == [
        (first["fullname"], 0.25),
        (other["fullname"], 0.5),
    ]
    assert len(evidence.runs) == 2


def test_a_suite_s_date_commit_and_skipped_benchmarks_are_those_of_a_run(tmp_path: Path) -> None:
    name = "bench/bench_audit.py::bench_audit"
    said = {
        "datetime": "2026-01-02T03:04:05.6+00:00",
        "commit_info": {"id": "0123456789abcdef", "dirty": True},
        "skipped": {name: "room (9 GiB are needed) is missing"},
    }
    (tmp_path / "suite.json").write_text(json.dumps(SUITE | said))
    evidence = gather([tmp_path / "suite.json"])
    assert evidence.conditions == {"date": ["2026-01-02"], "commit": ["0123456-dirty"]}
    assert [(row.name, row.skipped) for row in evidence.skipped] == list(said["skipped"].items())
    target = Target(benchmark=name, figure="seconds", at_most=1)
    assert judge(target, evidence).skipped == "room (9 GiB are needed) is missing"


@pytest.mark.parametrize(
    "content", ["", "{}", "[1]", '{"benchmarks": [], "commit_info": 3}', '[{"program": "x", "rows": [{"what": 1}]}]']
)
def test_another_file_is_refused_by_its_name(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"other\.json: not a result"):
        gather([path])


def test_a_run_that_skipped_the_row_or_lacks_the_side_is_none_of_the_runs() -> None:
    evidence = runs(APPEND, 2, 3)
    evidence.runs += [Run("bench.peer", [Row(APPEND, skipped="no room")]), Run("x", [Row(APPEND, times={OURS: [1.0]})])]
    [found] = evidence.comparisons(KAFKA)
    assert found.ratios == [2, 3]
    assert found.nanoseconds(KAFKA) == 250
    assert [row.skipped for row in evidence.skipped] == ["no room"]


def test_sides_are_those_that_were_measured_beside_us() -> None:
    evidence = Evidence([limit("read memory", 20), Run("x", [beside(APPEND, 1, "write()"), beside("read", 1)])])
    assert evidence.sides == ["write()", KAFKA]


def test_a_limit_is_that_of_the_fastest_round() -> None:
    evidence = Evidence([limit("read memory", 20)])
    assert evidence.limit("read memory") == 20
    assert evidence.limit("copy memory") is None


def test_conditions_have_every_value_once() -> None:
    evidence = Evidence([Run("x", conditions={"load": 1, "a": "b"}), Run("y", conditions={"load": 2, "a": "b"})])
    assert evidence.conditions == {"load": [1, 2], "a": ["b"]}
