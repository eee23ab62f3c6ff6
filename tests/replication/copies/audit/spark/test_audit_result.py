"""What an audit's tables say beside the verdicts, and what Python programs do with an audit."""

import shutil
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from logstore import LogFile
from replication.audit import Audit, audit
from replication.base.errors import (
    AuditNotCleanError,
    MissingBrokersError,
    NoHistoryError,
    NotAllowedError,
    WrongTypeError,
)
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog
from tests.replication.copies.audit.snapshot_roots import age, batches, write_root

ELECTED = Path(__file__).parents[4] / "data/elected/quiet-4.3.1.tar.xz"

TABLES = ("partitions", "pairs", "forks", "branches", "findings", "segments", "epochs", "differences", "batches")


@pytest.fixture(scope="module")
def diverged(spark: SparkSession) -> Iterator[Audit]:
    with audit(spark, [replicas("diverged")]) as audited:
        yield audited


@pytest.mark.parametrize("table", ["pairs", "forks", "branches"])
def test_flat_tables_have_the_rows_that_partitions_nest(diverged: Audit, table: str) -> None:
    nested = [
        {"topic": row["topic"], "partition": row["partition"], **each}
        for row in diverged.partitions.toArrow().to_pylist()
        for each in row[table]
    ]

    flat = getattr(diverged, table).drop("run_id", "run_at").toArrow().to_pylist()

    assert sorted(map(str, flat)) == sorted(map(str, nested))
    assert len(flat) > 1


def test_every_row_says_of_which_audit_it_is(diverged: Audit) -> None:
    for name in TABLES:
        table = getattr(diverged, name)
        assert table.columns[-2:] == ["run_id", "run_at"], name
    [run] = diverged.findings.select("run_id", "run_at").distinct().collect()
    assert run.run_id == diverged.run_id
    assert abs(run.run_at.timestamp() - diverged.begun) < 0.001
    assert abs(datetime.now(UTC).timestamp() - diverged.begun) < 3_600


def test_audits_have_names_of_their_own(spark: SparkSession) -> None:
    names = {audit(spark, [replicas("diverged")], topics=["orders"]).run_id for _ in range(2)}

    assert len(names) == 2


def test_epochs_without_a_batch_are_rows_too(spark: SparkSession, tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        root = write_root(tmp_path / name, {"t-0": batches(4)}, node=number)
        (root / "t-0/leader-epoch-checkpoint").write_text("0\n2\n0 0\n7 12\n")

    with audit(spark, [tmp_path]) as audited:
        rows = audited.epochs.where("replica = 'a'").orderBy("epoch").collect()

    assert [(row.epoch, row.checkpoint_start_offset, row.first_offset, row.batches) for row in rows] == [
        (0, 0, 0, 4),
        (7, 12, None, 0),
    ]


def held(root: Path, replica: str, partition: str) -> dict[int, tuple[int, bytes | None, bytes | None]]:
    return {
        record.offset: (batch.leader_epoch, record.key, record.value)
        for file in sorted((root / replica / partition).glob("*.log"))
        for batch in LogFile.open(file).batches()
        for record in batch.records()
    }


def test_differences_are_the_records_on_both_branches_of_a_fork(diverged: Audit) -> None:
    left, right = (held(replicas("diverged"), name, "diverge-0") for name in ("broker-1", "broker-2"))

    rows = diverged.differences.where("topic = 'diverge'").orderBy("offset").collect()

    found = {
        row.offset: (
            None if row.left_leader_epoch is None else (row.left_leader_epoch, row.left_key, row.left_value),
            None if row.right_leader_epoch is None else (row.right_leader_epoch, row.right_key, row.right_value),
        )
        for row in rows
    }
    assert {row.kind for row in rows} == {"forked"}
    assert {(row.left, row.right) for row in rows} == {("broker-1", "broker-2")}
    assert found == {
        offset: (left.get(offset), right.get(offset))
        for offset in sorted({*left, *right})
        if left.get(offset) != right.get(offset)
    }
    assert rows[0].left_timestamp.year == 2026


def test_differences_are_those_of_silent_divergence_and_gaps_but_not_of_a_lag(
    spark: SparkSession, tmp_path: Path
) -> None:
    write_root(tmp_path / "a", {"t-0": batches(8), "u-0": batches(8), "v-0": batches(8)}, node=1)
    other = [*batches(3), *batches(1, start=9, branch="x"), *batches(4, start=12)]
    write_root(tmp_path / "b", {"t-0": other, "u-0": batches(5)}, node=2)
    gap = [each for each in batches(8) if each.base_offset != 12]
    write_root(tmp_path / "b", {"v-0": gap}, node=2)

    with audit(spark, [tmp_path]) as audited:
        rows = audited.differences.orderBy("topic", "offset").collect()

    assert [(row.topic, row.kind, row.offset, row.left_value, row.right_value) for row in rows] == [
        *(("t", "silent-divergence", offset, b"0", b"x0") for offset in (9, 10, 11)),
        *(("v", "missing", offset, b"0", None) for offset in (12, 13, 14)),
    ]


def test_copies_that_agree_have_no_differences(spark: SparkSession, tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        write_root(tmp_path / name, {"t-0": batches(4)}, node=number)

    with audit(spark, [tmp_path]) as audited:
        assert audited.differences.count() == 0
        audited.assert_clean()


def test_what_is_not_clean_is_told_with_its_partitions(diverged: Audit) -> None:
    with pytest.raises(AuditNotCleanError, match=r"diverge-0: forked") as raised:
        diverged.assert_clean(allow={"retention", "lagging"})

    assert any("acknowledged" in line for line in raised.value.lost)
    assert isinstance(raised.value, AssertionError)
    with pytest.raises(NotAllowedError, match=r"a verdict to allow cannot be 'fork'; allowed: .*forked"):
        diverged.assert_clean(allow={"fork"})


def test_verdicts_that_are_allowed_are_clean(spark: SparkSession) -> None:
    with audit(spark, [replicas("diverged")], topics=["orders"]) as audited:
        audited.assert_clean(allow={"retention"})
        with pytest.raises(AuditNotCleanError, match="orders-0: retention"):
            audited.assert_clean()


def verdicts_of(audited: Audit) -> list[tuple[str, int, str]]:
    return sorted((row.topic, row.partition, row.verdict) for row in audited.partitions.collect())


def test_a_history_tells_what_is_new_and_gone(spark: SparkSession, tmp_path: Path) -> None:
    write_root(tmp_path / "a", {"t-0": batches(4)}, node=1)
    write_root(tmp_path / "b", {"t-0": batches(4)}, node=2)
    history = tmp_path / "history"
    with audit(spark, [tmp_path / "a", tmp_path / "b"], history=history) as first:
        assert first.changes is None
        first.keep()
    write_root(tmp_path / "c", {"t-0": [*batches(3), *batches(1, start=9, branch="x")]}, node=3)

    with audit(spark, [tmp_path / "a", tmp_path / "b", tmp_path / "c"], history=history) as second:
        changes = second.changes

    assert changes is not None
    assert changes.since == pytest.approx(first.plan.begun)
    assert changes.new[0] == "t-0: silent-divergence (was identical)"
    assert second.document["history"] == changes.as_json()


def test_an_audit_without_a_history_cannot_be_kept(spark: SparkSession) -> None:
    with audit(spark, [replicas("diverged")], topics=["orders"]) as audited, pytest.raises(NoHistoryError):
        audited.keep()


def test_a_history_in_what_is_audited_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_root(tmp_path / "a", {"t-0": batches(4)}, node=1)
    write_root(tmp_path / "b", {"t-0": batches(4)}, node=2)
    with pytest.raises(NotAllowedError, match="only read"):
        audit(spark, [tmp_path / "a", tmp_path / "b"], history=tmp_path / "a" / "history")


@pytest.mark.parametrize("task_bytes", [None, 1 << 10])
def test_segments_that_an_earlier_audit_has_read_are_not_read_again(
    spark: SparkSession, tmp_path: Path, task_bytes: int | None
) -> None:
    """Whole copies, and copies that are read in parts."""
    for number, name in enumerate("abc"):
        write_root(tmp_path / name, {"t-0": batches(40), "t-1": batches(10)}, node=number)
    age(tmp_path)
    roots, history = [tmp_path / name for name in "abc"], tmp_path / "history"
    with audit(spark, roots, history=history, task_bytes=task_bytes) as first:
        expected = verdicts_of(first)
        assert first.document["metrics"]["bytes_read"] == first.bytes
        first.keep()
    write_root(tmp_path / "d", {"t-0": batches(40), "t-1": batches(9)}, node=4)

    with audit(spark, [*roots, tmp_path / "d"], history=history, task_bytes=task_bytes) as second:
        metrics = second.document["metrics"]
        read = second.segments.where("read_at = run_at").select("replica", "base_offset", "bytes").collect()

    assert metrics["oldest_read"] == pytest.approx(first.plan.begun)
    assert metrics["bytes_read"] == sum(row.bytes for row in read) < metrics["bytes"]
    assert {row.replica for row in read if row.base_offset == 0} == {"d"}, "closed segments of new copies are read"
    with audit(spark, roots, history=history, full=True) as third:
        assert third.document["metrics"]["bytes_read"] == third.bytes
        assert verdicts_of(third) == expected


def test_brokers_that_are_expected_must_be_there(spark: SparkSession) -> None:
    audit(spark, [replicas("diverged")], expected_brokers=["broker-1", 2, "3"]).close()

    with pytest.raises(MissingBrokersError, match="no snapshot of broker broker-4, 7; there are broker-1, broker-2"):
        audit(spark, [replicas("diverged")], expected_brokers=["broker-4", 7, 1])
    with pytest.raises(WrongTypeError, match="expected_brokers cannot be str 'broker-1'"):
        audit(spark, [replicas("diverged")], expected_brokers="broker-1")


def test_whom_kafka_elects_and_what_it_loses_without_a_copy_is_as_in_one_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    with tarfile.open(ELECTED) as archive:
        archive.extractall(tmp_path, filter="data")
    shutil.rmtree(tmp_path / "broker-2/quiet-0")
    roots = sorted(tmp_path.iterdir())
    [expected] = epochlog("advise", *roots, "--json").document["partitions"]

    with audit(spark, roots, topics=["quiet"]) as audited:
        [found] = audited.partitions.drop("run_id", "run_at").toArrow().to_pylist()
        [documented] = audited.document["partitions"]

    assert found == documented == expected
    [empty] = found["without_copy"]
    assert (empty["replica"], found["kafkas_choice"], found["election"]["voters"]) == ("broker-2", "broker-2", [100])
    assert empty["acknowledged_at_most"] >= empty["acknowledged"]["records"] > 0


def test_an_audit_says_in_a_line_what_it_is_of(spark: SparkSession) -> None:
    with audit(spark, [replicas("diverged")], topics=["diverge"]) as audited:
        assert repr(audited) == f"<Audit of broker-1, broker-2, broker-3: 2 copies, {audited.bytes:,} bytes of log>"
        assert "not put together yet" in audited._repr_html_()
        assert "document" not in vars(audited), "to look at it starts nothing"
        assert audited.document["partitions"]

        shown = audited._repr_html_()

    assert "<td>forked</td><td>1</td>" in shown
    assert "<svg" in shown
