"""The directory in which audits keep what they found."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from logstore.topic_partition import TopicPartition
from replication.base.errors import HistoryError
from replication.copies.audit.examination.kept.header_cache import header_file_of
from replication.copies.audit.judgement.run import Run
from replication.copies.audit.pipeline.history import History
from replication.copies.audit.snapshots.work import Copy
from tests.replication.copies.audit.report.documents import document, finding, forked


def run(time: float) -> Run:
    made = document(forked(), findings=(finding(),))
    made["metrics"] |= {"time": time, "seconds": 0.1}
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


def test_runs_that_began_in_the_same_millisecond_are_both_kept(tmp_path: Path) -> None:
    history = History.at(tmp_path)
    runs = [Run({"time": 10.0002}, {}, ()), Run({"time": 10.0005}, {}, ())]
    for each in runs:
        history.keep(each)
    assert history.runs(10) == (runs, [])


def test_what_runs_at_the_same_time_have_found_stands_since_the_first_of_them(tmp_path: Path) -> None:
    history = History.at(tmp_path)
    before = Run({"time": 1.0, "seconds": 2}, {}, ("a",), {"a": 0.5})
    beside = Run({"time": 10.0, "seconds": 5}, {}, ("a", "b"), {"a": 0.5, "b": 10.0})
    latest = Run({"time": 11.0, "seconds": 1}, {}, ("a", "b", "c"), {"a": 11.0, "b": 11.0, "c": 11.0})
    for each in (before, latest, beside):  # the one that began first ends last
        history.keep(each)
    assert history.latest_run() == replace(latest, since={"a": 0.5, "b": 10.0, "c": 11.0})

    (tmp_path / "audit-10000.json").write_text("{")
    assert history.latest_run() == latest


def test_what_another_scheduler_is_just_writing_is_not_removed(tmp_path: Path) -> None:
    history = History.at(tmp_path)
    copies = [Copy("a", "/", f"t-{number}", TopicPartition("t", number), ()) for number in range(2)]
    for each in map(header_file_of, copies):
        each.write(history.headers, b"headers")
    now, killed = [history.headers.path / header_file_of(copies[0]).directory / f"{name}.tmp" for name in "ab"]
    for file in (now, killed):
        file.touch()
    os.utime(killed, (1_700_000_000, 1_700_000_000))
    history.forget_others(copies[:1])
    left = {file.name for file in history.headers.path.rglob("*") if file.is_file()}
    assert left == {header_file_of(copies[0]).name, now.name}
