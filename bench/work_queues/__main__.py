"""Measure work queues side by side, in turns, and count what each loses where processes are killed.

    python -m bench.work_queues DIRECTORY [--items 400] [--rounds 3] [--kills 20]

The directory has to be on the disk that is measured. Each figure is the best of all rounds.
"""

import argparse
import json
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from bench.work_queues.processes import consume, produce, work
from bench.work_queues.queues import LEASE_SECONDS, QUEUES

WORKERS: Final = 4
BATCH: Final = 100
SPAWN: Final = get_context("spawn")
LIMIT_SECONDS: Final = 20
"""So long nothing may happen before what is left is taken for lost."""


def measure(name: str, root: Path, items: int, batch: int, workers: int) -> dict[str, float]:
    """Items put a second, and taken and acknowledged, by so many processes together."""
    directory = Path(tempfile.mkdtemp(dir=root))
    barrier, results = SPAWN.Barrier(workers), SPAWN.Queue()
    arguments = (name, directory, items * batch // workers, batch, barrier, results)
    processes = [SPAWN.Process(target=work, args=arguments) for _ in range(workers)]
    for process in processes:
        process.start()
    told = [results.get() for _ in processes]
    for process in processes:
        process.join()
    shutil.rmtree(directory)
    return {
        "put": sum(each[0] for each in told) / max(each[1] for each in told),
        "take and ack": sum(each[2] for each in told) / max(each[3] for each in told),
    }


def kill(name: str, root: Path, kills: int) -> dict[str, int]:
    """Kill processes at random times, and count what became of what was put."""
    directory = Path(tempfile.mkdtemp(dir=root))
    rng = random.Random(kills)
    with ExitStack() as stack:

        def started(number: int) -> Any:
            target, argument = (produce, started.count * 1_000_000) if number == 0 else (consume, started.count)
            started.count += 1
            process = SPAWN.Process(target=target, args=(name, directory, argument))
            process.start()
            stack.callback(process.join)
            stack.callback(process.kill)
            return process

        started.count = 1
        processes = [started(number) for number in range(WORKERS)]
        for _ in range(kills):
            before, deadline = len(_numbers(directory, "done")), time.monotonic() + LIMIT_SECONDS
            while len(_numbers(directory, "done")) <= before + 10 and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(rng.random() * 0.2)
            victim = rng.randrange(WORKERS)
            processes[victim].kill()
            processes[victim].join()
            processes[victim] = started(victim)
        processes[0].kill()
        processes[0].join()
        _wait_while_it_shrinks(directory)
        time.sleep(2 * LEASE_SECONDS)
    queue = QUEUES[name](directory)
    left = queue.left()
    queue.close()
    events = [line.split() for path in directory.glob("done-*") for line in path.read_text().splitlines()]
    acked = {int(line[1]): int(line[2]) for line in events if len(line) == 3 and line[0] == "acked"}
    did = [(int(line[1]), int(line[2])) for line in events if len(line) == 3 and line[0] == "did"]
    found = {
        "put": len(_numbers(directory, "put")),
        "not done in the end": _missing(directory),
        "left in the queue": left,
        "done more than once": sum(count > 1 for count in Counter(number for number, _ in did).values()),
        "begun again after an ack": sum(at > acked.get(number, at) for number, at in did),
    }
    shutil.rmtree(directory)
    return found


def _wait_while_it_shrinks(directory: Path) -> None:
    """Return once all that was put is done, or nothing was for a while."""
    left, deadline = _missing(directory), time.monotonic() + LIMIT_SECONDS
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        now = _missing(directory)
        if now < left:
            left, deadline = now, time.monotonic() + LIMIT_SECONDS


def _missing(directory: Path) -> int:
    return len(_numbers(directory, "put") - _numbers(directory, "done"))


def _numbers(directory: Path, kind: str) -> set[int]:
    lines = [line.split() for path in directory.glob(f"{kind}-*") for line in path.read_text().splitlines()]
    return {int(line[0] if kind == "put" else line[1]) for line in lines if line and (kind == "put" or len(line) == 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--items", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=20)
    asked = parser.parse_args()
    best: dict[str, dict[str, float]] = {name: {} for name in QUEUES}
    for _ in range(asked.rounds):  # none, to count what is lost alone
        for name, kind in QUEUES.items():
            for batch, workers in ((1, 1), (1, WORKERS), (BATCH, 1), (BATCH, WORKERS)):
                if batch > 1 and not kind.many:
                    continue
                for what, found in measure(name, asked.directory, asked.items, batch, workers).items():
                    title = f"{what}, {batch} a call, {workers} processes"
                    best[name][title] = max(best[name].get(title, 0), found)
    for name, figures in best.items():
        if figures:
            print(json.dumps({name: {title: round(figure) for title, figure in figures.items()}}), flush=True)
    for name in QUEUES if asked.kills else ():
        print(json.dumps({name: kill(name, asked.directory, asked.kills)}), flush=True)


if __name__ == "__main__":
    main()
