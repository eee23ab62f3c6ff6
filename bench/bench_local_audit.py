"""How fast copies are audited on one machine without Spark, and what that costs its processors."""

import json
import os
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pytest_benchmark.fixture import BenchmarkFixture

from bench.audit_cluster import REPLICAS, SEGMENTS_A_PARTITION, make, make_sound
from bench.bench_audit import FULL, FULL_PARTITIONS, SMALL, SMALL_PARTITIONS, found, kafka_seconds, planted, read
from bench.peer.kafka_timer import without_kafka
from bench.replica import one_batch
from bench.room import BUILD, require_room
from replication.cli.judging.shipped_replicas import ARCHIVE

PARTITIONS, BATCHES = 60, 546
"""180 copies of three segments, 1.6 GB."""
MANY_PARTITIONS, NIGHTS = 1_000, 3
LAST_CHANGE = 1_700_000_000
"""Of files, in seconds since 1970 UTC."""
GIB = 1 << 30
ROUNDS = 5
AS_INSTALLED = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled once: otherwise each command would compile hundreds of them."""


def bench_demo_to_verdict(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """From the command to the verdicts of the shipped brokers."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    roots = sorted((tmp_path / "diverged").iterdir())
    costs, document = measured(benchmark, lambda: audit(roots))
    note(benchmark, costs)
    assert sum(each["verdict"] == "forked" for each in document["partitions"]) == 2


def bench_incident_of_the_shipped_brokers(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """From the command to the runbook, in processor time of the cheapest round: most of it is the start."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    roots = sorted((tmp_path / "diverged").iterdir())
    costs, document = measured(benchmark, lambda: printed("incident", roots, status=3))
    if not benchmark.disabled:
        benchmark.extra_info["s of processor time, least"] = round(min(costs), 2)
    assert document["steps"]


def bench_first_audit_of_small_segments(benchmark: BenchmarkFixture) -> None:
    """The whole command on 540 segments of 3 MB."""
    partitions = SMALL_PARTITIONS if benchmark.disabled else PARTITIONS
    batches = 12 if benchmark.disabled else BATCHES
    require_room(disk=REPLICAS * partitions * batches * len(one_batch()))
    roots = make_sound(BUILD / f"sound-{batches}-{partitions}", batches, partitions)
    costs, document = measured(benchmark, lambda: audit(roots))
    note(benchmark, costs, document["metrics"]["bytes"])
    assert document["metrics"]["copies"] == REPLICAS * partitions
    assert {each["verdict"] for each in document["partitions"]} == {"identical"}
    assert SEGMENTS_A_PARTITION == 3


def bench_second_audit_with_a_history(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """The same, with closed segments that an earlier audit has read."""
    partitions = SMALL_PARTITIONS if benchmark.disabled else PARTITIONS
    batches = 12 if benchmark.disabled else BATCHES
    roots = make_sound(BUILD / f"sound-{batches}-{partitions}", batches, partitions)
    history = ("--history", str(tmp_path / "history"))
    audit(roots, *history)
    costs, document = measured(benchmark, lambda: audit(roots, *history))
    note(benchmark, costs, document["metrics"]["bytes"])
    if not benchmark.disabled:
        size, seen = document["metrics"]["bytes"], document["metrics"]["bytes_read"]
        benchmark.extra_info["part that is read"] = round(seen / size, 3)


def bench_second_night_of_small_copies(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """3,000 copies of 16 KiB that stand as they were the night before, beside that night."""
    partitions = SMALL_PARTITIONS if benchmark.disabled else MANY_PARTITIONS
    roots = make_sound(BUILD / f"sound-1-{partitions}", 1, partitions)
    for path in (BUILD / f"sound-1-{partitions}").rglob("*"):
        os.utime(path, (LAST_CHANGE, LAST_CHANGE))  # or it might change once more within what a file's time tells
    first = []
    for night in range(1 if benchmark.disabled else NIGHTS):
        before = processor_seconds()
        audit(roots, "--history", str(tmp_path / f"history-{night}"))
        first.append(processor_seconds() - before)
    costs, document = measured(benchmark, lambda: audit(roots, "--history", str(tmp_path / "history-0")), NIGHTS)
    note(benchmark, costs)
    assert document["metrics"]["bytes_read"] == 0
    if not benchmark.disabled:
        part = max(costs) / min(first)
        benchmark.extra_info["% of the first night's processor time, worst"] = round(100 * part, 1)


def bench_first_audit_of_three_brokers(benchmark: BenchmarkFixture) -> None:
    """Large copies with planted defects, beside Kafka's dump of the same files."""
    size, partitions = (SMALL, SMALL_PARTITIONS) if benchmark.disabled else (FULL, FULL_PARTITIONS)
    directory = BUILD / f"cluster-{size}-{partitions}"
    require_room(disk=0 if directory.exists() else REPLICAS * size, memory=REPLICAS * size)
    roots = make(directory, size, partitions)
    if not benchmark.disabled:
        read(roots)
    costs, document = measured(benchmark, lambda: audit(roots, status=3), rounds=3)
    note(benchmark, costs, document["metrics"]["bytes"])
    assert found(document) == planted()
    if benchmark.disabled:
        return
    benchmark.extra_info["GB/s"] = round(document["metrics"]["bytes"] / benchmark.stats.stats.median / 1e9, 2)
    if not without_kafka():
        benchmark.extra_info["times as fast as Kafka's dump"] = round(
            kafka_seconds(roots) / benchmark.stats.stats.median, 1
        )


def audit(roots: Sequence[Path], *options: str, status: int | None = None) -> dict[str, Any]:
    return printed("audit", roots, "--engine", "local", *options, status=status)


def printed(command: str, roots: Sequence[Path], *options: str, status: int | None = None) -> dict[str, Any]:
    words = [sys.executable, "-m", "replication.cli", command, "--json", *options, *map(str, roots)]
    done = subprocess.run(words, env=AS_INSTALLED, capture_output=True, text=True, check=False)
    assert status is None or done.returncode == status, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def measured(
    benchmark: BenchmarkFixture, call: Callable[[], dict[str, Any]], rounds: int = ROUNDS
) -> tuple[list[float], dict[str, Any]]:
    """Run a command some times; return each one's processor time, its workers' too, and what the last one gave."""
    costs: list[float] = []

    def run() -> dict[str, Any]:
        before = processor_seconds()
        document = call()
        costs.append(processor_seconds() - before)
        return document

    enabled = not benchmark.disabled
    document = benchmark.pedantic(run, rounds=rounds if enabled else 1, warmup_rounds=1 if enabled else 0)
    return costs[-rounds:], document


def note(benchmark: BenchmarkFixture, costs: list[float], size: int = 0) -> None:
    if benchmark.disabled:
        return
    cost = sorted(costs)[len(costs) // 2]
    benchmark.extra_info["s of processor time"] = round(cost, 2)
    if size:
        benchmark.extra_info["core-s/GiB"] = round(cost / (size / GIB), 2)


def processor_seconds() -> float:
    """Of all processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
