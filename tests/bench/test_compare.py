"""Commits are named, checked out and measured in turn; only what all rounds agree on counts."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench import compare
from bench.compare import NOISE, CompareError, Measured, main, table

SECONDS = st.dictionaries(st.integers(0, 4), st.floats(0.001, 10), min_size=1)


@given(SECONDS, SECONDS)
def test_only_a_difference_in_every_round_that_both_did_counts(old: dict[int, float], new: dict[int, float]) -> None:
    assume(old.keys() & new.keys())
    measured = Measured("b", old, new)
    pairs = [(old[number], new[number]) for number in old.keys() & new.keys()]
    faster, slower = (all(a / b > 1 + NOISE for a, b in pairs), all(a / b < 1 - NOISE for a, b in pairs))
    assert measured.verdict == ("faster" if faster else "slower" if slower else "")


def rounds(*seconds: float) -> dict[int, float]:
    return dict(enumerate(seconds))


def test_the_table_has_medians_ratios_and_what_only_one_commit_has() -> None:
    found = [
        Measured("append", rounds(2, 3, 4), rounds(1, 1, 1)),
        Measured("read", rounds(1, 1), rounds(0.5, 2)),
        Measured("failed in the first round", {1: 3.0}, rounds(9, 1)),
        Measured("gone", old=rounds(1)),
        Measured("added", new=rounds(1)),
    ]
    lines = list(table("a" * 40, "b" * 40, found))
    assert lines[0] == "| benchmark | aaaaaaaaaa | bbbbbbbbbb | times as fast, median | worst to best round | |"
    assert "| append | 3 s | 1 s | 3.00 | 2.00 to 4.00 | faster |" in lines
    assert "| read | 1 s | 1.25 s | 1.25 | 0.50 to 2.00 |  |" in lines
    assert "| failed in the first round | 3 s | 5 s | 3.00 | 3.00 | faster |" in lines
    assert "2 faster, 0 slower, 1 the same within noise." in lines
    assert lines[-2:] == ["Only in the old commit: gone.", "Only in the new commit: added."]


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits of a tiny project, tagged `first` and `second`, whose suites take 1 and 20 ms."""
    root = tmp_path / "project"
    (root / "bench").mkdir(parents=True)
    (root / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\npython_files = ["bench_*.py"]\npython_functions = ["bench_*"]\n'
        'filterwarnings = ["error"]\n'
    )
    git(root, "init", "--quiet")
    for tag, milliseconds, name in (("first", 20, "gone"), ("second", 1, "added")):
        (root / "bench/bench_it.py").write_text(
            "import time\n"
            f"def bench_work(benchmark): benchmark.pedantic(time.sleep, ({milliseconds / 1000},), rounds=3)\n"
            f"def bench_{name}(benchmark): benchmark.pedantic(int, rounds=3)\n"
        )
        git(root, "add", ".")
        git(root, "commit", "--quiet", "-m", tag)
        git(root, "tag", tag)
    monkeypatch.setattr(compare, "ROOT", root)
    monkeypatch.setattr(compare, "WORK", tmp_path / "work")
    monkeypatch.setattr(compare, "warm", lambda place: place)  # it has no kernels
    monkeypatch.setattr(compare, "DISK", 0)  # nor large files
    return root


def git(root: Path, *words: str) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def test_two_commits_are_measured_and_leave_nothing_behind(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repository / "bench/bench_it.py").write_text("this is not measured\n")
    assert main(["first", "--rounds", "1", "--only", "not nothing"]) == 0
    told = capsys.readouterr()
    assert "note: 1 files differ from what is committed; only commits are measured" in told.err
    [row] = [line for line in told.out.splitlines() if "bench_work" in line]
    assert row.endswith("| faster |")
    assert "Only in the old commit: bench/bench_it.py::bench_gone." in told.out
    assert "Only in the new commit: bench/bench_it.py::bench_added." in told.out
    worktrees = subprocess.run(["git", "worktree", "list"], cwd=repository, capture_output=True, check=True).stdout
    assert worktrees.count(b"\n") == 1
    assert not list((repository.parent / "work").glob("*/bench"))


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["v9.9"], "v9.9: no commit of this repository"),
        (["first", "--with", "-x"], "-x: no commit of this repository"),
        (["first", "--only", "nowhere"], "`nowhere` names no benchmark of old"),
    ],
)
def test_what_cannot_be_compared_is_told(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    if "-x" in words:
        words = [*words[:1], "--with=-x"]
    assert main(words) == 2
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("repository")
def test_rounds_begin_with_each_commit_in_turn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def suites(place: Path, _only: str) -> dict[str, float]:
        return {"same": 1.0} if (place / "bench").is_dir() else {}

    monkeypatch.setattr(compare, "suites", suites)
    assert main(["first", "--rounds", "2"]) == 0
    told = capsys.readouterr()
    assert told.err.splitlines() == [
        f"round {each}" for each in ("1 of 2: old", "1 of 2: new", "2 of 2: new", "2 of 2: old")
    ]
    assert "0 faster, 0 slower, 1 the same within noise." in told.out


def test_a_checkout_left_behind_by_a_run_that_was_killed_is_in_nobodys_way(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "suites", lambda *_: {"same": 1.0})
    git(repository, "worktree", "add", "--detach", str(compare.WORK / "old"), "first")
    (compare.WORK / "new").mkdir()
    (compare.WORK / "new/file").write_text("")
    assert main(["second", "--rounds", "1"]) == 0
    assert "both are " in capsys.readouterr().err


def test_too_little_room_is_told_before_anything_is_done(
    repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compare, "lacking", lambda **_: "9 GiB are needed")
    assert main(["first"]) == 2
    assert "too little room: 9 GiB are needed" in capsys.readouterr().err
    assert not (repository.parent / "work").exists()


def test_a_suite_that_breaks_is_shown(repository: Path) -> None:
    (repository / "bench/bench_it.py").write_text("raise RuntimeError('broken')\n")
    compare.WORK.mkdir()
    with pytest.raises(CompareError, match=r"nothing was measured in project:(.|\n)*broken"):
        compare.suites(repository, "work")
