"""A verdict is taken from the history only where all that it depends on is as it was."""

from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest

from logstore.topic_partition import TopicPartition
from replication.copies.audit.examination.copy_examiner import Examiner, Row
from replication.copies.audit.examination.kept.known_verdicts import KnownVerdicts
from replication.copies.audit.pipeline import partition_rows
from replication.copies.audit.pipeline.partition_rows import judge_rows
from replication.copies.audit.snapshots.registered import Registered
from replication.copies.audit.snapshots.snapshot import list_snapshots
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Job
from replication.copies.audit.tables import EXAMINED
from tests.replication.copies.audit.snapshot_roots import batches, write_root

PARTITION = TopicPartition("t", 0)


def examined(place: Path, *counts: int, branch: str = "") -> list[Row]:
    """The rows of copies with so many batches; the last one's are another branch."""
    names = "abc"[: len(counts)]
    roots = [
        write_root(place / name, {"t-0": batches(count, branch=branch if name == names[-1] else "")}, node=node)
        for node, (name, count) in enumerate(zip(names, counts, strict=True))
    ]
    copies = [copy for snapshot in list_snapshots(roots) for copy in snapshot.copies()]
    jobs = [Job(copy.replica, copy.root, copy) for copy in copies]
    return [{**dict.fromkeys(EXAMINED), **Examiner().row(job)} for job in jobs]


@pytest.fixture
def known(tmp_path: Path) -> KnownVerdicts:
    """An empty history."""
    return KnownVerdicts(Storage(str(tmp_path / "verdicts")))


def judged(
    known: KnownVerdicts, rows: list[Row], missing: tuple[str, ...] = (), said: Registered | None = None
) -> bool:
    """Whether a partition was judged anew, rather than known; what is known has to be the same."""
    given = {PARTITION: missing} if missing else {}
    registered = {PARTITION: said} if said else {}
    with patch.object(partition_rows, "judge", wraps=partition_rows.judge) as judge:
        row = judge_rows(rows, given, registered, known)
    assert row == judge_rows(rows, given, registered)
    return bool(judge.called)


def test_a_verdict_is_come_to_once(tmp_path: Path, known: KnownVerdicts) -> None:
    rows = examined(tmp_path, 8, 8, 8)
    assert judged(known, rows)
    assert not judged(known, rows)
    assert not judged(known, rows[::-1])
    assert judged(replace(known, full=True), rows)


def test_it_is_come_to_anew_from_anything_else(tmp_path: Path, known: KnownVerdicts) -> None:
    rows = examined(tmp_path, 8, 8, 8)
    for changed in (rows[:2], [rows[0]], examined(tmp_path / "other", 8, 8, 7)):
        assert judged(known, rows)
        assert judged(known, changed)
    assert judged(known, rows, missing=("d",))
    assert judged(known, rows, said=Registered("AAAAAAAAAAAAAAAAAAAAAA"))


@pytest.mark.parametrize("last", [8, 6])
def test_what_logs_were_read_for_is_looked_at_each_time(tmp_path: Path, known: KnownVerdicts, last: int) -> None:
    rows = examined(tmp_path, 8, last, branch="other" if last == 8 else "")
    assert judged(known, rows)
    assert judged(known, rows)


def test_a_copy_that_could_not_be_read_makes_it_unknown_each_time(tmp_path: Path, known: KnownVerdicts) -> None:
    rows = examined(tmp_path, 8, 8)
    rows[1] |= {"summary": None, "digests": None}
    assert judged(known, rows)
    assert judged(known, rows)


def test_a_file_that_is_damaged_is_written_anew(tmp_path: Path, known: KnownVerdicts) -> None:
    rows = examined(tmp_path, 8, 8)
    assert judged(known, rows)
    [file] = known.place.path.rglob("*.verdict")
    file.write_bytes(file.read_bytes()[:-1])
    assert judged(known, rows)
    assert not judged(known, rows)


def test_where_it_cannot_be_kept_it_is_come_to_again(tmp_path: Path, known: KnownVerdicts) -> None:
    known.place.path.write_bytes(b"a file where a directory belongs")
    rows = examined(tmp_path, 8, 8)
    assert judged(known, rows)
    assert judged(known, rows)
