"""A run in several processes tells what one in a single process tells, and begins with what takes longest."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.longest import IN_EVERY_RUN, LONGEST, is_due, place

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
    tests = ["tests/b.py::test_b", "tests/a.py::test_a", f"{LONGEST[1]}::test_d", f"{LONGEST[0]}::Tests::test_c"]
    assert sorted(tests, key=place) == [tests[3], tests[2], tests[0], tests[1]]


@pytest.mark.parametrize("name", LONGEST)
def test_what_is_listed_as_long_is_there(name: str) -> None:
    assert (PROJECT / name).is_file()


@pytest.mark.parametrize("turns", [1, 7])
def test_each_long_file_has_its_turn_once_in_as_many_days(turns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNS", str(turns))
    due: Counter[str] = Counter()
    for seed in range(20_000, 20_000 + turns):
        monkeypatch.setenv("CAMPAIGN_SEED", str(seed))
        due.update(name for name in LONGEST if is_due(f"{name}::Tests::test_a[1-a::b]"))
        assert is_due("tests/short.py::test_a")
    assert due == {name: turns if name in IN_EVERY_RUN else 1 for name in LONGEST}


def test_what_is_not_due_is_not_run_and_the_run_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "tests/epoch/compiling/test_kernel_cache.py"  # quickly collected
    assert name not in IN_EVERY_RUN
    monkeypatch.setenv("TURNS", "7")
    outcomes = []
    for seed in range(7):
        monkeypatch.setenv("CAMPAIGN_SEED", str(seed))
        command = [sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider", name]
        outcomes.append(subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False))
        assert f"of the {len(LONGEST)} longest files in turn, TURNS=7; all with TURNS=1" in outcomes[-1].stdout
    codes = sorted(done.returncode for done in outcomes)
    assert codes == [pytest.ExitCode.OK] + [pytest.ExitCode.NO_TESTS_COLLECTED] * 6
