"""The directory in which audits keep what they found."""

from pathlib import Path

import pytest

from replication.base.errors import HistoryError
from replication.copies.audit.judgement.run import Run
from replication.copies.audit.pipeline.history import History
from tests.replication.copies.audit.report.documents import document, finding, forked


def run(time: float) -> Run:
    made = document(forked(), findings=(finding(),))
    made["metrics"]["time"] = time
    return Run.of(made)


def test_there_is_nothing_to_compare_the_first_run_with(tmp_path: Path) -> None:
    assert History.at(tmp_path / "none").latest_run() is None


def test_the_last_run_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    history = History.at(tmp_path / "history")
    for each in map(run, (999.5, 1_000.25, 20_000.125)):
        history.keep(each)
        assert history.latest_run() == each


@pytest.mark.parametrize("text", ["", "[]", '{"version": 2}'])
def test_a_file_that_is_none_of_ours_is_named(tmp_path: Path, text: str) -> None:
    file = tmp_path / "audit-1.json"
    file.write_text(text)
    with pytest.raises(HistoryError, match=file.name.replace(".", r"\.")):
        History.at(tmp_path).latest_run()


def test_a_history_that_is_no_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HistoryError, match="file"):
        History.at(tmp_path / "file").latest_run()


def test_runs_come_the_oldest_first_and_what_is_none_beside_them(tmp_path: Path) -> None:
    history = History.at(tmp_path)
    runs = [Run({"time": time}, {}, ()) for time in (9.5, 10.25, 1_700_000_000.0)]
    for each in reversed(runs):
        history.keep(each)
    assert history.runs(10) == (runs, [])
    assert history.runs(2) == (runs[1:], [])

    (tmp_path / "audit-10250.json").write_text("{")
    found, errors = history.runs(10)
    assert found == [runs[0], runs[2]]
    assert ["audit-10250.json" in str(error) for error in errors] == [True]
