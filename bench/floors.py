"""Nothing may be slower than its floor: the check that CI runs on a short measurement.

    python -m bench.peer --short --json RESULT.json
    pytest $(python -m bench.floors --benchmarks --shares 4) --benchmark-enable --benchmark-json=SUITES.json
    python -m bench.floors RESULT.json SUITES.json --shares 4

Floors are ratios to other implementations, and figures of suites where there is no such peer: bench/figure_floors.py.
A floor that is missed is measured again, up to twice, before it counts: other work on the machine makes figures worse,
never better. With `--shares` the files of suites take turns by the seed of the run.

Status 0: all floors hold; 1: some do not, or rows and floors do not match; 2: there is no result. What was not
measured, for want of Java or of room, fails with REQUIRE_ALL=1, and is told otherwise.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from bench.command_line import run_program
from bench.figure_floors import TABLE, check_figures, read_figure_floors, run_again
from bench.floor_finding import Finding, tried
from bench.report.evidence import gather
from bench.report.targets import Target
from bench.results import BARE_WRITE, OURS, Row, read_runs
from tests.campaign import run_seed

FLOORS: Final = Path(__file__).with_name("floors.toml")
ROOT: Final = Path(__file__).parent.parent


@dataclass(frozen=True)
class Floor:
    """How many times as fast as a side one kind of work has to be."""

    side: str
    row: str
    times: float


Again = Callable[[str], Iterable[Row]]
"""Measures the rows with this in their names once more."""


def read_floors(path: Path = FLOORS) -> list[Floor]:
    """Read a table for each side: the names of rows, and their floors."""
    tables = tomllib.loads(path.read_text())
    tables.pop(TABLE, None)
    return [Floor(side, row, times) for side, rows in tables.items() for row, times in rows.items()]


def check(floors: list[Floor], rows: list[Row], again: Again, *, complete: bool) -> Iterator[Finding]:
    """Hold rows against floors; `complete` lets no row be skipped and no side be missing."""
    for side in dict.fromkeys(floor.side for floor in floors):
        if any(side in row.times for row in rows):
            yield from _check_side([floor for floor in floors if floor.side == side], rows, again, complete=complete)
        else:
            told = "was not measured: there is nothing to compare with"
            yield Finding(side, told, fails=complete, is_measured=False)
    known = {(floor.side, floor.row) for floor in floors}
    for row in rows:
        for side in row.times.keys() - {OURS, BARE_WRITE}:
            if (side, row.name) not in known:
                yield Finding(row.name, f"has no floor beside {side}: give it one in {FLOORS.name}")


def in_turn(floors: list[Target], shares: int) -> list[Target]:
    """Return the floors of those files of suites that a run of this seed measures: one file of so many."""
    files = list(dict.fromkeys(map(_file, floors)))
    due = set(files[run_seed() % shares :: shares])
    return [floor for floor in floors if _file(floor) in due]


def _file(floor: Target) -> str:
    return floor.benchmark.partition("::")[0]


def _check_side(floors: list[Floor], rows: list[Row], again: Again, *, complete: bool) -> Iterator[Finding]:
    for floor in floors:
        found = [row for row in rows if row.name == floor.row]
        skipped = next((row.skipped for row in found if row.skipped), "")
        if skipped:
            yield Finding(floor.row, f"was skipped: {skipped}", fails=complete, is_measured=False)
        elif not found:
            yield Finding(floor.row, f"has a floor in {FLOORS.name}, and no row in the result")
        elif not (ratios := _ratios(floor, found)):
            yield Finding(floor.row, f"has no figure of {floor.side}")
        else:
            yield _judged(floor, ratios, again)


def _judged(floor: Floor, ratios: list[float], again: Again) -> Finding:
    ratios = tried(ratios, lambda ratio: ratio >= floor.times, lambda: _ratios(floor, again(floor.row)))
    measured = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    told = f"{measured} times as fast as {floor.side}; the floor is {floor.times:g}"
    return Finding(floor.row, told, fails=max(ratios) < floor.times)


def _ratios(floor: Floor, rows: Iterable[Row]) -> list[float]:
    return [ratio for row in rows if row.name == floor.row and (ratio := row.ratio(floor.side)) is not None]


def proposed(rows: list[Row]) -> str:
    """Half of the worst ratio of each row to each side, as a file of floors."""
    worst: dict[str, dict[str, float]] = {}
    for row in rows:
        for side in row.times.keys() - {OURS, BARE_WRITE}:
            ratio = row.ratio(side)
            if ratio is not None:
                floors = worst.setdefault(side, {})
                floors[row.name] = min(ratio / 2, floors.get(row.name, ratio))
    return "\n\n".join(
        "\n".join([f"[{side}]", *(f'"{name}" = {floor:.2g}' for name, floor in floors.items())])
        for side, floors in sorted(worst.items())
    )


def measure_again(name: str) -> list[Row]:
    """Run the short measurement of some rows once more."""
    print(f"measuring again: {name}", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        words = ["-m", "bench.peer", "--short", "--only", name, "--json", str(result)]
        subprocess.run([sys.executable, *words], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        return [row for run in read_runs(result) for row in run.rows]


def main(words: list[str] | None = None, again: Again = measure_again) -> int:
    """Print every floor; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.floors", description="Hold results against floors.")
    parser.add_argument("results", nargs="*", type=Path, help="what bench.peer and pytest-benchmark wrote as JSON")
    parser.add_argument("--floors", type=Path, default=FLOORS, help="the floors (default bench/floors.toml)")
    parser.add_argument("--propose", action="store_true", help="print half of the worst ratios as floors, and no more")
    parser.add_argument("--benchmarks", action="store_true", help="print what benchmarks have floors, and no more")
    parser.add_argument("--shares", type=int, default=1, help="measure one file of suites of so many (default all)")
    given = parser.parse_args(words)
    try:
        floors, known = read_floors(given.floors), read_figure_floors(given.floors)
        figures = in_turn(known, given.shares)
        evidence = gather(given.results)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if given.benchmarks:
        print("\n".join(dict.fromkeys(floor.benchmark for floor in figures)))
        return 0
    if not given.results:
        parser.error("which results? Give what `python -m bench.peer --short --json` wrote")
    rows = evidence.of_programs.rows
    if given.propose:
        print(proposed(rows))
        return 0
    complete = os.environ.get("REQUIRE_ALL") == "1"
    found = []
    for finding in chain(
        check(floors, rows, again, complete=complete),
        check_figures(figures, evidence, run_again, complete=complete),
    ):
        print(finding, flush=True)
        found.append(finding)
    failed = sum(finding.fails for finding in found)
    if len(figures) < len(known):
        print(f"figures of suites: {len(figures)} of {len(known)} floors in turn, by CAMPAIGN_SEED={run_seed()}")
    measured = "every floor" if all(finding.is_measured for finding in found) else "every floor that was measured"
    print(f"{failed} failed" if failed else f"{measured} holds")
    return int(failed > 0)


if __name__ == "__main__":
    run_program(main)
