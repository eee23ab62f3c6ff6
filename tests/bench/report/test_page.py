"""What the page says of results, from reading them to the written file."""

import json
from pathlib import Path

import pytest

from bench.report.__main__ import main
from bench.report.evidence import Evidence
from bench.report.page import PROGRAMS, PYTHON, SUITES
from bench.results import KAFKA, OURS, Row, Run, write_runs
from tests.bench.report.evidence import APPEND, CONDITIONS, RECOVER, beside, curve, limit

PAGE = (
    f"# Performance\n\nBy hand.\n\n{PROGRAMS.begin}\nold\n{PROGRAMS.end}\n\n"
    f"Also by hand.\n\n{PYTHON.begin}\nold stores\n{PYTHON.end}\n\n{SUITES.begin}\nold suites\n{SUITES.end}\n"
)
TARGETS = f"""
[[target]]
row = "{APPEND}"
beside = "Kafka"
at_least = 1
reason = "Fifteen calls of the interpreter."

[[target]]
row = "{RECOVER}"
beside = "Kafka"
at_least = 8

[[curve]]
name = "look up"
reason = "Caches end."
"""


def report(directory: Path, results: list[Run], targets: str = TARGETS) -> str:
    """Write a report; return its page."""
    page = directory / "performance.md"
    page.write_text(PAGE)
    (directory / "targets.toml").write_text(targets)
    write_runs(directory / "result.json", results)
    words = [str(directory / "result.json"), "--page", str(page), "--targets", str(directory / "targets.toml")]
    assert main(words) == 0
    return page.read_text()


def run(append: float, recover: float) -> Run:
    return Run("bench.peer", [beside(APPEND, append), beside(RECOVER, recover)], dict(CONDITIONS))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the report of three runs, limits and two curves lies."""
    directory = tmp_path_factory.mktemp("report")
    results = [run(0.5, 9), run(0.7, 11), run(0.6, 10), limit("read memory", 20)]
    report(directory, [*results, curve("look up", 1, 2), curve("scan", 2, 2)])
    return directory


@pytest.fixture
def page(written: Path) -> str:
    return (written / "performance.md").read_text()


def test_what_is_written_by_hand_stays(page: str) -> None:
    assert page.startswith(f"# Performance\n\nBy hand.\n\n{PROGRAMS.begin}\n\nMeasured on 2026-01-02")
    assert f"\n\n{PROGRAMS.end}\n\nAlso by hand.\n" in page
    assert "\nold\n" not in page


def test_the_other_parts_stay_where_only_what_is_beside_kafka_was_measured(page: str) -> None:
    stores = f"{PYTHON.begin}\nold stores\n{PYTHON.end}"
    assert page.endswith(f"{stores}\n\n{SUITES.begin}\nold suites\n{SUITES.end}\n")


def test_what_is_beside_other_stores_has_its_own_part_and_aims(tmp_path: Path) -> None:
    aim = f'[[target]]\nrow = "{APPEND}"\nbeside = "sqlite"\nat_least = 3\nreason = "The interpreter."\n'
    row = beside(APPEND, 2, "sqlite", group="stores")
    page = report(tmp_path, [Run("bench.peer", [row], dict(CONDITIONS))], TARGETS + aim)
    before, _, part = page.partition(PYTHON.begin)
    part, _, after = part.partition(PYTHON.end)
    assert "\nold\n" in before
    assert "old suites" in after
    assert "Beside sqlite" in part
    assert "beside Kafka" not in part
    assert f"| {APPEND} | ≥ 3, beside sqlite | 2.00 | The interpreter. |" in part


def test_rows_beside_kafka_and_beside_other_stores_are_told_apart() -> None:
    stores = beside(APPEND, 2, "sqlite", group="stores")
    evidence = Evidence([Run("bench.peer", [beside(RECOVER, 9), stores]), Run("bench.peer", [beside(RECOVER, 8)])])
    assert [run.rows for run in evidence.of_python.runs] == [[stores]]
    assert [[row.name for row in run.rows] for run in evidence.of_kafka.runs] == [[RECOVER], [RECOVER]]


def test_suites_alone_are_written_into_their_part_and_the_other_stays(written: Path, page: str, tmp_path: Path) -> None:
    for name in ("performance.md", "targets.toml"):
        (tmp_path / name).write_text((written / name).read_text())
    with (tmp_path / "targets.toml").open("a") as targets:
        targets.write('[[target]]\nbenchmark = "bench/a.py::count"\nfigure = "rows"\nat_least = 9\nreason = "Java."\n')
    result = {"fullname": "bench/a.py::count", "stats": {"median": 2, "iqr": 0, "rounds": 3}, "extra_info": {"rows": 8}}
    suites = {
        "benchmarks": [result],
        "datetime": "2026-02-03T04:05",
        "machine_info": {"cpu": {"brand_raw": "Some CPU"}},
    }
    (tmp_path / "suites.json").write_text(json.dumps(suites))
    words = ["--page", str(tmp_path / "performance.md"), "--targets", str(tmp_path / "targets.toml")]
    assert main([str(tmp_path / "suites.json"), *words]) == 0
    before, begin, part = (tmp_path / "performance.md").read_text().partition(SUITES.begin)
    assert before + begin == page.partition(SUITES.begin)[0] + SUITES.begin
    assert part.startswith("\n\nMeasured on 2026-02-03, Some CPU.\n\n### Aims")
    assert "| `bench/a.py::count` | rows ≥ 9 | 8 | Java. |" in part
    assert "| `count` | 2 s | 0 ns | 3 | rows: 8 |" in part
    assert "old suites" not in part
    assert part.endswith(f"</details>\n\n{SUITES.end}\n")


def test_machine_versions_date_and_commit_are_told(page: str) -> None:
    assert (
        "Measured on 2026-01-02, commit abc1234, Some CPU, 2 cores, 23 GiB, load 0.1 as the runs began, python 3.11.7."
        in page
    )
    assert "| read memory | 20.00 GB/s |" in page


def test_a_ratio_is_that_of_the_worst_run_with_the_spread_of_all(page: str) -> None:
    assert "medians of 3 rounds or more in each of 3 runs" in page
    assert f"| {APPEND} | 100 ns | 60.0 ns | 0.50 to 0.70 | ≥ 1 |" in page


def test_reached_and_missed_aims_are_listed_missed_ones_with_their_reasons(page: str) -> None:
    assert "1 of 2 are reached in every run" in page
    assert f"Missed:\n\n| what | aim | worst run | why, and what was tried |\n|---|---|---|---|\n| {APPEND} |" in page
    assert "| ≥ 1, beside Kafka | 0.50 | Fifteen calls of the interpreter. |" in page
    assert f"| {RECOVER} | ≥ 8, beside Kafka | 9.00 |\n" in page


def test_a_rising_cost_is_told_with_its_reason(page: str) -> None:
    assert "| look up | 10 | 100 | entries | 1 ns | 2 ns | | 2.00 times | Caches end. |" in page
    assert "| scan | 10 | 100 | entries | 2 ns | 2 ns | | no | |" in page


def test_a_reason_is_not_told_where_nothing_rises(tmp_path: Path) -> None:
    page = report(tmp_path, [run(1, 9), curve("look up", 2, 1)])
    assert "| look up | 10 | 100 | entries | 2 ns | 1 ns | | no | |" in page


def test_a_rise_without_a_reason_is_told(tmp_path: Path) -> None:
    page = report(tmp_path, [run(1, 9), curve("scan", 1, 2)])
    assert "| scan | 10 | 100 | entries | 1 ns | 2 ns | | 2.00 times | **no reason is given yet** |" in page


def test_a_missing_reason_is_told(tmp_path: Path) -> None:
    page = report(tmp_path, [run(0.5, 9)] * 3, TARGETS.replace("reason", "# reason", 1))
    assert "| ≥ 1, beside Kafka | 0.50 | **no reason is given yet** |" in page


def test_pictures_are_drawn_named_on_the_page_and_the_same_again(written: Path, page: str) -> None:
    names = ["performance-cost.svg", "performance-growth.svg", "performance-kafka.svg"]
    drawn = {path.name: path.read_bytes() for path in sorted((written / "pictures").iterdir())}
    assert list(drawn) == names
    assert all(f"(pictures/{name})" in page for name in names)
    assert APPEND.encode() in drawn["performance-kafka.svg"]
    words = ["--page", str(written / "performance.md"), "--targets", str(written / "targets.toml")]
    assert main([str(written / "result.json"), *words]) == 0
    assert {path.name: path.read_bytes() for path in (written / "pictures").iterdir()} == drawn
    assert (written / "performance.md").read_text() == page


def test_fewer_than_three_runs_reach_no_aim(tmp_path: Path) -> None:
    page = report(tmp_path, [run(2, 9)] * 2)
    assert "A ratio counts only once it holds in 3 runs" in page
    assert "0 of 2 are reached" in page
    assert "holds in 2 of 3 runs that are needed" in page


def test_without_kafka_the_page_says_so(tmp_path: Path) -> None:
    conditions = CONDITIONS | {"without_kafka": "no Java"}
    page = report(tmp_path, [Run("bench.peer", [Row(APPEND, times={OURS: [100.0]})], conditions)])
    assert "**Kafka was not there (no Java): the figures are ours alone" in page
    assert "Beside" not in page
    assert f"### By ourselves\n\n| what | epochlog |\n|---|---|\n| {APPEND} | 100 ns |" in page
    assert not (tmp_path / "pictures/performance-kafka.svg").exists()


def test_what_no_other_side_does_is_told_by_groups_and_as_the_median_of_the_runs(tmp_path: Path) -> None:
    runs = [Run("bench.cold_start", [Row("warm", times={OURS: [taken]}, group="cold start")]) for taken in (1, 3, 2)]
    page = report(tmp_path, [*runs, curve("look up", 1, 1), run(1, 9)])
    assert "### By ourselves\n\n**Cold start**\n\n| what | epochlog |\n|---|---|\n| warm | 2 ns |\n\n#" in page


def test_what_was_skipped_is_listed_with_its_reason(tmp_path: Path) -> None:
    page = report(tmp_path, [Run("bench.peer", [beside(RECOVER, 9), Row(APPEND, skipped="9 GiB are needed")])])
    assert f"### Not measured\n\n| what | why |\n|---|---|\n| {APPEND} | 9 GiB are needed |" in page
    assert f"| {APPEND} | ≥ 1, beside {KAFKA} | | 9 GiB are needed |" in page


def test_a_checkout_with_changes_is_told(tmp_path: Path) -> None:
    changed = Run("bench.peer", [beside(RECOVER, 9)], CONDITIONS | {"commit": "abc1234-dirty"})
    assert "Files differed from that commit." in report(tmp_path, [changed])


def test_results_of_several_commits_are_told(tmp_path: Path) -> None:
    later = Run("bench.peer", [beside(APPEND, 2)], CONDITIONS | {"commit": "def5678"})
    assert "**Not all figures are of the same commit.**" in report(tmp_path, [run(1, 9), later])
    changed = Run("bench.peer", [beside(APPEND, 2)], CONDITIONS | {"commit": "abc1234-dirty"})
    assert "Not all figures" not in report(tmp_path, [run(1, 9), changed])


def test_curves_that_nobody_measured_are_told(tmp_path: Path) -> None:
    skipped = Run("bench.scaling", [Row("audit a cluster, 2", group="audit a cluster", scale=2, skipped="no Java")])
    page = report(tmp_path, [run(1, 9), curve("verify a log", 1, 1), skipped])
    assert "| audit a cluster, 2 | no Java |" in page
    told = [line for line in page.splitlines() if line.endswith("| no result of bench.scaling has it |")]
    assert "| open a directory of logs | no result of bench.scaling has it |" in told
    assert not any("verify a log |" in line or "audit a cluster |" in line for line in told)


def test_a_page_without_marks_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    write_runs(tmp_path / "result.json", [run(1, 9)])
    assert main([str(tmp_path / "result.json"), "--page", str(page)]) == 2
    assert "must stand around the measured part" in capsys.readouterr().err
    assert page.read_text() == "nothing\n"
    assert not (tmp_path / "pictures").exists()


def test_a_file_that_is_no_result_is_told_and_nothing_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page.md").write_text(PAGE)
    (tmp_path / "other.json").write_text("{")
    for name, told in (("other.json", "not a result"), ("missing.json", "`make bench` measures")):
        assert main([str(tmp_path / name), "--page", str(tmp_path / "page.md")]) == 2
        assert f"{tmp_path / name}: " in (complaint := capsys.readouterr().err)
        assert told in complaint
    assert (tmp_path / "page.md").read_text() == PAGE
