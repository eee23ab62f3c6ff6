"""Mutation testing: which faults are put into the code, and what counts as noticed."""

import re
from pathlib import Path

import pytest

from tests.mutants import mutant
from tests.mutants.listed import listed
from tests.mutants.mutant import PROJECT, Mutant, mutants
from tests.mutants.reach import Function, read_reaches
from tests.mutants.targets import TARGETS
from tests.mutants.trial import Outcome, Trial, outcomes

SOURCE = """
import functools
LIMIT = 5

class Gauge:
    @property
    def is_full(self) -> bool:
        return self.level >= 5

    @functools.cache
    def filled(self, level: int = 1, *, why: str = "") -> int:
        if level < 0:
            raise ValueError(f"{level + 1} is wrong")
        self.level = min(level, 7)
        return level
"""


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Mutant]:
    (tmp_path / "gauge.py").write_text(SOURCE)
    monkeypatch.setattr(mutant, "PROJECT", tmp_path)
    return list(mutants("gauge.py"))


def test_each_fault_is_one_small_change_within_a_function(found: list[Mutant]) -> None:
    assert [(each.function, each.before, each.after) for each in found] == [
        ("Gauge.is_full", "return self.level >= 5", "return None"),
        ("Gauge.is_full", "return self.level >= 5", "return self.level > 5"),
        ("Gauge.is_full", "return self.level >= 5", "return self.level < 5"),
        ("Gauge.is_full", "return self.level >= 5", "return self.level >= 6"),
        ("Gauge.filled", "if level < 0:", "if level <= 0:"),
        ("Gauge.filled", "if level < 0:", "if level >= 0:"),
        ("Gauge.filled", "if level < 0:", "if level < 1:"),
        ("Gauge.filled", "raise ValueError(f'{level + 1} is wrong')", "pass"),
        ("Gauge.filled", "self.level = min(level, 7)", "pass"),
        ("Gauge.filled", "self.level = min(level, 7)", "self.level = max(level, 7)"),
        ("Gauge.filled", "self.level = min(level, 7)", "self.level = min(level, 8)"),
        ("Gauge.filled", "return level", "return None"),
    ]


def test_the_shares_of_successive_days_are_all_faults(found: list[Mutant]) -> None:
    shares = [[each for each in found if each.is_of(day, 5)] for day in range(20_000, 20_005)]
    assert sorted(map(len, shares)) != [0, 0, 0, 0, len(found)]
    assert sorted(each.name for share in shares for each in share) == sorted(each.name for each in found)


@pytest.mark.parametrize("file", TARGETS)
def test_each_file_has_tests_that_need_no_java(file: str) -> None:
    assert (PROJECT / file).is_file()
    for test in TARGETS[file]:
        assert not re.search(r"JavaProgram|tests\.oracle", (PROJECT / test).read_text()), test


def test_what_is_listed_can_still_happen_and_has_a_reason() -> None:
    reasons = listed()
    files = {name.split()[0] for name in reasons}
    assert set(reasons) - {each.name for file in files for each in mutants(file)} == set()
    assert all(len(reason) > 10 for reason in reasons.values())


def test_a_fault_is_noticed_by_a_test_that_fails_and_by_no_other(tmp_path: Path) -> None:
    noticing, blind = tmp_path / "test_noticing.py", tmp_path / "test_blind.py"
    noticing.write_text(
        "from epoch.history import _below\ndef test_it():\n    assert _below([1, 3], [10, 30], 3, 40) == 1\n"
    )
    blind.write_text("def test_it():\n    pass\n")
    fault = next(each for each in mutants("epoch/history.py") if each.function == "_below" and "right" in each.after)
    trials = [Trial((str(test),), 60, each) for test in (noticing, blind) for each in (None, fault)]
    assert {(trial.files[0], trial.mutant): outcome for trial, outcome, _ in outcomes(trials, 1)} == {
        (str(noticing), None): Outcome.SURVIVED,
        (str(noticing), fault): Outcome.KILLED,
        (str(blind), None): Outcome.SURVIVED,
        (str(blind), fault): Outcome.SURVIVED,
    }


def test_what_never_ends_is_noticed(tmp_path: Path) -> None:
    endless = tmp_path / "test_endless.py"
    endless.write_text("def test_it():\n    while True:\n        pass\n")
    assert [outcome for _, outcome, _ in outcomes([Trial((str(endless),), 0.5)], 1)] == [Outcome.TIMED_OUT]


def test_a_fault_is_tried_on_the_tests_that_reach_it(tmp_path: Path) -> None:
    source, notes = tmp_path / "test_reaching.py", tmp_path / "notes"
    source.write_text(
        "import os, pytest\n"
        "from epoch import EpochEntry, EpochHistory\n"
        "def test_directly():\n    EpochHistory([(0, 0)]).assign(1, 10)\n"
        "def test_in_a_fork():\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n        EpochHistory([(0, 0)]).assign(1, 10)\n        os._exit(0)\n"
        "    os.waitpid(pid, 0)\n"
        "def test_not_at_all():\n    pass\n"
    )
    watching = Trial((str(source),), 60, watched=("epoch/truncation.py", "epoch/history.py"), notes=notes)
    assert [outcome for _, outcome, _ in outcomes([watching], 1)] == [Outcome.SURVIVED]
    assign = Function("epoch/history.py", "EpochHistory.assign")
    reaches = {each.test.partition("::")[2]: assign in each.functions for each in read_reaches(notes)}
    assert reaches == {"test_directly": True, "test_in_a_fork": True, "test_not_at_all": False}


def test_what_a_fixture_reaches_counts_for_all_tests_of_its_file(tmp_path: Path) -> None:
    source, notes = tmp_path / "test_sharing.py", tmp_path / "notes"
    source.write_text(
        "import pytest\n"
        "from epoch import EpochHistory\n"
        "@pytest.fixture(scope='module')\n"
        "def history():\n    return EpochHistory([(0, 0)]).assign(1, 10)\n"
        "def test_first(history):\n    pass\n"
        "def test_second(history):\n    assert history.latest.epoch == 1\n"
    )
    list(outcomes([Trial((str(source),), 60, watched=("epoch/history.py",), notes=notes)], 1))
    assign = Function("epoch/history.py", "EpochHistory.assign")
    assert [assign in each.functions for each in read_reaches(notes)] == [True, True]


def test_only_the_chosen_tests_run_in_their_order(tmp_path: Path) -> None:
    source, order = tmp_path / "test_each.py", tmp_path / "order"
    source.write_text(
        f"def note(name):\n    with open({str(order)!r}, 'a') as file:\n        file.write(name)\n"
        "def test_a():\n    note('a')\ndef test_b():\n    note('b')\ndef test_c():\n    note('c')\n"
    )
    notes = tmp_path / "notes"
    list(outcomes([Trial((str(source),), 60, notes=notes)], 1))
    tests = {each.test[-1]: each.test for each in read_reaches(notes)}
    list(outcomes([Trial((str(source),), 60, tests=(tests["c"], tests["a"]))], 1))
    assert order.read_text() == "abcca"


def test_a_fault_that_no_test_reaches_survives() -> None:
    fault = next(mutants("epoch/history.py"))
    assert [outcome for _, outcome, _ in outcomes([Trial((), 60, fault, ())], 1)] == [Outcome.SURVIVED]
