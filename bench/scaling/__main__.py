"""Measure how the cost of a unit of work changes as the work grows.

    python -m bench.scaling [--only CURVE] [--quick] [--rounds N] [--clock processor] [--json FILE]

`python -m bench.report` makes tables and pictures of the result. What there is no room for is skipped, with the reason.
Files are made below build/bench and removed again; all of them are never there at once.
"""

import argparse
import shutil
import sys

from bench.command_line import count, result_file, run_program
from bench.report.figures import duration
from bench.results import OURS, Row, Run, conditions, write_runs
from bench.scaling import audits, epochs, logs, partitions, threads
from bench.scaling.curve import CLOCKS, Curve, remove_left_over

GIB = 1 << 30


def all_curves(*, quick: bool) -> list[Curve]:
    """Every curve, the largest work last."""
    by_threads = threads.curves(threads.SMALL_SIZE if quick else threads.SIZE)
    return [*epochs.CURVES, *partitions.CURVES, *by_threads, *logs.CURVES, *audits.CURVES]


def told(row: Row) -> str:
    """One point of a curve, as a line."""
    taken = row.median(OURS)
    if taken is None:
        return f"{row.name:<60} skipped: {row.skipped}"
    units = row.items or row.bytes / GIB or 1
    unit = row.unit or "GiB"
    held = f"  {row.memory / row.scale:10,.0f} bytes held for each" if row.memory else ""
    return f"{row.name:<60} {duration(taken):>10}  {duration(taken / units):>10} for each of the {unit}{held}"


def main(words: list[str] | None = None) -> int:
    """Measure, print, and write a result where one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description="Measure how costs grow.")
    parser.add_argument("--only", default="", metavar="CURVE", help="measure only curves that have this in their name")
    parser.add_argument("--quick", action="store_true", help="small sizes, one round: to see that it works")
    parser.add_argument("--rounds", type=count, help="measurements of each size (default: 3 to 5)")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="on a busy machine: processor (default wall)")
    parser.add_argument("--json", type=result_file, metavar="FILE", help="write the result to this file")
    given = parser.parse_args(words)
    chosen = [curve for curve in all_curves(quick=given.quick) if given.only in curve.name]
    if not chosen:
        print(f"no curve has {given.only!r} in its name", file=sys.stderr)
        return 2
    remove_left_over()
    run = Run("bench.scaling", conditions=conditions())
    try:
        for curve in chosen:
            for scale in curve.quick if given.quick else curve.scales:
                run.rows.append(curve.measure(scale, 1 if given.quick else given.rounds, given.clock))
                print(told(run.rows[-1]), flush=True)
            if given.json:  # after each curve: a later one may be interrupted
                write_runs(given.json, [run])
    finally:
        shutil.rmtree(logs.KEPT, ignore_errors=True)
    return 0


if __name__ == "__main__":
    run_program(main)
