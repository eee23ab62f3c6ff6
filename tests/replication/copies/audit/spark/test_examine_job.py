"""Rows of examinations go to Spark in batches: many small ones in one, large ones not all at once."""

from pathlib import Path

import pyarrow as pa
import pytest

from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.snapshots.snapshot import find_snapshots
from replication.copies.audit.snapshots.work import Job, packed
from replication.copies.audit.spark import examine_job
from replication.copies.audit.spark.examine_job import examining
from replication.copies.audit.tables import EXAMINED
from tests.replication.copies.audit.snapshot_roots import batches, write_root

COPIES = 5


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    names = [f"t-{number}" for number in range(COPIES)]
    roots = [write_root(tmp_path / name, dict.fromkeys(names, batches(3))) for name in ("one", "two")]
    snapshot, _ = find_snapshots(roots)
    return [Job(copy.replica, copy.root, copy) for copy in snapshot.copies()]


@pytest.mark.parametrize(("batch_bytes", "expected"), [(1 << 30, [COPIES]), (1, [1] * COPIES)])
def test_batches_have_all_rows_in_order(
    jobs: list[Job], monkeypatch: pytest.MonkeyPatch, batch_bytes: int, expected: list[int]
) -> None:
    monkeypatch.setattr(examine_job, "BATCH_BYTES", batch_bytes)
    numbers = iter([pa.RecordBatch.from_pydict({"id": [1, 0]})])
    found = list(examining([packed(tuple(jobs[2:])), packed(tuple(jobs[:2]))], Examiner)(numbers))
    assert [batch.num_rows for batch in found] == expected
    rows = [row for batch in found for row in batch.to_pylist()]
    assert [row["copy"] for row in rows] == [Examiner().row(job)["copy"] for job in jobs]
    assert all(list(row) == list(EXAMINED) for row in rows)
