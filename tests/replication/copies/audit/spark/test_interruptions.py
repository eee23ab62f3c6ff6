"""Whatever happens to a task, a job or the files meanwhile: the rows are right, or there is an error."""

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark import InheritableThread
from pyspark.sql import DataFrame, SparkSession

from logstore.batch.compression.codec import Codec, compress
from replication.audit import audit
from replication.copies.audit.tables import RUN
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.one_process import audit_here
from tests.replication.copies.audit.snapshot_roots import batches, write_root
from tests.replication.copies.audit.spark.pausing import Pause, PausingSource, pausing, wait_until
from tests.replication.copies.audit.spark.source.planned import Planned

COLUMNS = "replica,topic,partition,offset,leader_epoch,position,segment,timestamp_ms,is_aborted,corrupt"
Rows = list[tuple[Any, ...]]


def write_logs(root: Path) -> None:
    """Write two copies of two partitions; what a segment holds is decoded in several steps, for its codecs change."""
    for name in ("broker-1", "broker-2"):
        for partition in range(2):
            directory = root / name / f"t-{partition}"
            directory.mkdir(parents=True)
            for base in range(0, 90, 30):
                content = [sealed(base + 3 * number) for number in range(10)]
                (directory / f"{base:020d}.log").write_bytes(b"".join(content))


def sealed(base_offset: int) -> bytes:
    section = b"".join(record(offset_delta=number, value=os.urandom(500)) for number in range(3))
    codec = Codec.GZIP if base_offset % 2 else Codec.NONE
    return batch(
        base_offset=base_offset,
        section=section if codec is Codec.NONE else compress(codec, section),
        attributes=int(codec),
        record_count=3,
        last_offset_delta=2,
    )


class Interrupted:
    """A query of which a task has stopped in its midst."""

    def __init__(self, spark: SparkSession, place: Path, **options: str) -> None:
        self.spark, self.root = spark, place / "logs"
        write_logs(self.root)
        self.pause = Pause(place / "pause").arm()
        spark.dataSource.register(PausingSource)
        self.expected = sorted(tuple(row.values()) for row in Planned(self.root, **self._options(options)).rows())
        reader = spark.read.format("pausing-kafka-log").option("pause", str(self.pause.place))
        self.frame = reader.options(**self._options(options)).load(str(self.root))
        self.outcome: Rows | Exception | None = None

    def _options(self, options: dict[str, str]) -> dict[str, str]:
        return {"rows": "records", "columns": COLUMNS, "taskBytes": "20000", **options}

    def start(self, query: Callable[[DataFrame], DataFrame] = lambda frame: frame, group: str = "interrupted") -> int:
        """Ask in another thread; return the process of the task that has stopped."""

        def ask() -> None:
            self.spark.sparkContext.setJobGroup(group, "interrupted")
            try:
                self.outcome = sorted(tuple(row) for row in query(self.frame).collect())
            except Exception as error:  # noqa: BLE001  whatever it is, it is what a user gets
                self.outcome = error

        self.thread = InheritableThread(target=ask)
        self.thread.start()
        return self.pause.reached()

    def end(self) -> Rows | Exception:
        """Let the task go on, if there still is one."""
        self.pause.release()
        self.thread.join()
        assert self.outcome is not None
        return self.outcome


QUERIES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "rows": lambda frame: frame,
    "after a shuffle": lambda frame: frame.repartition(3, "offset"),
    "joined with themselves": lambda frame: frame.join(
        frame.select("replica", "partition", "offset").distinct(), ["replica", "partition", "offset"]
    ).select(COLUMNS.split(",")),
}


@pytest.mark.parametrize("query", QUERIES)
def test_a_worker_that_is_killed_costs_no_row_and_adds_none(query: str, spark: SparkSession, tmp_path: Path) -> None:
    interrupted = Interrupted(spark, tmp_path)
    worker = interrupted.start(QUERIES[query])

    os.kill(worker, signal.SIGKILL)

    assert interrupted.end() == interrupted.expected


def test_workers_that_die_each_time_are_an_error(spark: SparkSession, tmp_path: Path) -> None:
    interrupted = Interrupted(spark, tmp_path)
    interrupted.pause.release()

    def die(rows: Iterator[Any]) -> Iterator[Any]:
        for each in rows:
            yield each
            os.kill(os.getpid(), signal.SIGKILL)

    dying = interrupted.frame.mapInArrow(die, interrupted.frame.schema)

    with pytest.raises(Exception, match=r"(?s)aborted due to stage failure.*Python worker exited unexpectedly"):
        dying.collect()
    assert sorted(tuple(row) for row in interrupted.frame.collect()) == interrupted.expected


def test_a_job_that_is_cancelled_is_an_error_and_leaves_nothing_behind(spark: SparkSession, tmp_path: Path) -> None:
    interrupted = Interrupted(spark, tmp_path)
    worker = interrupted.start(group="to be cancelled")

    spark.sparkContext.cancelJobGroup("to be cancelled")
    interrupted.thread.join()

    assert isinstance(interrupted.outcome, Exception)
    assert "cancelled" in str(interrupted.outcome)
    wait_until(lambda: not Path(f"/proc/{worker}").exists())
    assert sorted(tuple(row) for row in interrupted.frame.collect()) == interrupted.expected


def grown(file: Path) -> None:
    with file.open("ab") as log:
        log.write(sealed(90))


def replaced(file: Path) -> None:
    other = file.with_suffix(".swap")
    other.write_bytes(sealed(int(file.stem)) * 2)
    other.rename(file)


CHANGES: dict[str, Callable[[Path], object]] = {
    "truncated": lambda file: os.truncate(file, 100),
    "truncated to nothing": lambda file: os.truncate(file, 0),
    "cut and written on": lambda file: file.write_bytes(file.read_bytes()[:9_000] + sealed(99) * 20),
    "replaced": replaced,
    "deleted": lambda file: file.unlink(),
}


@pytest.mark.parametrize(
    ("segment", "change"),
    [(0, "truncated"), (0, "cut and written on"), (0, "replaced"), (60, "truncated to nothing"), (60, "deleted")],
)
def test_files_that_change_in_the_midst_of_a_task_are_an_error(
    segment: int, change: str, spark: SparkSession, tmp_path: Path
) -> None:
    # One task reads all; it has stopped after the first batch of the first file.
    interrupted = Interrupted(spark, tmp_path, taskBytes="100000000")
    interrupted.start()

    CHANGES[change](interrupted.root / f"broker-1/t-0/{segment:020d}.log")

    outcome = interrupted.end()
    assert isinstance(outcome, Exception), "not all rows are of the log as it was listed"
    assert "SnapshotChangedError" in str(outcome)


def test_what_is_appended_in_the_midst_of_a_task_is_not_read(spark: SparkSession, tmp_path: Path) -> None:
    interrupted = Interrupted(spark, tmp_path)
    interrupted.start()

    for log in interrupted.root.glob(f"*/*/{60:020d}.log"):
        grown(log)
        (log.parent / f"{93:020d}.log").write_bytes(sealed(93))

    assert interrupted.end() == interrupted.expected


# The audit ------------------------------------------------------------------------------------------------------------


class InterruptedAudit:
    """An audit of which a task has stopped after its first copy."""

    def __init__(self, spark: SparkSession, place: Path, patch: pytest.MonkeyPatch, change: str = "") -> None:
        self.spark, self.root = spark, place / "logs"
        for number, name in enumerate("ab"):
            branch = change if name == "b" else ""
            partitions = {
                f"t-{partition}": [*batches(8), *batches(4, start=24, branch=branch)] for partition in range(3)
            }
            write_root(self.root / name, partitions, node=number)
        self.expected = audit_here(self.root)[0]
        self.pause = Pause(place / "pause").arm()
        patch.setattr("replication.copies.audit.spark.examine_job.examining", pausing(self.pause))
        self.audited = audit(spark, [self.root])

    def verdicts(self) -> list[dict[str, Any]]:
        rows = self.audited.partitions.drop(*RUN).toArrow().to_pylist()
        return sorted(rows, key=lambda row: row["partition"])

    def findings(self) -> set[tuple[str, int | None]]:
        return {(row.kind, row.partition) for row in self.audited.findings.collect()}


def test_an_audit_whose_worker_is_killed_says_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = InterruptedAudit(spark, tmp_path, monkeypatch, "other")
    with ThreadPoolExecutor(1) as other, interrupted.audited:
        verdicts = other.submit(interrupted.verdicts)
        os.kill(interrupted.pause.reached(), signal.SIGKILL)

        assert verdicts.result() == interrupted.expected
        assert {row["verdict"] for row in interrupted.expected} == {"silent-divergence"}


def test_an_audit_that_is_cancelled_is_an_error_and_can_be_asked_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = InterruptedAudit(spark, tmp_path, monkeypatch)

    def ask() -> None:
        spark.sparkContext.setJobGroup("audit to be cancelled", "audit")
        interrupted.verdicts()

    with ThreadPoolExecutor(1) as other, interrupted.audited:
        asked = other.submit(ask)
        interrupted.pause.reached()
        spark.sparkContext.cancelJobGroup("audit to be cancelled")

        with pytest.raises(Exception, match="cancelled"):
            asked.result()
        assert interrupted.verdicts() == interrupted.expected


@pytest.mark.parametrize("change", ["", "other"])
def test_an_audit_of_copies_that_change_in_its_midst_says_what_it_saw_or_that_it_could_not(
    change: str, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted = InterruptedAudit(spark, tmp_path, monkeypatch, change)
    with ThreadPoolExecutor(1) as other, interrupted.audited:
        verdicts = other.submit(interrupted.verdicts)
        interrupted.pause.reached()

        shutil.rmtree(interrupted.root / "a/t-0")
        for log in (interrupted.root / "a/t-1").glob("*.log"):
            with suppress(FileNotFoundError):
                os.truncate(log, 50)
        interrupted.pause.release()

        gone, cut, whole = verdicts.result()
        findings = interrupted.findings()
    seen = interrupted.expected[0]["verdict"]
    assert whole == interrupted.expected[2]
    # Which of them were examined before depends on how tasks are planned.
    assert gone["verdict"] in {seen, "unknown"}
    assert cut["verdict"] in {seen, "unknown", "damaged", "lagging"}
    assert gone["verdict"] == seen or {kind for kind, partition in findings if partition == 0} & {
        "copy-vanished",
        "copy-unread",
    }
