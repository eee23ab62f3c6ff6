"""Beside Kafka's own classes, in one run: the same bytes, the same files, the same calls, in turn.

`python -m bench.peer --gib 1 --rounds 5 --runs 3 --json build/bench/peer.json` prints medians and their ratios, and
writes all figures. Only what is asked for is in the times: batches are numbered, files copied and logs opened outside
of them. Each run has fresh JVMs, which are warm by the time that counts. Nobody writes a root's checkpoint files:
whoever holds many logs does. Without Java our side is measured alone.
"""

import argparse
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.command_line import count, result_file, run_program
from bench.peer.client_works import AIOKAFKA, aiokafka_version
from bench.peer.comparison import GROUPS, compare
from bench.peer.kafka_timer import without_kafka
from bench.peer.turns import CLOCKS, Settings
from bench.report.figures import duration
from bench.results import KAFKA, OURS, Row, Run, conditions, write_runs
from bench.room import BUILD
from logstore import warm
from tests.oracle.kafka import java_version
from tests.oracle.release import BENCHMARKED

SHORT = {"size": 1 << 26, "rounds": 3, "warm_up": 2, "calls": 1 << 14}
"""What CI measures: enough to see a ratio fall to half of what it was."""
LEAST_GIB = 0.002
"""Below this a log has no middle to be cut at."""
HEADINGS = ("what", OURS, KAFKA, "times as fast", "others", "times as fast")


def told(row: Row, side: str) -> str:
    """A side's median, with the rates of bytes and items where these count."""
    nanoseconds = row.median(side)
    if nanoseconds is None:
        return ""
    rates = [f"{row.bytes / nanoseconds:.2f} GB/s"] if row.bytes else []
    rates += [f"{row.items / nanoseconds * 1e3:.3g} M {row.unit}/s"] if row.items > 1 else []
    return ", ".join([duration(nanoseconds), *rates])


def ratio(row: Row, side: str) -> str:
    """How many times as fast as that side we are."""
    times = row.ratio(side)
    return f"{times:.3g}" if times else ""


def line(row: Row) -> str:
    """A row of the table."""
    others = [side for side in row.times if side not in {OURS, KAFKA}]
    cells = [row.name, told(row, OURS), told(row, KAFKA), ratio(row, KAFKA)]
    cells.append("; ".join(f"{side} {told(row, side)}" for side in others))
    cells.append("; ".join(ratio(row, side) for side in others))
    return f"| {' | '.join([row.name, f'skipped: {row.skipped}'] if row.skipped else cells)} |"


def gib(text: str) -> float:
    """Read the size of a log. Raises ValueError and ArgumentTypeError."""
    size = float(text)
    if not LEAST_GIB <= size < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: {LEAST_GIB} at least")
    return size


def arguments(words: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.peer", description="Measure beside Kafka's own classes.")
    parser.add_argument("--gib", type=gib, default=1, help="size of each log (default 1)")
    parser.add_argument("--rounds", type=count, default=5, help="measurements of each side in a run (default 5)")
    parser.add_argument("--runs", type=count, default=1, help="runs, each with fresh JVMs (default 1)")
    parser.add_argument("--only", default="", metavar="PART", help="measure only what has this in its name")
    parser.add_argument("--groups", nargs="+", choices=GROUPS, default=(), help="measure only these kinds of work")
    parser.add_argument("--short", action="store_true", help="small and quick, for CI: sizes and rounds are fixed")
    parser.add_argument("--json", type=result_file, metavar="FILE", help="write all figures to this file")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="on a busy machine: processor (default wall)")
    return parser.parse_args(words)


def peers(missing: str) -> dict[str, Any]:
    """What is measured beside us, in which version; `missing` says why Kafka is not."""
    kafka = {"without_kafka": missing} if missing else {KAFKA: BENCHMARKED.version, "Java": java_version()}
    return kafka | {AIOKAFKA: aiokafka_version() or "missing"}


def measure(given: argparse.Namespace, work: Path, missing: str) -> Run:
    """Measure and print a table."""
    sizes = SHORT if given.short else {"size": int(given.gib * (1 << 30)), "rounds": given.rounds}
    settings = Settings(work, clock=given.clock, **sizes)
    said = {"clock": settings.clock, "log_bytes": settings.size, "files": "written one batch of 16 KiB a call"}
    run = Run("bench.peer", conditions=conditions() | peers(missing) | said)
    print(f"| {' | '.join(HEADINGS)} |\n|{'---|' * len(HEADINGS)}")
    for row in compare(settings, kafka=not missing, wanted=lambda name: given.only in name, groups=given.groups):
        print(line(row), flush=True)
        run.rows.append(row)
    return run


def main(words: list[str] | None = None) -> int:
    """Measure as often as asked for; each run is written before the next begins."""
    given = arguments(words)
    missing = without_kafka()
    if missing:
        print(f"Without Kafka's side: {missing}.\n")
    BUILD.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("EPOCHLOG_COMPILE", "now")
    warm()  # no measurement counts compiling
    runs = []
    for _ in range(given.runs):
        with TemporaryDirectory(prefix="peer-", dir=BUILD) as work:
            runs.append(measure(given, Path(work), missing))
        if not runs[-1].rows:
            print(f"nothing has {given.only!r} in its name", file=sys.stderr)
            return 2
        if given.json:
            write_runs(given.json, runs)
    return 0


if __name__ == "__main__":
    run_program(main)
