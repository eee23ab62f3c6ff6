"""Which files with tests a run has, and in which order: by the seconds that each takes, as they were measured.

Parallel workers begin with what takes longest, so that all end at about the same time. With TURNS=7 the files that take
long are dealt into seven hands of about the same time, and the seed says which hand a run has. What is short, or was
not measured yet, is in every run. So are, as far as four minutes go, the tests of what has changed within a day before
the last commit, and after them those that import it.

`make test` writes what it measures to build/test-seconds.txt; `python -m tests.turns build/test-seconds.txt` takes that
into tests/seconds.txt.
"""

import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

from tests.campaign import run_seed

PROJECT: Final = Path(__file__).parents[1]
SECONDS: Final = Path(__file__).with_name("seconds.txt")
SHORT_SECONDS: Final = 5.0
"""What takes less is not worth a line in that file."""
CHANGED_SECONDS: Final = 240.0
"""How long the tests of what has changed may take, one after the other, beside the run's own hand."""
IN_EVERY_RUN: Final = frozenset({"tests/replication/testing/test_process_history.py", "tests/test_wheel.py"})
"""What is least like any other test, or what all users have."""


def read(path: Path = SECONDS) -> dict[str, float]:
    """Return how many seconds each file takes, the longest first."""
    lines = [line.split() for line in path.read_text().splitlines()]
    return {file: float(seconds) for seconds, file in sorted(lines, key=lambda line: (-float(line[0]), line[1]))}


def write(measured: Mapping[str, float], path: Path, least: float = 0.0) -> None:
    """Write what `read` returns, of what takes so many seconds at least."""
    long = sorted((-seconds, file) for file, seconds in measured.items() if seconds >= least)
    path.write_text("".join(f"{-seconds:.1f} {file}\n" for seconds, file in long))


def dealt(measured: Mapping[str, float], turns: int) -> list[list[str]]:
    """Deal files into so many hands, each to the one that takes least so far."""
    hands: list[list[str]] = [[] for _ in range(turns)]
    totals = [0.0] * turns
    for file in sorted(measured, key=lambda file: (-measured[file], file)):
        least = totals.index(min(totals))
        hands[least].append(file)
        totals[least] += measured[file]
    return hands


def turns() -> int:
    """How many runs have each of the long files once: TURNS, or 1, where each run has all."""
    return max(1, int(os.environ.get("TURNS", "1")))


def is_due(file: str) -> bool:
    """Whether a run of this seed has a file, by its path from the project on."""
    return file not in _left_out(turns(), run_seed())


def place(test: str) -> float:
    """What tests are sorted by, by the test's id: what takes longest comes first."""
    return -_measured().get(test.partition("::")[0], 0.0)


def told() -> str:
    """Say how many of the long files a run has."""
    known = _measured()
    return f"{sum(map(is_due, known))} of {len(known)} that take long, in turn, TURNS={turns()}; all with TURNS=1"


@cache
def _measured() -> dict[str, float]:
    return read()


@cache
def _left_out(turns: int, seed: int) -> frozenset[str]:
    measured = _measured()
    in_turn = {file: seconds for file, seconds in measured.items() if file not in IN_EVERY_RUN}
    due = set(dealt(in_turn, turns)[seed % turns])
    if turns > 1:
        changed = changed_files()
        importing = sorted(importers(changed, in_turn.keys() - due))
        random.Random(seed).shuffle(importing)
        due.update(affordable([*tests_of(changed), *importing], {file: in_turn[file] for file in in_turn.keys() - due}))
    return frozenset(in_turn.keys() - due)


def tests_of(changed: Iterable[str]) -> Iterator[str]:
    """Yield the files whose tests are those of changed ones: tests mirror the packages."""
    for path in map(Path, changed):
        yield str(path if path.parts[0] in {"tests", "bench"} else "tests" / path.with_name(f"test_{path.name}"))


def importers(changed: Iterable[str], files: Iterable[str]) -> Iterator[str]:
    """Yield those of some files with tests that import a changed module by its name."""
    names = {str(path.with_suffix("")).replace("/", ".") for path in map(Path, changed) if path.suffix == ".py"}
    for file in files:
        path = PROJECT / file
        text = path.read_text() if path.is_file() else ""  # a copy without the benchmarks has the measurements, too
        imported = re.findall(r"^(?:from|import) ([\w.]+)", text, re.MULTILINE)
        if not names.isdisjoint(imported):
            yield file


def affordable(files: Iterable[str], measured: Mapping[str, float], limit: float = CHANGED_SECONDS) -> Iterator[str]:
    """Yield those of some files that were measured and together take no more than `limit`, the first first."""
    for file in dict.fromkeys(files):
        if measured.get(file, limit + 1) <= limit:
            limit -= measured[file]
            yield file


def changed_files() -> list[str]:
    """Return the files that commits changed within a day before the last one, the latest first; none without git."""
    try:
        last = int(_git("log", "-1", "--format=%ct"))
        return _git("log", f"--since={last - 86_400}", "--format=", "--name-only").split()
    except (OSError, subprocess.CalledProcessError, ValueError):
        return []


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=PROJECT, capture_output=True, text=True, check=True).stdout


def main(paths: list[str]) -> None:
    """Take measurements into tests/seconds.txt, and leave out what is no longer there."""
    measured = read()
    for path in paths:
        measured |= read(Path(path))
    there = {file: seconds for file, seconds in measured.items() if (PROJECT / file).is_file()}
    write(there, SECONDS, SHORT_SECONDS)


if __name__ == "__main__":
    main(sys.argv[1:])
