"""What the processes do whose speed is measured, and those that are killed."""

import time
from pathlib import Path
from typing import Any, Final

from bench.work_queues.queues import QUEUES

VALUE_BYTES: Final = 100


def work(name: str, directory: Path, items: int, batch: int, barrier: Any, results: Any) -> None:
    """Put items, then take and acknowledge what is there; tell how many a second that was, for all processes."""
    queue = QUEUES[name](directory)
    values = [b"x" * VALUE_BYTES] * batch
    barrier.wait()
    begun = time.perf_counter()
    for _ in range(items // batch):
        queue.put(values)
    put = time.perf_counter() - begun
    barrier.wait()
    begun, done = time.perf_counter(), 0
    while taken := queue.take(batch):
        queue.ack(taken)
        done += len(taken)
    acked = time.perf_counter() - begun
    barrier.wait()
    results.put((items, put, done, acked))
    queue.close()


def produce(name: str, directory: Path, first: int) -> None:
    """Put numbers one after the other; note each once it is put."""
    queue = QUEUES[name](directory)
    with (directory / f"put-{first}").open("a", buffering=1) as put:
        for number in range(first, first + 1_000_000):
            queue.put([b"%d" % number])
            put.write(f"{number}\n")


def consume(name: str, directory: Path, number: int) -> None:
    """Do what comes: note it before and behind the acknowledgement."""
    queue = QUEUES[name](directory)
    with (directory / f"done-{number}").open("a", buffering=1) as done:
        while True:
            taken = queue.take(1)
            if not taken:
                time.sleep(0.001)
            for each in taken:
                done.write(f"did {int(each[1])} {time.time_ns()}\n")
                queue.ack([each])
                done.write(f"acked {int(each[1])} {time.time_ns()}\n")
