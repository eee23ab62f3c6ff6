"""The audit on Spark gives what its functions give in one process, whatever happens to its tasks."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from logstore.verify import Finding
from replication.audit import audit
from replication.base.errors import (
    NotAllowedError,
    NothingChosenError,
    NothingInCommonError,
    SameBrokerError,
    WrongTypeError,
)
from replication.copies.audit.snapshots.arguments import master_in
from replication.copies.audit.snapshots.snapshot import find_snapshots, list_snapshots
from replication.copies.audit.spark.sessions.session import session_for_a_while, start_session
from replication.copies.audit.tables import RUN
from tests.data.replicas import replicas, truth
from tests.logstore.batches import batch, record
from tests.replication.copies.audit.one_process import Rows, audit_here, told
from tests.replication.copies.audit.snapshot_roots import batches, write_root
from tests.replication.copies.audit.spark.shuffle_bytes import shuffle_bytes


def rows_of(table: Any) -> Rows:
    rows = table.drop(*RUN).toArrow().to_pylist()
    return sorted(rows, key=lambda row: (row.get("topic") or "", row.get("partition") or 0))


def test_real_replicas_are_judged_as_in_one_process(spark: SparkSession) -> None:
    expected, findings = audit_here(replicas("diverged"))
    before = shuffle_bytes(spark)

    with audit(spark, [replicas("diverged")]) as audited:
        assert rows_of(audited.partitions) == expected
        assert told(rows_of(audited.findings)) == told(findings)
        assert audited.segments.count() == in_truth("segments")
        assert {row.replica for row in audited.epochs.collect()} == {"broker-1", "broker-2", "broker-3"}
        assert audited.batches.where("topic = 'orders'").count() == in_truth("batches", "orders")
        assert audited.batches.count() == in_truth("batches"), "filters of one query are not those of the next"

    assert shuffle_bytes(spark) > before, "what has gone between stages is counted"


def test_a_session_that_was_there_before_goes_on(spark: SparkSession) -> None:
    with session_for_a_while() as same:
        assert same is spark
    assert spark.range(3).count() == 3


def test_a_session_of_another_thread_goes_on_too(spark: SparkSession) -> None:
    def use() -> None:
        assert SparkSession.getActiveSession() is None
        with session_for_a_while():
            pass

    with ThreadPoolExecutor(1) as other:
        other.submit(use).result()
    assert spark.range(3).count() == 3


def test_what_was_listed_already_is_not_listed_again(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = find_snapshots([replicas("diverged")])
    monkeypatch.delattr("replication.copies.audit.pipeline.audit_plan.find_snapshots")
    with audit(spark, [replicas("diverged")], found=listed) as audited:
        assert audited.snapshots == tuple(listed)
        assert audited.bytes == sum(copy.bytes for snapshot in listed for copy in snapshot.copies())


def in_truth(what: str, topic: str = "") -> int:
    copies = [
        told
        for broker in truth("diverged")["brokers"].values()
        for name, told in broker["partitions"].items()
        if topic in name
    ]
    return sum(told[what] if isinstance(told[what], int) else len(told[what]) for told in copies)


def test_each_audit_reads_again_and_is_closed_by_itself(spark: SparkSession, tmp_path: Path) -> None:
    verdicts = lambda audited: [row["verdict"] for row in rows_of(audited.partitions)]  # noqa: E731
    write_root(tmp_path / "a", {"t-0": batches(6, branch="one")}, node=1)
    write_root(tmp_path / "b", {"t-0": batches(6, branch="one")}, node=2)
    first = audit(spark, [tmp_path])
    same = audit(spark, [tmp_path])
    assert verdicts(first) == verdicts(same) == ["identical"]
    sizes = [root.partitions for snapshot in first.snapshots for root in snapshot.roots]
    shutil.rmtree(tmp_path / "b")
    changed = [*batches(5, branch="one"), *batches(1, start=15, branch="two")]
    write_root(tmp_path / "b", {"t-0": changed}, node=2)

    second = audit(spark, [tmp_path])
    assert [root.partitions for snapshot in second.snapshots for root in snapshot.roots] == sizes
    assert verdicts(second) == ["silent-divergence"]
    second.close()
    shutil.rmtree(tmp_path / "b")
    first.close()

    assert verdicts(same) == ["identical"], "it is kept, though others were closed and the files are gone"
    assert same.segments.count() == 4
    same.close()


TOO_MANY_TASKS = {"task_bytes": 1}
WRONG = [
    ({"snapshots": "/backup"}, WrongTypeError, r"snapshots cannot be str '/backup'; allowed: a list of \[NAME=\]URIs"),
    ({"snapshots": Path("/backup")}, WrongTypeError, "snapshots cannot be PosixPath"),
    ({"snapshots": b"/backup"}, WrongTypeError, "snapshots cannot be bytes"),
    ({"snapshots": None}, WrongTypeError, "snapshots cannot be NoneType"),
    ({"snapshots": []}, NotAllowedError, r"snapshots cannot be \[\]; allowed: a list of .*, one at least"),
    ({"snapshots": [1]}, WrongTypeError, "a member of snapshots cannot be int 1"),
    ({"topics": "orders"}, WrongTypeError, "topics cannot be str 'orders'; allowed: a list of names or patterns"),
    ({"topics": [b"orders"]}, WrongTypeError, "a member of topics cannot be bytes"),
    ({"sample": 5}, NotAllowedError, "sample cannot be 5; allowed: a share of the partitions, above 0 and up to 1"),
    ({"sample": 0}, NotAllowedError, "above 0 and up to 1"),
    ({"sample": float("nan")}, NotAllowedError, "above 0 and up to 1"),
    ({"sample": "0.1"}, WrongTypeError, "sample cannot be str '0.1'"),
    ({"sample": True}, WrongTypeError, "sample cannot be bool True"),
    ({"task_bytes": 0}, NotAllowedError, "task_bytes cannot be 0; allowed: None, or a whole number from"),
    (TOO_MANY_TASKS, NotAllowedError, "with which .* bytes make 20,000 tasks at most"),
    ({"task_bytes": -1}, NotAllowedError, "task_bytes cannot be -1"),
    ({"task_bytes": 1e9}, WrongTypeError, "task_bytes cannot be float"),
    ({"replication_factor": 0}, NotAllowedError, "replication_factor cannot be 0"),
    ({"records": "no"}, WrongTypeError, "records cannot be str 'no'; allowed: True or False"),
]


@pytest.mark.parametrize(("argument", "error", "told"), WRONG, ids=[str(argument) for argument, _, _ in WRONG])
def test_arguments_that_mean_nothing_are_refused(argument: dict[str, Any], error: type[Exception], told: str) -> None:
    no_session: Any = None  # nothing is asked of Spark before

    for snapshots in (replicas("diverged"), replicas("diverged") / "broker-1", "/nowhere"):
        if argument == TOO_MANY_TASKS and snapshots != replicas("diverged"):
            continue  # how many tasks that makes is known once the snapshots are listed
        with pytest.raises(error, match=told):
            audit(no_session, **{"snapshots": [snapshots], **argument})


@pytest.mark.parametrize("master", ["nope", "local[", "localhost:7077", "spark:", "http", ""])
def test_what_is_no_master_is_refused_before_java_starts(master: str) -> None:
    with pytest.raises(NotAllowedError, match=r"master cannot be '.*'; allowed: spark://HOST:PORT, "):
        start_session(master)


@pytest.mark.parametrize(
    "master", ["local", "local[2]", "local[*,4]", "local-cluster[2,1,1024]", "yarn", "spark://a:1,b:1", "sc://a", None]
)
def test_what_is_a_master_is_taken(master: str | None) -> None:
    assert master_in(master) == master


def test_lists_of_snapshots_are_no_strings_anywhere() -> None:
    for find in (find_snapshots, list_snapshots):
        with pytest.raises(WrongTypeError, match="allowed: a list of"):
            find(str(replicas("diverged")))


def test_large_copies_are_read_in_parts(spark: SparkSession) -> None:
    expected, findings = audit_here(replicas("reconciled"))

    with audit(spark, [replicas("reconciled")], records=True, task_bytes=1 << 19) as audited:
        assert any(job.ranges for task in audited.plan.tasks for job in task)
        assert rows_of(audited.partitions) == expected
        assert told(rows_of(audited.findings)) == told(findings)


def test_a_snapshot_that_changes_under_the_audit_is_a_finding(spark: SparkSession, tmp_path: Path) -> None:
    partitions = {"t-0": batches(8), "t-1": batches(8), "t-2": batches(8)}
    for number, name in enumerate("ab"):
        write_root(tmp_path / name, partitions, node=number)

    with audit(spark, [tmp_path]) as audited:
        shutil.rmtree(tmp_path / "a/t-0")
        min((tmp_path / "a/t-1").glob("*.log")).unlink()
        verdicts = {row["partition"]: row["verdict"] for row in rows_of(audited.partitions)}
        kinds = {(row["kind"], row["partition"]) for row in rows_of(audited.findings)}

    assert ("copy-vanished", 0) in kinds
    assert verdicts[0] == "unknown"
    assert verdicts[1] == "damaged", "it was read again, as it is by then"
    assert verdicts[2] == "identical"


def test_replicas_that_agree_shuffle_a_thousandth_of_their_bytes_at_most(spark: SparkSession, tmp_path: Path) -> None:
    value = os.urandom(16 << 10)
    log = b"".join(
        batch(records=[record(offset_delta=0, value=value)], base_offset=offset, leader_epoch=0)
        for offset in range(4096)
    )
    for number, name in enumerate("abc"):
        root = write_root(tmp_path / name, {"t-0": batches(1)}, node=number)
        file = min((root / "t-0").glob("*.log"))
        file.unlink()
        if name == "a":
            file.write_bytes(log)
        else:
            os.link(tmp_path / "a/t-0" / file.name, file)
    before = shuffle_bytes(spark)

    with audit(spark, [tmp_path], task_bytes=16 << 20) as audited:
        assert [row.verdict for row in audited.partitions.collect()] == ["identical"]
        audited.findings.count()
        assert shuffle_bytes(spark) - before <= audited.bytes // 1024
        assert audited.bytes == 3 * len(log)


def test_topics_and_samples_look_at_a_part(spark: SparkSession) -> None:
    with audit(spark, [replicas("diverged")], topics=["div*", "txns"]) as audited:
        assert [(row["topic"], row["partition"]) for row in rows_of(audited.partitions)] == [
            ("diverge", 0),
            ("txns", 0),
        ]
        assert {row.topic for row in audited.batches.select("topic").distinct().collect()} == {"diverge", "txns"}
    with audit(spark, [replicas("diverged")], sample=0.5) as half:
        again = audit(spark, [replicas("diverged")], sample=0.5)
        assert 0 < len(set(half.plan.tasks[0])) < 28
        assert half.plan.tasks == again.plan.tasks


def test_what_cannot_be_compared_is_said_before_anything_is_read(spark: SparkSession, tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(1)}, node=1)

    with pytest.raises(NothingInCommonError, match="a cannot be compared with anything; name at least two"):
        audit(spark, [root])
    with pytest.raises(SameBrokerError):
        audit(spark, [root, f"other={root}"])
    with pytest.raises(NothingChosenError, match="topics nonsense; the snapshots hold the topics __transaction"):
        audit(spark, [replicas("diverged")], topics=["nonsense"])


def test_findings_have_the_fields_of_verify_and_the_replica(spark: SparkSession) -> None:
    with audit(spark, [replicas("diverged")]) as audited:
        assert set(audited.findings.columns) == {"replica", *Finding.__dataclass_fields__, *RUN}
