"""Audits on one machine: the rows that an audit with Spark gives, to the last field."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bench.audit_cluster import make
from replication.audit import Audit, LocalAudit, audit, audit_locally
from replication.base.errors import (
    CopyUnreadableError,
    NotAllowedError,
    NothingChosenError,
    SnapshotChangedError,
    UnreadableLocationError,
    WrongTypeError,
)
from replication.copies.audit.local import auditing
from replication.copies.workers.worker_pool import WorkerPool
from tests.campaign import Campaign
from tests.data.replicas import damage_kinds, damaged, replicas
from tests.replication.copies.audit.random_clusters import write_clusters
from tests.replication.copies.audit.snapshot_roots import age, batches, write_root

CAMPAIGN = Campaign("audit: random clusters by both engines", full=10_000, share=30)
DAMAGES = Campaign("audit: damaged replicas by both engines", full=36, share=3)
OFFSETS = Path(__file__).parents[4] / "data/consumer-offsets/__consumer_offsets-0"
AT_ONCE = 250
"""Clusters that one audit looks at, as topics of their own."""
PIECE = 700
"""Bytes: some of the copies in the smallest share have more."""
TABLES = ("partitions", "pairs", "forks", "branches", "findings", "segments", "epochs", "batches", "differences")
OF_THE_RUN = ("run_id", "run_at", "read_at")
SMALL = {"size": 20 * 42 * 16_384, "partitions": 20}


def rows_of(audited: Audit | LocalAudit, name: str) -> list[str]:
    table = getattr(audited, name)
    table = table if isinstance(table, pa.Table) else table.toArrow()
    kept = table.drop_columns([name for name in OF_THE_RUN if name in table.column_names])
    return sorted(map(str, kept.to_pylist()))


def document_of(audited: Audit | LocalAudit) -> dict[str, Any]:
    """Without what differs between any two runs."""
    document = dict(audited.document)
    metrics = {name: value for name, value in document["metrics"].items() if name.startswith(("find", "part", "cop"))}
    return {**document, "history": None, "metrics": metrics, "findings": sorted(map(str, document["findings"]))}


def ensure_equal(one: Audit | LocalAudit, other: Audit | LocalAudit) -> None:
    for name in TABLES:
        assert rows_of(one, name) == rows_of(other, name), name
    assert document_of(one) == document_of(other)


def ensure_engines_agree(spark: SparkSession, roots: list[Path], **options: Any) -> LocalAudit:
    here = audit_locally(roots, **options)
    with audit(spark, roots, **options) as there:
        ensure_equal(here, there)
        for name in TABLES:
            assert getattr(here, name).schema.names == getattr(there, name).columns, name
    return here


@pytest.mark.parametrize("label", ["reconciled", "healed"])
def test_real_replicas_give_the_same_rows(spark: SparkSession, label: str) -> None:
    audited = ensure_engines_agree(spark, [replicas(label)], records=label == "reconciled")
    assert audited.partitions.num_rows > 3


def test_forked_replicas_give_the_same_rows_and_the_same_consumers_beyond_truncations(
    spark: SparkSession, tmp_path: Path
) -> None:
    copies = shutil.copytree(replicas("diverged"), tmp_path / "copies")
    for broker in ("broker-1", "broker-2"):
        shutil.copytree(OFFSETS, copies / broker / OFFSETS.name)
    audited = ensure_engines_agree(spark, [copies])
    assert {each["group"] for each in audited.document["consumer_offsets"]} == {"billing", "ledger", "mail"}
    assert audited.differences.num_rows > 200


def test_what_groups_have_read_counts_as_acknowledged_in_the_same_way(spark: SparkSession, tmp_path: Path) -> None:
    """Of `billing` the golden log says that it has read `diverge-0` up to 410, in epoch 0."""
    for node, count in ((1, 140), (2, 100)):
        root = write_root(tmp_path / f"broker-{node}", {"diverge-0": batches(count)}, node=node)
        shutil.copytree(OFFSETS, root / OFFSETS.name)
    audited = ensure_engines_agree(spark, [tmp_path / "broker-1", tmp_path / "broker-2"])
    [partition] = [each for each in audited.document["partitions"] if each["topic"] == "diverge"]
    [lagging] = [each for each in partition["candidates"] if each["replica"] == "broker-2"]
    assert (lagging["lost"]["records"], lagging["acknowledged"]["records"]) == (120, 110)
    assert audited.document["consumer_offsets"] == [], "nothing is beyond the copy that should lead"


def test_damaged_replicas_give_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    kinds = sorted(damage_kinds(), key=lambda kind: random.Random(f"{DAMAGES.seed}-{kind}").random())
    for kind in kinds[: DAMAGES.count]:
        damaged(kind, tmp_path / kind)
        ensure_engines_agree(spark, [tmp_path / kind])
        shutil.rmtree(tmp_path / kind)
    DAMAGES.report(DAMAGES.count)


def test_a_cluster_with_planted_defects_gives_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    roots = make(tmp_path / "cluster", SMALL["size"], SMALL["partitions"])
    audited = ensure_engines_agree(spark, roots)
    assert len(set(audited.partitions["verdict"].to_pylist())) > 4


def test_random_clusters_give_the_same_rows_in_one_pass_and_in_pieces(spark: SparkSession, tmp_path: Path) -> None:
    for first in range(0, CAMPAIGN.count, AT_ONCE):
        place = tmp_path / str(first)
        roots = write_clusters(place, CAMPAIGN.seed, range(first, min(first + AT_ONCE, CAMPAIGN.count)))
        records = random.Random(f"{CAMPAIGN.seed}-{first}").random() < 0.5
        here = ensure_engines_agree(spark, roots, records=records)
        ensure_equal(here, audit_locally(roots, records=records, workers=2, task_bytes=PIECE))
        with audit(spark, roots, records=records, task_bytes=PIECE) as there:
            assert any(job.ranges for task in there.plan.tasks for job in task)
            ensure_equal(here, there)
        shutil.rmtree(place)
    CAMPAIGN.report(CAMPAIGN.count)


def test_a_history_spares_what_either_engine_has_read(spark: SparkSession, tmp_path: Path) -> None:
    for number, name in enumerate("ab"):
        write_root(tmp_path / name, {"t-0": batches(20)}, node=number)
    age(tmp_path)
    roots, history = [tmp_path / "a", tmp_path / "b"], tmp_path / "history"
    first = audit_locally(roots, history=history)
    first.keep()
    with audit(spark, roots, history=history) as second:
        second.keep()
        ensure_equal(first, second)
        assert second.document["metrics"]["bytes_read"] < first.document["metrics"]["bytes_read"] == first.bytes
        assert second.document["metrics"]["oldest_read"] == pytest.approx(first.begun)
    third = audit_locally(roots, history=history)
    assert third.changes is not None
    assert third.changes.since == pytest.approx(second.begun)
    assert third.document["metrics"]["bytes_read"] == second.document["metrics"]["bytes_read"]


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize("change", [truncate, Path.unlink, lambda file: shutil.rmtree(file.parent)])
def test_what_is_read_again_is_refused_where_a_copy_has_changed_since(
    change: Callable[[Path], object], spark: SparkSession, tmp_path: Path
) -> None:
    copies = shutil.copytree(replicas("diverged"), tmp_path / "copies")
    here = audit_locally([copies], topics=["diverge"])
    with audit(spark, [copies], topics=["diverge"]) as there:
        assert there.differences.count() == here.differences.num_rows > 100
        change(max((copies / "broker-2/diverge-0").glob("*.log")))
        refused = "diverge-0.*(have changed|cannot be read|no such)"
        for audited in (here, there):
            with pytest.raises((SnapshotChangedError, UnreadableLocationError), match=refused):
                _ = audited.batches
        with pytest.raises(CopyUnreadableError, match="diverge-0 of broker-2 could be examined but not read again"):
            list(here.difference_rows())
        with pytest.raises(PySparkException, match="diverge-0 of broker-2 could be examined but not read again"):
            there.differences.collect()


def test_little_work_is_done_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []

    def pool(workers: int) -> WorkerPool:
        started.append(workers)
        return WorkerPool(workers)

    monkeypatch.setattr(auditing, "WorkerPool", pool)
    audit_locally([replicas("diverged")])
    audit_locally([replicas("diverged")], workers=1)
    assert started == [0, 1]


def test_the_progress_adds_up_to_all_bytes() -> None:
    told: list[int] = []
    audited = audit_locally([replicas("diverged")], workers=2, task_bytes=1 << 18, progress=told.append)
    assert sum(told) == audited.bytes
    assert len(told) == len(audited.plan.tasks) > 5


@pytest.mark.parametrize("workers", [-1, 1.5, True, "2"])
def test_a_number_of_workers_that_cannot_be_is_refused(workers: Any) -> None:
    with pytest.raises((NotAllowedError, WrongTypeError), match="from 0 on"):
        audit_locally([replicas("diverged")], workers=workers)


def test_topics_that_are_not_there_are_named() -> None:
    with pytest.raises(NothingChosenError, match="odrers"):
        audit_locally([replicas("diverged")], topics=["odrers"])
