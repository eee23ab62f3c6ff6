"""A figure of a suite that is worse than its floor, or that is missing, is told, and fails."""

import json
from pathlib import Path

import pytest

from bench.figure_floors import check_figures, read_figure_floors
from bench.floor_finding import Finding
from bench.floors import FLOORS, in_turn, main
from bench.report.evidence import Evidence
from bench.report.suite import PROGRAM
from bench.report.targets import Target, read_targets
from bench.results import KAFKA, OURS, Row, Run, write_runs
from tests.bench.report.evidence import benchmark

COUNT = "bench/bench_spark_source.py::bench_count"
COST, RATE = "core-s/GiB", "GB/s"
FLOOR = Target(benchmark=COUNT, figure=COST, at_most=3)


def measured(*values: float, figure: str = COST) -> Evidence:
    """The suite, run so many times, found these figures."""
    return Evidence([Run(PROGRAM)], [benchmark(COUNT, **{figure: value}) for value in values])


def findings(floor: Target, evidence: Evidence, *more: Evidence, complete: bool = True) -> list[Finding]:
    """Check one floor, where `more` is what further runs find."""
    left = list(more)
    found = list(check_figures([floor], evidence, lambda _: left.pop(0), complete=complete))
    assert left == [], "measured again more seldom than expected"
    return found


@pytest.mark.parametrize(
    ("floor", "value", "told"),
    [
        (FLOOR, 3.0, "3; the floor is at most 3"),
        (Target(benchmark=COUNT, figure=RATE, at_least=1.5), 1.5, "1.5; the floor is at least 1.5"),
    ],
)
def test_a_figure_at_its_floor_holds(floor: Target, value: float, told: str) -> None:
    [finding] = findings(floor, measured(value, figure=floor.figure))
    assert not finding.fails
    assert (finding.name, finding.told) == (f"bench_count, {floor.figure}", told)


def test_a_figure_beyond_its_floor_fails_after_two_more_runs() -> None:
    [finding] = findings(FLOOR, measured(4.0), measured(5.0), measured(3.5))
    assert finding.fails
    assert finding.told == "4, 5, 3.5; the floor is at most 3"


def test_one_run_of_three_is_enough() -> None:
    [finding] = findings(FLOOR, measured(4.0), measured(2.0))
    assert not finding.fails


def test_a_benchmark_that_gives_no_such_figure_fails() -> None:
    for evidence in (measured(1.0, figure=RATE), Evidence([Run(PROGRAM)])):
        [finding] = findings(FLOOR, evidence)
        assert finding.fails
        assert "no figure in the results" in finding.told


@pytest.mark.parametrize("complete", [False, True])
def test_what_was_skipped_or_not_run_fails_only_where_nothing_may_be_skipped(*, complete: bool) -> None:
    skipped = Evidence([Run(PROGRAM, [Row(COUNT, skipped="no Java")])])
    assert [(each.told, each.fails, each.is_measured) for each in findings(FLOOR, skipped, complete=complete)] == [
        ("was skipped: no Java", complete, False)
    ]
    [finding] = findings(FLOOR, Evidence([Run("bench.peer")]), complete=complete)
    assert (finding.name, finding.fails, finding.is_measured) == ("suites", complete, False)


@pytest.mark.parametrize(("cost", "status"), [(2.0, 0), (4.0, 1)])
def test_the_command_holds_ratios_and_figures_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, cost: float, status: int
) -> None:
    monkeypatch.setattr("bench.floors.run_again", lambda _: measured())
    floors, peer, suites = tmp_path / "floors.toml", tmp_path / "peer.json", tmp_path / "suites.json"
    floors.write_text(f'[{KAFKA}]\n"append" = 1\n\n[[figure]]\nbenchmark = "{COUNT}"\nfigure = "{COST}"\nat_most = 3\n')
    write_runs(peer, [Run("bench.peer", [Row("append", times={OURS: [1.0], KAFKA: [2.0]})])])
    result = {"fullname": COUNT, "stats": {"median": 1, "iqr": 0, "rounds": 3}, "extra_info": {COST: cost}}
    suites.write_text(json.dumps({"benchmarks": [result]}))
    assert main([str(peer), str(suites), "--floors", str(floors)], again=lambda _: []) == status
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "ok     append: 2.00 times as fast as Kafka; the floor is 1"
    assert told[1] == f"{'FAILED' if status else 'ok    '} bench_count, {COST}: {cost:g}; the floor is at most 3"


def test_the_command_lists_the_benchmarks_to_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    floors = tmp_path / "floors.toml"
    entry = f'[[figure]]\nbenchmark = "{COUNT}"\nfigure = "{{}}"\nat_most = 3\n'
    floors.write_text(entry.format(COST) + entry.format("seconds"))
    assert main(["--benchmarks", "--floors", str(floors)]) == 0
    assert capsys.readouterr().out == f"{COUNT}\n"


def test_the_files_of_suites_take_turns_and_each_floor_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [f"bench/bench_{letter}.py" for letter in "abcdefg"]
    floors = [
        Target(figure=COST, at_most=3, benchmark=f"{file}::bench_{name}") for file in files for name in ("x", "y")
    ]
    measured = []
    for seed in range(4):
        monkeypatch.setenv("CAMPAIGN_SEED", str(seed))
        of_run = in_turn(floors, 4)
        assert len({each.benchmark.partition("::")[0] for each in of_run}) <= 2
        measured += of_run
    assert sorted(measured, key=floors.index) == floors
    assert in_turn(floors, 1) == floors


def test_floors_out_of_turn_are_not_missed_and_the_command_says_how_many_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMPAIGN_SEED", "0")
    floors, suites = tmp_path / "floors.toml", tmp_path / "suites.json"
    entry = '[[figure]]\nbenchmark = "{}"\nfigure = "{}"\nat_most = 3\n'
    floors.write_text(entry.format(COUNT, COST) + entry.format("bench/bench_other.py::bench_other", COST))
    result = {"fullname": COUNT, "stats": {"median": 1, "iqr": 0, "rounds": 3}, "extra_info": {COST: 2.0}}
    suites.write_text(json.dumps({"benchmarks": [result]}))
    assert main([str(suites), "--floors", str(floors), "--shares", "2"]) == 0
    assert "figures of suites: 1 of 2 floors in turn, by CAMPAIGN_SEED=0" in capsys.readouterr().out


def test_the_command_without_results_asks_for_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 2
    assert "which results?" in capsys.readouterr().err


def test_a_floor_without_a_benchmark_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    floors = tmp_path / "floors.toml"
    floors.write_text('[[figure]]\nrow = "append"\nbeside = "Kafka"\nat_least = 1\n')
    assert main(["--benchmarks", "--floors", str(floors)]) == 2
    assert "a floor of a figure names a benchmark" in capsys.readouterr().err


def test_what_reaches_an_aim_holds_the_floor_in_use() -> None:
    floors = {(floor.benchmark, floor.figure): floor for floor in read_figure_floors(FLOORS)}
    aims = {(aim.benchmark, aim.figure): aim.aim for aim in read_targets() if aim.benchmark}
    both = floors.keys() & aims.keys()
    assert both
    assert all(floors[each].holds(aims[each]) for each in both)
