"""A run in several processes tells what one in a single process tells, and begins with what takes longest."""

import os
import re
import subprocess
import sys
from collections import Counter
from itertools import chain
from pathlib import Path

import pytest

from tests.turns import (
    CHANGED_SECONDS,
    IN_EVERY_RUN,
    affordable,
    changed_files,
    dealt,
    importers,
    is_due,
    main,
    place,
    read,
    tests_of,
    write,
)

PROJECT = Path(__file__).parents[1]
CAMPAIGN = """
import os
from tests.campaign import Campaign

def test_{name}():
    # Programs that a test starts draw from it too.
    kind = Campaign
    kind("{name}", full=9, share=4, seed=int(os.environ["CAMPAIGN_SEED"])).report(4)
"""


def run(directory: Path, workers: int) -> str:
    """Run the tests of a directory with our hooks; return what is printed."""
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:benchmark"]
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, *plugins, "-n", str(workers), str(directory)]
    # A worker that runs this test has told its name and the seed to what it starts.
    outer = ("PYTEST_", "CAMPAIGN")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("workers", [0, 2])
def test_the_campaigns_of_all_processes_are_printed_with_the_seed_of_the_run(tmp_path: Path, workers: int) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"test_{name}.py").write_text(CAMPAIGN.format(name=name))

    printed = run(tmp_path, workers)

    (seed,) = re.findall(r"^campaigns: CAMPAIGN_SEED=(\d+) CAMPAIGN=share$", printed, re.MULTILINE)
    told = sorted(re.findall(r"^.* inputs, seed .*$", printed, re.MULTILINE))
    assert told == [f"{name}: 4 of 9 inputs, seed {seed}" for name in ("one", "three", "two")]


def test_the_longest_files_come_first_and_the_others_keep_their_order() -> None:
    longest, next_longest, *_ = read()
    tests = ["tests/b.py::test_b", "tests/a.py::test_a", f"{next_longest}::test_d", f"{longest}::Tests::test_c"]
    assert sorted(tests, key=place) == [tests[3], tests[2], tests[0], tests[1]]


@pytest.mark.parametrize("name", read())
def test_what_was_measured_is_there(name: str) -> None:
    assert (PROJECT / name).is_file()


@pytest.mark.parametrize("turns", [1, 5, 7])
def test_each_long_file_has_its_turn_once_in_as_many_runs(turns: int) -> None:
    measured = read()
    hands = dealt(measured, turns)
    assert sorted(chain(*hands)) == sorted(measured)
    totals = [sum(measured[file] for file in hand) for hand in hands]
    assert max(totals) - min(totals) <= max(measured.values())


def test_a_run_has_one_hand_what_is_in_every_run_and_what_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.turns.changed_files", list)
    monkeypatch.setenv("TURNS", "7")
    due: Counter[str] = Counter()
    for seed in range(3_000_000, 3_000_007):  # of no run: what is due is kept by the seed
        monkeypatch.setenv("CAMPAIGN_SEED", str(seed))
        due.update(filter(is_due, read()))
        assert is_due("tests/test_short.py")
    assert due == {name: 7 if name in IN_EVERY_RUN else 1 for name in read()}


def test_what_a_commit_changed_is_tested_in_any_run_as_far_as_the_time_goes() -> None:
    changed = ["logstore/log/log.py", "tests/epoch/test_bulk.py", "README.md"]
    assert list(tests_of(changed))[:2] == ["tests/logstore/log/test_log.py", "tests/epoch/test_bulk.py"]
    measured = {"tests/a.py": 60.0, "tests/b.py": 50.0, "tests/c.py": 40.0}
    files = ["tests/b.py", "tests/short.py", "tests/b.py", "tests/a.py", "tests/c.py"]
    assert list(affordable(files, measured, limit=120.0)) == ["tests/b.py", "tests/a.py"]


def test_files_that_import_what_changed_are_its_tests_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.turns.PROJECT", tmp_path)
    (tmp_path / "one.py").write_text("import logstore.log.log\n")
    (tmp_path / "two.py").write_text("import os\n\nfrom logstore.log.log import Log\n")
    (tmp_path / "other.py").write_text('from logstore.log.logs import Logs\n"""from logstore.log.log import Log"""\n')
    files = ["one.py", "gone.py", "two.py", "other.py"]
    assert list(importers(["README.md", "logstore/log/log.py"], files)) == ["one.py", "two.py"]
    assert list(importers(["logstore/log.py"], files)) == []


def test_a_run_has_another_share_of_what_imports_much_that_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.turns.changed_files", lambda: ["logstore/log/log.py"])
    monkeypatch.setenv("TURNS", "7")
    beyond: set[frozenset[str]] = set()
    for seed in (4_000_000, 4_000_007):  # with the same hand
        monkeypatch.setenv("CAMPAIGN_SEED", str(seed))
        extra = frozenset(filter(is_due, read())) - set(dealt_to(seed % 7)) - IN_EVERY_RUN
        assert 0 < sum(read()[name] for name in extra) <= CHANGED_SECONDS
        beyond.add(extra)
    assert len(beyond) == 2


def test_what_changed_is_what_git_knows_and_nothing_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.turns.PROJECT", tmp_path)
    assert changed_files() == []
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@localhost"]
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    for name, day in (("old.py", 1), ("new.py", 3), ("newest.py", 3)):
        (tmp_path / name).touch()
        subprocess.run(["git", "add", name], cwd=tmp_path, check=True)
        at = {"GIT_COMMITTER_DATE": f"2020-01-0{day}T00:00:00Z"}
        commit = [*git, "commit", "-q", "-m", name]
        subprocess.run(commit, cwd=tmp_path, env={**os.environ, **at}, check=True)
    assert changed_files() == ["newest.py", "new.py"]


def test_what_was_measured_is_written_and_read_the_longest_first(tmp_path: Path) -> None:
    path = tmp_path / "seconds.txt"
    write({"tests/b.py": 5.04, "tests/short.py": 4.9, "tests/a.py": 70.26}, path, 5.0)
    assert list(read(path).items()) == [("tests/a.py", 70.3), ("tests/b.py", 5.0)]


def test_measurements_are_taken_over_also_of_what_has_become_short_or_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, run = tmp_path / "seconds.txt", tmp_path / "run.txt"
    for name in ("slow", "now_short", "as_it_was"):
        (tmp_path / f"{name}.py").touch()
    write(dict.fromkeys(("now_short.py", "as_it_was.py", "gone.py"), 9.0), known)
    write({"slow.py": 70.0, "now_short.py": 0.4}, run)
    monkeypatch.setattr("tests.turns.PROJECT", tmp_path)
    monkeypatch.setattr("tests.turns.SECONDS", known)
    monkeypatch.setattr("tests.turns.read", lambda path=known: read(path))
    main([str(run)])
    assert read(known) == {"slow.py": 70.0, "as_it_was.py": 9.0}


def test_what_is_not_due_is_not_run_but_by_its_name_and_the_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = "tests/epoch/compiling"  # quickly collected
    name = f"{directory}/test_kernel_cache.py"
    assert name not in IN_EVERY_RUN
    left_out = next(seed for seed in range(7) if name not in dealt_to(seed))
    monkeypatch.setenv("TURNS", "7")
    monkeypatch.setenv("CAMPAIGN_SEED", str(left_out))
    monkeypatch.setenv("GIT_DIR", os.devnull)  # or the file may be one that has changed lately
    collected = {}
    for words in (directory, name):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", words]
        collected[words] = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
        assert "in turn, TURNS=7; all with TURNS=1" in collected[words]
    assert name not in collected[directory]
    assert name in collected[name]


def dealt_to(seed: int) -> list[str]:
    in_turn = {file: seconds for file, seconds in read().items() if file not in IN_EVERY_RUN}
    return dealt(in_turn, 7)[seed]
