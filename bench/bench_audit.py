"""How fast copies of a cluster are audited, beside Kafka's dump of the same files, and whether all is found."""

import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.audit_cluster import PLANTED, REPLICAS, SEGMENTS_A_PARTITION, make, make_sound
from bench.peer.kafka_timer import without_kafka
from bench.processor import processor_seconds
from bench.replica import one_batch
from bench.room import BUILD, require_room
from replication.audit import audit as audit_in
from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.pipeline.partition_rows import judge_rows
from replication.copies.audit.snapshots.snapshot import find_snapshots
from replication.copies.audit.snapshots.work import Job
from replication.copies.audit.spark.sessions.session import session_for_a_while
from tests.conftest import require_java_for_spark
from tests.oracle.kafka import classpath
from tests.oracle.release import BENCHMARKED
from tests.replication.copies.audit.spark.shuffle_bytes import shuffle_bytes

FULL, FULL_PARTITIONS = 4 << 30, 200
SMALL_PARTITIONS = 20
SMALL = SMALL_PARTITIONS * 42 * len(one_batch())
MANY_PARTITIONS, FEW_BATCHES, MANY_BATCHES = 300, 12, 176
DUMP_TOOL = "org.apache.kafka.tools.DumpLogSegments"
FILES_A_DUMP = 50
EPOCHLOG = (sys.executable, "-m", "replication.cli")

Rows = list[dict[str, Any]]


def bench_audit_of_three_brokers(benchmark: BenchmarkFixture) -> None:
    """The whole command, Spark's start included, on files in the page cache."""
    require_java_for_spark()
    size, partitions = (SMALL, SMALL_PARTITIONS) if benchmark.disabled else (FULL, FULL_PARTITIONS)
    directory = BUILD / f"cluster-{size}-{partitions}"
    require_room(disk=0 if directory.exists() else REPLICAS * size, memory=REPLICAS * size)
    roots = make(directory, size, partitions)
    if not benchmark.disabled:
        read(roots)
    told: list[dict[str, Any]] = []
    benchmark.pedantic(lambda: told.append(audit(roots)), rounds=1 if benchmark.disabled else 3)
    assert found(told[-1]) == planted()
    if benchmark.disabled:
        return
    metrics = [each["metrics"] for each in told]
    benchmark.extra_info["GB/s after Spark's start"] = [round(each["bytes_per_second"] / 1e9, 2) for each in metrics]
    if without_kafka():
        return
    theirs = kafka_seconds(roots)
    benchmark.extra_info |= {
        "Kafka's dump, s": round(theirs, 1),
        "times as fast": round(theirs / benchmark.stats.stats.median, 1),
        "times as fast after Spark's start": [round(theirs / each["seconds"], 1) for each in metrics],
    }


def bench_start_to_first_result(benchmark: BenchmarkFixture, tmp_path: Path) -> None:
    """From nothing to the verdicts of a small cluster: Spark's start, without an archive of Java's classes."""
    require_java_for_spark()
    measure_start(benchmark, tmp_path)


def bench_start_to_first_result_from_archive(
    benchmark: BenchmarkFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same after `epochlog warm --spark`."""
    require_java_for_spark()
    # The tests start Spark from an archive, and Java does not make one while it uses another.
    monkeypatch.delenv("SPARK_SUBMIT_OPTS", raising=False)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    subprocess.run([*EPOCHLOG, "warm", "--spark"], env=environment, stdout=subprocess.DEVNULL, check=True)
    measure_start(benchmark, tmp_path)


def measure_start(benchmark: BenchmarkFixture, cache: Path) -> None:
    require_room(disk=REPLICAS * SMALL, memory=REPLICAS * SMALL)
    roots = make(BUILD / f"cluster-{SMALL}-{SMALL_PARTITIONS}", SMALL, SMALL_PARTITIONS)
    rounds = 1 if benchmark.disabled else 5
    document = benchmark.pedantic(audit, args=(roots,), kwargs={"XDG_CACHE_HOME": str(cache)}, rounds=rounds)
    assert found(document) == planted()


def bench_small_copies_with_spark(benchmark: BenchmarkFixture) -> None:
    """300 partitions of three copies, 2.4 GiB: what the first audit of a session costs, and the second."""
    require_java_for_spark()
    partitions, batches = (SMALL_PARTITIONS, FEW_BATCHES) if benchmark.disabled else (MANY_PARTITIONS, MANY_BATCHES)
    require_room(disk=REPLICAS * partitions * batches * len(one_batch()))
    roots = make_sound(BUILD / f"sound-{batches}-{partitions}", batches, partitions)
    measure_in_session(benchmark, roots, verdicts={"identical"})


def bench_large_copies_with_spark(benchmark: BenchmarkFixture) -> None:
    """The same of three brokers' large copies, with planted defects; and what they shuffle."""
    require_java_for_spark()
    size, partitions = (SMALL, SMALL_PARTITIONS) if benchmark.disabled else (FULL, FULL_PARTITIONS)
    directory = BUILD / f"cluster-{size}-{partitions}"
    require_room(disk=0 if directory.exists() else REPLICAS * size, memory=REPLICAS * size)
    measure_in_session(benchmark, make(directory, size, partitions), verdicts={*planted()[0].values(), "identical"})


def measure_in_session(benchmark: BenchmarkFixture, roots: list[Path], verdicts: set[str]) -> None:
    """Audit three times in a new session, as the command starts it."""
    costs: list[float] = []
    shuffled: list[int] = []
    if not benchmark.disabled:
        read(roots)

    def run() -> dict[str, Any]:
        before, moved = processor_seconds(), shuffle_bytes(spark)
        with audit_in(spark, roots) as audited:
            document = audited.document
        costs.append(processor_seconds() - before)
        shuffled.append(shuffle_bytes(spark) - moved)
        return document

    with session_for_a_while("local[2]") as spark:
        document = benchmark.pedantic(run, rounds=1 if benchmark.disabled else 3)
    assert {each["verdict"] for each in document["partitions"]} == verdicts
    if not benchmark.disabled:
        gib = document["metrics"]["bytes"] / (1 << 30)
        benchmark.extra_info |= {
            "first run, core-s/GiB": round(costs[0] / gib, 2),
            "second run, core-s/GiB": round(costs[1] / gib, 2),
            "shuffled, KiB/GiB": round(max(shuffled) / 1024 / gib, 1),
        }


def bench_examination_of_small_copies(benchmark: BenchmarkFixture) -> None:
    """What a copy of three small segments costs beside its bytes, in one process without Spark."""
    copies = small_copies(benchmark)
    examiner = Examiner()

    def examine() -> Rows:
        return [examiner.row(copy) for copy in copies]

    rows = measure_processor(benchmark, examine, "ms of processor time a copy", len(copies))
    assert all(len(row["segments"]) == SEGMENTS_A_PARTITION and not row["findings"] for row in rows)


def bench_judging_of_small_copies(benchmark: BenchmarkFixture) -> None:
    """What judging a partition of three equal copies costs."""
    copies: defaultdict[str, Rows] = defaultdict(list)
    for row in map(Examiner().row, small_copies(benchmark)):
        copies[f"{row['topic']}-{row['partition']}"].append(row)

    def judge() -> Rows:
        return [judge_rows(rows, {}, {}) for rows in copies.values()]

    judged = measure_processor(benchmark, judge, "ms of processor time a partition", len(copies))
    assert all(row["verdicts"] == ["identical"] for row in judged)


def small_copies(benchmark: BenchmarkFixture) -> list[Job]:
    """All copies of a cluster of small partitions, without defects."""
    partitions = SMALL_PARTITIONS if benchmark.disabled else MANY_PARTITIONS
    require_room(disk=REPLICAS * partitions * FEW_BATCHES * len(one_batch()))
    roots = make_sound(BUILD / f"small-copies-{FEW_BATCHES}-{partitions}", FEW_BATCHES, partitions)
    return [Job(copy.replica, copy.root, copy) for snapshot in find_snapshots(roots) for copy in snapshot.copies()]


def measure_processor(benchmark: BenchmarkFixture, work: Callable[[], Rows], unit: str, count: int) -> Rows:
    """Measure and put beside it what a piece costs the processor, in the cheapest round; return what the last gave."""
    seconds: list[float] = []

    def timed() -> Rows:
        begun = time.process_time()
        rows = work()
        seconds.append(time.process_time() - begun)
        return rows

    rows: Rows = benchmark.pedantic(timed, rounds=1 if benchmark.disabled else 5, warmup_rounds=1)
    benchmark.extra_info[unit] = round(1e3 * min(seconds) / count, 2)
    return rows


def audit(roots: list[Path], **environment: str) -> dict[str, Any]:
    command = [*EPOCHLOG, "audit", "--engine", "spark", "--json", *map(str, roots)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stderr  # acknowledged records are lost
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def planted() -> tuple[dict[str, str], set[tuple[str, str, str]]]:
    """Verdict by partition, and who has which error where."""
    verdicts = {str(defect.partition): defect.verdict.value for defect in PLANTED}
    errors = {
        (f"broker-{defect.replica}", str(defect.partition), defect.finding) for defect in PLANTED if defect.finding
    }
    return verdicts, errors


def found(document: dict[str, Any]) -> tuple[dict[str, str], set[tuple[str, str, str]]]:
    verdicts = {
        f"{each['topic']}-{each['partition']}": each["verdict"]
        for each in document["partitions"]
        if each["verdict"] != "identical"
    }
    errors = {
        (each["replica"], f"{each['topic']}-{each['partition']}", each["kind"])
        for each in document["findings"]
        if each["severity"] == "error"
    }
    return verdicts, errors


def read(roots: list[Path]) -> None:
    """Bring the files into the page cache."""
    for root in roots:
        for path in root.rglob("*.log"):
            path.read_bytes()


def kafka_seconds(roots: list[Path]) -> float:
    """Check every record of the same files with Kafka's tool, one after the other.

    It ends at the first record that cannot be read, so that it is spared the few copies with errors.
    """
    damaged = {roots[each.replica - 1] / str(each.partition) for each in PLANTED if each.finding}
    paths = [path for root in roots for path in sorted(root.rglob("*.log")) if path.parent not in damaged]
    files = list(map(str, paths))
    begun = time.perf_counter()
    for first in range(0, len(files), FILES_A_DUMP):
        names = ",".join(files[first : first + FILES_A_DUMP])
        command = ["java", "-Xmx1g", "-cp", classpath(BENCHMARKED), DUMP_TOOL, "--deep-iteration", "--files", names]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun
