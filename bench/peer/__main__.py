"""A log beside Kafka's own, in one run: the same bytes, the same files, the same calls, in turn.

`python -m bench.peer --gib 1 --rounds 5` prints medians and their ratios. Only what is asked for is in the times:
batches are numbered, files copied and logs opened outside of them. Kafka runs in one JVM that is warm by then. Nobody
writes a root's checkpoint files: whoever holds many logs does.
"""

import argparse
import shutil
from pathlib import Path

from bench.peer.comparison import Comparison, Row
from bench.peer.sides import CLOCKS, BareWrite, Kafka, Ours
from tests.oracle.kafka import JavaProgram

WORK = Path(__file__).parent.parent.parent / "build/bench/peer"
UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def told(row: Row, side: str) -> str:
    """A side's median: as throughput where bytes count."""
    nanoseconds = row.median(side)
    if nanoseconds is None:
        return ""
    size, unit = next((each for each in UNITS if nanoseconds >= each[0]), UNITS[-1])
    time = f"{nanoseconds / size:.3g} {unit}"
    return f"{time}, {row.bytes / nanoseconds:.2f} GB/s" if row.bytes else time


def ratio(row: Row, side: str) -> str:
    """How many times as fast as that side we are."""
    ours, theirs = row.median(Ours.name), row.median(side)
    return f"{theirs / ours:.2f}" if ours and theirs else ""


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.peer", description="Measure a log beside Kafka's.")
    parser.add_argument("--gib", type=float, default=1, help="size of each log (default 1)")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each side (default 5)")
    parser.add_argument("--only", default="", help="measure only what has this in its name")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="on a busy machine: processor (default wall)")
    arguments = parser.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    print("| what | epochlog | Kafka | times as fast | `write()` | of `write()` |\n|---|---|---|---|---|---|")
    with JavaProgram("LogTimer", heap="2g", measured=True) as program:
        comparison = Comparison(program, WORK, int(arguments.gib * (1 << 30)), arguments.rounds, clock=arguments.clock)
        for name, measure in comparison.works().items():
            if arguments.only not in name:
                continue
            row = measure(name)
            cells = (row.name, told(row, Ours.name), told(row, Kafka.name), ratio(row, Kafka.name))
            print("|", " | ".join([*cells, told(row, BareWrite.name), ratio(row, BareWrite.name)]), "|", flush=True)
    shutil.rmtree(WORK)


main()
