"""What counts as reached, missed and open."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.report.evidence import Evidence
from bench.report.targets import Target, Verdict, judge, read_targets
from bench.results import KAFKA, OURS, Row, Run
from tests.bench.report.evidence import APPEND, RECOVER, benchmark, limit, runs

RATIOS = st.lists(st.floats(0.01, 100), max_size=5)


@given(RATIOS, st.floats(0.01, 100))
def test_a_ratio_is_reached_if_it_holds_in_each_of_three_runs_or_more(ratios: list[float], aim: float) -> None:
    judgement = judge(Target(APPEND, KAFKA, at_least=aim), runs(APPEND, *ratios))
    holds = [value >= aim for value in judgement.values]
    expected = Verdict.MISSED if not all(holds) else Verdict.REACHED if len(holds) >= 3 else Verdict.OPEN
    assert judgement.verdict is expected
    assert len(judgement.values) == len(ratios)
    assert not ratios or judgement.worst == pytest.approx(min(ratios))


@given(RATIOS.filter(bool), st.floats(0.01, 100))
def test_a_part_of_the_other_sides_time_is_decided_by_the_slowest_run(ratios: list[float], aim: float) -> None:
    judgement = judge(Target(APPEND, KAFKA, at_most=aim), runs(APPEND, *ratios))
    assert judgement.worst == pytest.approx(1 / min(ratios))
    assert (judgement.verdict is Verdict.MISSED) == (judgement.worst > aim)


@pytest.mark.parametrize(("aim", "verdict"), [(0.7, Verdict.REACHED), (0.76, Verdict.MISSED)])
def test_a_part_of_a_limit_is_of_its_throughput(aim: float, verdict: Verdict) -> None:
    row = Row(RECOVER, times={OURS: [1000.0]}, bytes=15_000)
    evidence = Evidence([limit("read memory", 20), *[Run("bench.peer", [row])] * 3])
    judgement = judge(Target(RECOVER, of_limit="read memory", at_least=aim), evidence)
    assert judgement.values == [0.75] * 3
    assert judgement.verdict is verdict


@pytest.mark.parametrize(("aim", "verdict"), [(450, Verdict.REACHED), (160, Verdict.MISSED)])
def test_a_figure_of_a_benchmark_needs_one_run(aim: float, verdict: Verdict) -> None:
    evidence = Evidence(benchmarks=[benchmark("bench/b.py::bench_idle", memory=163)])
    target = Target(benchmark="bench/b.py::bench_idle", figure="memory", at_most=aim)
    assert judge(target, evidence).verdict is verdict


def test_what_was_not_measured_is_open_and_what_was_skipped_says_why() -> None:
    target = Target(APPEND, KAFKA, at_least=1)
    assert judge(target, Evidence()).verdict is Verdict.OPEN
    skipped = judge(target, Evidence([Run("bench.peer", [Row(APPEND, skipped="no room")])]))
    assert (skipped.verdict, skipped.skipped) == (Verdict.OPEN, "no room")


@pytest.mark.parametrize(
    "entry",
    [
        'row = "append"\nat_least = 1',
        'row = "append"\nbeside = "Kafka"',
        'row = "append"\nbeside = "Kafka"\nat_least = 1\nat_most = 1',
        'row = "append"\nbeside = "Kafka"\nof_limit = "read memory"\nat_least = 1',
        'benchmark = "b"\nat_most = 1',
        'row = "append"\nbesides = "Kafka"\nat_least = 1',
    ],
)
def test_an_entry_that_says_too_little_or_too_much_is_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(f"[[target]]\n{entry}\n")
    with pytest.raises(ValueError, match=r"append|benchmark='b'"):
        read_targets(path)


def test_the_list_names_nothing_twice() -> None:
    keys = [(each.row, each.beside, each.of_limit, each.benchmark, each.figure) for each in read_targets()]
    assert len(keys) == len(set(keys)) > 40
