"""Two commits side by side: their suites in turn, in the same environment.

    python -m bench.compare REF [--with HEAD] [--rounds 3] [--only EXPRESSION]

Each commit is checked out below build/bench, and its own suites are measured there, round by round, each first in turn.
A benchmark counts as faster or slower only if it is so in every round. What is not committed is not measured.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

from bench.command_line import count, run_program
from bench.report.figures import duration, ratio, spread
from bench.report.suite import benchmarks
from bench.results import ROOT
from bench.room import BUILD, lacking

WORK: Final = BUILD / "compare"
ROUNDS: Final = 3
WITHOUT: Final = "not kafka and not audit and not mirror and not both_sides and not scaling"
"""What needs a cluster, a JVM or tens of gigabytes is left out unless it is asked for."""
DISK: Final = 8 << 30
NOISE: Final = 0.05
"""By how much a round must differ to count."""
NOTHING_COLLECTED: Final = 5


class CompareError(ValueError):
    """Nothing can be compared: says why, and what to do."""


@dataclass
class Measured:
    """One benchmark: seconds by round, of the old commit and the new one."""

    name: str
    old: dict[int, float] = field(default_factory=dict)
    new: dict[int, float] = field(default_factory=dict)

    @property
    def ratios(self) -> list[float]:
        """How many times as fast the new commit was, in each round that both did it."""
        return [old / new for number, old in self.old.items() if (new := self.new.get(number))]

    @property
    def verdict(self) -> str:
        """`faster` or `slower` where all rounds agree."""
        if min(self.ratios) > 1 + NOISE:
            return "faster"
        return "slower" if max(self.ratios) < 1 - NOISE else ""


def main(words: list[str] | None = None) -> int:
    """Compare and print a table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description="Measure two commits in turn.")
    parser.add_argument("ref", help="the commit to compare with")
    parser.add_argument("--with", dest="new", default="HEAD", help="the other commit (default HEAD)")
    parser.add_argument("--rounds", type=count, default=ROUNDS, help="measurements of each (default %(default)s)")
    parser.add_argument("--only", default=WITHOUT, help="pytest's -k: which benchmarks (default: %(default)s)")
    given = parser.parse_args(words)
    try:
        old, new = commit(given.ref), commit(given.new)
        see_to_room()
        for note in notes(old, new):
            print(f"note: {note}", file=sys.stderr)
        found = measure(old, new, given.rounds, given.only)
    except CompareError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(table(old, new, found)))
    return 0


def commit(ref: str) -> str:
    """The full id of a commit. Raises CompareError."""
    told = git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if not told:
        raise CompareError(f"{ref}: no commit of this repository; `git log --oneline` and `git tag` list some")
    return told


def see_to_room() -> None:
    """Both make files of their own. Raises CompareError."""
    if reason := lacking(disk=DISK):
        raise CompareError(f"too little room: {reason}")


def notes(old: str, new: str) -> Iterator[str]:
    """What the reader should know beforehand."""
    if changed := git("status", "--porcelain", "--untracked-files=no").splitlines():
        yield f"{len(changed)} files differ from what is committed; only commits are measured"
    if old == new:
        yield f"both are {old[:10]}: all differences are noise"


def git(*words: str) -> str:
    """What a git command says; nothing where it fails."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


@contextmanager
def checkout(name: str, commit_id: str) -> Iterator[Path]:
    """Check a commit out into a directory of its own, and remove that in the end. Raises CompareError."""
    directory = WORK / name
    git("worktree", "remove", "--force", str(directory))
    shutil.rmtree(directory, ignore_errors=True)
    git("worktree", "prune")
    words = ["git", "worktree", "add", "--quiet", "--detach", str(directory), commit_id]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CompareError(f"{commit_id[:10]} cannot be checked out: {done.stderr.strip()}")
    try:
        yield directory
    finally:
        git("worktree", "remove", "--force", str(directory))


def measure(old: str, new: str, rounds: int, only: str) -> list[Measured]:
    """Measure both in turn; a round that begins with the one is followed by one that begins with the other."""
    found: dict[str, Measured] = {}
    with ExitStack() as stack:
        places = {side: stack.enter_context(checkout(side, id_)) for side, id_ in (("old", old), ("new", new))}
        for place in places.values():
            warm(place)
        for number in range(rounds):
            for side in list(places)[:: -1 if number % 2 else 1]:
                print(f"round {number + 1} of {rounds}: {side}", file=sys.stderr, flush=True)
                for name, seconds in suites(places[side], only).items():
                    getattr(found.setdefault(name, Measured(name)), side)[number] = seconds
    return list(found.values())


def warm(place: Path) -> None:
    """Compile, which is no part of any round."""
    run(place, "-m", "replication.cli", "warm")


def suites(place: Path, only: str) -> dict[str, float]:
    """Measure the suites of a checkout: median seconds by name. Raises CompareError where nothing was measured."""
    result = WORK / "result.json"
    result.unlink(missing_ok=True)
    options = ["--benchmark-enable", "--benchmark-only", f"--benchmark-json={result}", "-k", only]
    # pytest-benchmark warns where it measured nothing, and the suites make errors of warnings.
    done = run(place, "-m", "pytest", "-q", "-W", "ignore::pytest.PytestWarning", "bench", *options)
    if done.returncode == NOTHING_COLLECTED:
        raise CompareError(f"`{only}` names no benchmark of {place.name}")
    found = benchmarks(json.loads(result.read_text())) if result.exists() and result.stat().st_size else []
    if not found:
        raise CompareError(f"nothing was measured in {place.name}:\n{done.stdout}{done.stderr}")
    if done.returncode:
        print(f"some benchmarks of {place.name} failed:\n{done.stdout[-2000:]}", file=sys.stderr)
    return {each.name: each.seconds for each in found}


def run(place: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run this Python on the code of a checkout."""
    # pytest-benchmark measures nothing in what it takes for a worker of pytest-xdist.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST_")}
    environment = inherited | {"PYTHONPATH": str(place)}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def table(old: str, new: str, found: list[Measured]) -> Iterator[str]:
    """Lines of a table, then what they come to."""
    both = [each for each in found if each.ratios]
    yield f"| benchmark | {old[:10]} | {new[:10]} | times as fast, median | worst to best round | |"
    yield "|---|---|---|---|---|---|"
    for each in both:
        before, after = (duration(median(seconds.values()) * 1e9) for seconds in (each.old, each.new))
        cells = (each.name, before, after, ratio(median(each.ratios)), spread(each.ratios), each.verdict)
        yield f"| {' | '.join(cells)} |"
    faster, slower, same = ([each.verdict for each in both].count(verdict) for verdict in ("faster", "slower", ""))
    yield ""
    yield f"{faster} faster, {slower} slower, {same} the same within noise."
    gone, added = ([each.name for each in found if not getattr(each, side)] for side in ("new", "old"))
    if gone:
        yield f"Only in the old commit: {', '.join(gone)}."
    if added:
        yield f"Only in the new commit: {', '.join(added)}."


if __name__ == "__main__":
    run_program(main)
