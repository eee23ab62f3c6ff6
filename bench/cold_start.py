"""What the first commands after an installation cost, whose kernels are still to be compiled, beside later ones.

    python -m bench.cold_start [--rounds 3] [--only PART] [--json FILE]

Every first command has an empty directory for compiled kernels; later ones have what the first left there. What lacks
room, or Java, is skipped with the reason.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Final

from bench.audit_cluster import REPLICAS, make, without_java
from bench.bench_audit import SMALL, SMALL_PARTITIONS
from bench.command_line import count, result_file, run_program
from bench.replica import partition
from bench.report.figures import duration
from bench.results import OURS, Row, Run, conditions, write_runs
from bench.room import BUILD, lacking

KEPT: Final = BUILD / f"cold-start-{os.getpid()}"
"""Where kernels are kept."""
LOG_BYTES: Final = 64 << 20
CLUSTER: Final = BUILD / f"cluster-{SMALL}-{SMALL_PARTITIONS}"
NEEDED: Final = LOG_BYTES + REPLICAS * SMALL
"""Bytes of disk, and of memory that caches them."""
GROUP: Final = "cold start"
ROUNDS: Final = 3
AUDIT: Final = "epochlog audit"
FIRST_CALLS: Final = """
import sys, tempfile, time
from pathlib import Path
from logstore import BatchTemplate, Log, LogConfig, encode_batch, encode_values

def timed(name, call):
    start = time.perf_counter_ns()
    found = call()
    print(name, time.perf_counter_ns() - start, sep=":")
    return found

with tempfile.TemporaryDirectory() as place:
    log = timed("open", lambda: Log.open(Path(place, "t-0")))
    batch = encode_batch([b"x" * 100] * 140)
    timed("append", lambda: log.append(batch))
    timed("encode_values", lambda: encode_values([b"x" * 100] * 1_000, 7))
    base = log.log_end_offset
    templates = [BatchTemplate(base_offset=base + 50 * number, leader_epoch=0) for number in range(3)]
    fetched = b"".join(encode_batch([b"x" * 100] * 50, each) for each in templates)
    timed("append_batches", lambda: log.append_batches(fetched))
    timed("read", lambda: log.read(0, 1 << 16))
    timed("offset_for_timestamp", lambda: log.offset_for_timestamp(7))
    timed("flush", log.flush)
    log.abandon()
    log = timed("open, with recovery", lambda: Log.open(Path(place, "t-0")))
    slowest = 0
    for _ in range(3_000):
        start = time.perf_counter_ns()
        log.append(batch)
        slowest = max(slowest, time.perf_counter_ns() - start)
    print("slowest of 3,000 appends", slowest, sep=":")
    log.close()
"""
"""Prints nanoseconds of the first calls of a log in a process; kernels come in the background meanwhile."""
PROGRAMS: Final = {"import logstore": "import logstore", "import numba": "import numba"}
WORDS: Final[dict[str, Callable[[], list[object]]]] = {
    "epochlog verify": lambda: ["verify", partition(LOG_BYTES)],
    "epochlog verify --records": lambda: ["verify", "--records", partition(LOG_BYTES)],
    "epochlog dump": lambda: ["dump", partition(LOG_BYTES)],
    "epochlog dump --records": lambda: ["dump", "--records", partition(LOG_BYTES)],
    AUDIT: lambda: ["audit", "--json", *make(CLUSTER, SMALL, SMALL_PARTITIONS)],
}


def run(*words: object) -> tuple[int, str]:
    """Run Python with these arguments: nanoseconds, and what it prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(KEPT), "EPOCHLOG_COMPILE": "background"}
    start = time.perf_counter_ns()
    done = subprocess.run(
        [sys.executable, *map(str, words)], env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    spent = time.perf_counter_ns() - start
    assert done.returncode in {0, 1, 3}, words
    return spent, done.stdout


def epochlog(*words: object) -> tuple[int, str]:
    """Run a command."""
    return run("-m", "replication.cli", *words)


def first_epochlog(*words: object) -> tuple[int, str]:
    """Run a command as if nothing had been compiled yet."""
    shutil.rmtree(KEPT, ignore_errors=True)
    return epochlog(*words)


def rows(rounds: int, wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Measure what is wanted."""
    for name, program in PROGRAMS.items():
        if wanted(name):
            yield Row(name, {OURS: [run("-c", program)[0] for _ in range(rounds)]}, group=GROUP)
    if wanted("Log"):
        yield from first_calls(rounds)
    if wanted("epochlog warm"):
        yield from warming(rounds)
    for name, words in WORDS.items():
        if not wanted(name):
            continue
        if reason := missing(name):
            yield Row(name, group=GROUP, skipped=reason)
            continue
        given = words()
        yield Row(f"{name}, the first", {OURS: [first_epochlog(*given)[0] for _ in range(rounds)]}, group=GROUP)
        yield Row(f"{name}, later", {OURS: [epochlog(*given)[0] for _ in range(rounds)]}, group=GROUP)


def first_calls(rounds: int) -> Iterator[Row]:
    """Measure the first calls of a log after an installation, each in a process whose cache is empty."""
    calls: dict[str, Row] = {}
    for _ in range(rounds):
        shutil.rmtree(KEPT, ignore_errors=True)
        for line in run("-c", FIRST_CALLS)[1].splitlines():
            name, _, taken = line.partition(":")
            row = calls.setdefault(name, Row(f"Log, {name}, the first", {OURS: []}, group=GROUP))
            row.times[OURS].append(int(taken))
    yield from calls.values()


def missing(name: str) -> str:
    """Return what a command lacks; nothing where it can be measured."""
    return lacking(disk=NEEDED, memory=NEEDED) or (without_java() if name == AUDIT else "")


def warming(rounds: int) -> Iterator[Row]:
    """Compile all kernels, and say what each took; then load them."""
    kernels: dict[str, Row] = {}
    spent = []
    for _ in range(rounds):
        taken, printed = first_epochlog("warm", "--json")
        spent.append(taken)
        for each in json.loads(printed)["kernels"]:
            row = kernels.setdefault(each["kernel"], Row(f"compile {each['kernel']}", {OURS: []}, group=GROUP))
            row.times[OURS].append(each["seconds"] * 1e9)
    yield from kernels.values()
    yield Row("epochlog warm, the first", {OURS: spent}, group=GROUP)
    yield Row("epochlog warm, later", {OURS: [epochlog("warm")[0] for _ in range(rounds)]}, group=GROUP)


def main(words: list[str] | None = None) -> int:
    """Measure, print, and write a result where one is asked for."""
    parser = argparse.ArgumentParser(prog="python -m bench.cold_start", description="Measure first commands.")
    parser.add_argument("--rounds", type=count, default=ROUNDS, help="measurements of each (default %(default)s)")
    parser.add_argument("--only", default="", metavar="PART", help="measure only what has this in its name")
    parser.add_argument("--json", type=result_file, metavar="FILE", help="write the result to this file")
    given = parser.parse_args(words)
    measured = Run("bench.cold_start", conditions=conditions())
    try:
        for row in rows(given.rounds, lambda name: given.only in name):
            measured.rows.append(row)
            taken = row.median(OURS)
            told = f"{duration(taken):>10}" if taken else f"skipped: {row.skipped}"
            print(f"{row.name:<60} {told}", flush=True)
    finally:
        shutil.rmtree(KEPT, ignore_errors=True)
    if not measured.rows:
        print(f"no command has {given.only!r} in its name", file=sys.stderr)
        return 2
    if given.json:
        write_runs(given.json, [measured])
    return 0


if __name__ == "__main__":
    run_program(main)
