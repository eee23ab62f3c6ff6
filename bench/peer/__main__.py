"""Beside Kafka's own classes, in one run: the same bytes, the same files, the same calls, in turn.

`python -m bench.peer --gib 1 --rounds 5 --runs 3 --json build/bench/peer.json` prints medians and their ratios, and
writes all figures. Only what is asked for is in the times: batches are numbered, files copied and logs opened outside
of them. Each run has fresh JVMs, which are warm by the time that counts. Nobody writes a root's checkpoint files:
whoever holds many logs does. Without Java our side is measured alone.
"""

import argparse
import shutil
from pathlib import Path

from bench.peer.comparison import compare
from bench.peer.kafka_timer import without_kafka
from bench.peer.turns import CLOCKS, Settings
from bench.results import KAFKA, OURS, Row, Run, conditions, write_runs
from bench.room import BUILD

WORK = BUILD / "peer"
UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))
SHORT_SIZE, SHORT_ROUNDS, SHORT_CALLS = 1 << 26, 3, 1 << 14
HEADINGS = ("what", OURS, KAFKA, "times as fast", "others", "times as fast")


def told(row: Row, side: str) -> str:
    """A side's median: as throughput where bytes or items count."""
    nanoseconds = row.median(side)
    if nanoseconds is None:
        return ""
    size, unit = next((each for each in UNITS if nanoseconds >= each[0]), UNITS[-1])
    time = f"{nanoseconds / size:.3g} {unit}"
    return f"{time}, {row.bytes / nanoseconds:.2f} GB/s" if row.bytes else time


def ratio(row: Row, side: str) -> str:
    """How many times as fast as that side we are."""
    times = row.ratio(side)
    return f"{times:.2f}" if times else ""


def line(row: Row) -> str:
    """A row of the table."""
    others = [side for side in row.times if side not in {OURS, KAFKA}]
    cells = [row.name, told(row, OURS), told(row, KAFKA), ratio(row, KAFKA)]
    cells.append("; ".join(f"{side} {told(row, side)}" for side in others))
    cells.append("; ".join(ratio(row, side) for side in others))
    return f"| {' | '.join([row.name, f'skipped: {row.skipped}'] if row.skipped else cells)} |"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.peer", description="Measure beside Kafka's own classes.")
    parser.add_argument("--gib", type=float, default=1, help="size of each log (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each side in a run (default 5)")
    parser.add_argument("--runs", type=int, default=1, help="runs, each with fresh JVMs (default 1)")
    parser.add_argument("--only", default="", help="measure only what has this in its name")
    parser.add_argument("--short", action="store_true", help="small and quick, for CI: sizes and rounds are fixed")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="on a busy machine: processor (default wall)")
    return parser.parse_args()


def main() -> None:
    """Measure and print a table."""
    given = arguments()
    settings = Settings(WORK, int(given.gib * (1 << 30)), given.rounds, clock=given.clock)
    if given.short:
        settings = Settings(WORK, SHORT_SIZE, SHORT_ROUNDS, warm_up=1, calls=SHORT_CALLS, clock=given.clock)
    missing = without_kafka()
    if missing:
        print(f"Without Kafka's side: {missing}.\n")
    said = {"clock": settings.clock, "without_kafka": missing, "log_bytes": settings.size}
    runs = []
    for _ in range(given.runs):
        shutil.rmtree(WORK, ignore_errors=True)
        WORK.mkdir(parents=True)
        runs.append(Run("bench.peer", conditions=conditions() | said))
        print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}")
        for row in compare(settings, kafka=not missing, wanted=lambda name: given.only in name):
            print(line(row), flush=True)
            runs[-1].rows.append(row)
    shutil.rmtree(WORK)
    if given.json:
        write_runs(given.json, runs)


main()
