"""No ratio to another implementation may fall below its floor: the check that CI runs on a short measurement.

    python -m bench.peer --short --json RESULT.json
    python -m bench.floors RESULT.json

A floor that is missed is measured again, up to twice, before it counts: other work on the machine makes figures worse,
never better. Status 0: all floors hold; 1: some do not, or rows and floors do not match; 2: there is no result. What
was not measured, for want of Java or of room, fails with REQUIRE_ALL=1, and is told otherwise.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.command_line import run_program
from bench.results import OURS, Row, read_runs

FLOORS: Final = Path(__file__).with_name("floors.toml")
ROOT: Final = Path(__file__).parent.parent
MORE_TRIES: Final = 2
BARE_WRITE: Final = "write()"
"""No implementation of the same work: how close it comes is a matter of the disk."""


@dataclass(frozen=True)
class Floor:
    """How many times as fast as a side one kind of work has to be."""

    side: str
    row: str
    times: float


@dataclass(frozen=True)
class Finding:
    """What became of a floor or of a row."""

    name: str
    told: str
    fails: bool = True
    is_measured: bool = True

    def __str__(self) -> str:
        mark = "FAILED" if self.fails else "ok" if self.is_measured else "-"
        return f"{mark:<6} {self.name}: {self.told}"


Again = Callable[[str], Iterable[Row]]
"""Measures the rows with this in their names once more."""


def read_floors(path: Path = FLOORS) -> list[Floor]:
    """Read a table for each side: the names of rows, and their floors."""
    tables = tomllib.loads(path.read_text())
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
    for _ in range(MORE_TRIES):
        if max(ratios) >= floor.times:
            break
        ratios = [*ratios, *_ratios(floor, again(floor.row))]
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
    """Tell of every floor; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.floors", description="Hold ratios against their floors.")
    parser.add_argument("result", type=Path, help="what `python -m bench.peer --short --json` wrote")
    parser.add_argument("--floors", type=Path, default=FLOORS, help="the floors (default bench/floors.toml)")
    parser.add_argument("--propose", action="store_true", help="print half of the worst ratios as floors, and no more")
    given = parser.parse_args(words)
    try:
        rows = [row for run in read_runs(given.result) for row in run.rows]
        floors = read_floors(given.floors)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    if given.propose:
        print(proposed(rows))
        return 0
    found = []
    for finding in check(floors, rows, again, complete=os.environ.get("REQUIRE_ALL") == "1"):
        print(finding, flush=True)
        found.append(finding)
    failed = sum(finding.fails for finding in found)
    measured = "every floor" if all(finding.is_measured for finding in found) else "every floor that was measured"
    print(f"{failed} failed" if failed else f"{measured} holds")
    return int(failed > 0)


if __name__ == "__main__":
    run_program(main)
