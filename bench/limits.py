"""What this machine can do on one core: no kernel reads faster than its memory, no append is cheaper than `write()`.

    python -m bench.limits [--mib 512] [--rounds 7] [--json FILE]

The figure that counts is that of the fastest round: whatever made a round slower is no limit.
"""

import argparse
import mmap
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Final

import numpy as np

from bench.command_line import count, result_file, run_program
from bench.results import Row, Run, conditions, write_runs
from bench.room import BUILD, lacking
from logstore.kernels.crc import crc32c

WORK: Final = BUILD / f"limits-{os.getpid()}"
MACHINE: Final = "this machine"
"""The side that did the work."""
GROUP: Final = "limits"
MIB: Final = 1 << 20
SIZE: Final = 512 * MIB
"""More than any cache holds."""
ROUNDS: Final = 7
CALLS: Final = {"16 KiB": 16 << 10, "1 MiB": MIB}
IN_CACHE: Final = 16 << 10
FLUSHES: Final = 5
MEMORY_READ: Final = "read memory"


def limits(size: int = SIZE, rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure each limit with `size` bytes; skip those for which there is no room."""
    try:
        for what, measures, reason in (
            ("memory", _memory_limits, lacking(memory=2 * size)),
            ("files", _file_limits, lacking(disk=2 * size)),
        ):
            if reason:
                yield Row(what, group=GROUP, skipped=reason)
            else:
                yield from _measured(measures(size), rounds)
    finally:
        rmtree(WORK, ignore_errors=True)


def fastest(row: Row) -> float | None:
    """Nanoseconds an operation in the fastest round."""
    return min(row.times[MACHINE]) if row.times else None


Limit = tuple[str, int, Callable[[], float]]
"""Its name, the bytes of an operation, and what does some and returns the nanoseconds of one."""


def _measured(measures: Iterator[Limit], rounds: int) -> Iterator[Row]:
    for name, amount, measure in measures:
        yield Row(name, times={MACHINE: [measure() for _ in range(rounds)]}, bytes=amount, group=GROUP)


def _memory_limits(size: int) -> Iterator[Limit]:
    words, target = np.ones(size // 8, np.int64), np.zeros(size // 8, np.int64)
    yield MEMORY_READ, size, lambda: nanoseconds(words.sum)
    yield "copy memory", size, lambda: nanoseconds(lambda: np.copyto(target, words))
    data = words.view(np.uint8)
    crc32c(data, 0, IN_CACHE)
    repeats = range(max(size // 64 // IN_CACHE, 1))

    def check_in_cache() -> None:
        for _ in repeats:
            crc32c(data, 0, IN_CACHE)

    yield "CRC-32C in cache", IN_CACHE, lambda: nanoseconds(check_in_cache) / len(repeats)
    yield "CRC-32C of memory", size, lambda: nanoseconds(lambda: crc32c(data, 0, size))


def _file_limits(size: int) -> Iterator[Limit]:
    rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    cached = WORK / "cached"
    for name, piece in CALLS.items():
        yield f"write to page cache, {name} a call", piece, partial(write, cached, size, piece)
    for name, piece in CALLS.items():
        yield f"read from page cache, {name} a call", piece, partial(read, cached, piece)
    yield "map and read page cache", size, lambda: nanoseconds(lambda: add_up(cached))
    yield "fsync after 16 KiB", 0, lambda: flush(WORK / "flushed", CALLS["16 KiB"])


def nanoseconds(call: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter_ns()
    call()
    return time.perf_counter_ns() - start


def write(path: Path, size: int, piece: int) -> float:
    """Write a new file, piece by piece; return the nanoseconds of one."""
    data = memoryview(bytes(piece))
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write_all() -> None:
        for _ in range(size // piece):
            os.write(descriptor, data)

    spent = nanoseconds(write_all)
    os.close(descriptor)
    return spent / (size // piece)


def read(path: Path, piece: int) -> float:
    """Read a cached file piece by piece into one buffer; return the nanoseconds of one."""
    buffer = memoryview(bytearray(piece))
    with open(path, "rb", buffering=0) as file:

        def read_all() -> None:
            while file.readinto(buffer):
                pass

        return nanoseconds(read_all) / (path.stat().st_size // piece)


def add_up(path: Path) -> int:
    """Map a file and read all of it, so that each page costs a fault."""
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return int(np.frombuffer(mapping, np.int64).sum())


def flush(path: Path, piece: int) -> float:
    """Write a piece and wait until it is on the disk; return the nanoseconds of the waiting."""
    spent = 0.0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(FLUSHES):
        os.write(descriptor, bytes(piece))
        spent += nanoseconds(lambda: os.fsync(descriptor))
    os.close(descriptor)
    return spent / FLUSHES


def main(words: list[str] | None = None) -> int:
    """Measure and print, and write a result where one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.limits", description="Measure what this machine can do.")
    parser.add_argument("--mib", type=count, default=SIZE // MIB, help="bytes to work on (default %(default)s)")
    parser.add_argument("--rounds", type=count, default=ROUNDS, help="measurements of each (default %(default)s)")
    parser.add_argument("--json", type=result_file, metavar="FILE", help="write the result to this file")
    given = parser.parse_args(words)
    run = Run("bench.limits", conditions=conditions())
    for row in limits(given.mib * MIB, given.rounds):
        run.rows.append(row)
        print(f"{row.name:<40} {told(row)}", flush=True)
    if given.json:
        write_runs(given.json, [run])
    return 0


def told(row: Row) -> str:
    """The limit, as throughput where bytes count."""
    taken = fastest(row)
    if taken is None:
        return f"skipped: {row.skipped}"
    return f"{row.bytes / taken:8.2f} GB/s" if row.bytes else f"{taken / 1e6:8.2f} ms"


if __name__ == "__main__":
    run_program(main)
