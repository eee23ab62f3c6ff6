"""A copy is examined wherever and in how many parts it is read; what fails or changes is a finding."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.copies.audit.examination import copy_examiner
from replication.copies.audit.replica_finding import ReplicaFinding
from replication.copies.audit.snapshots.snapshot import find_snapshots
from replication.copies.audit.snapshots.work import Copy
from tests.data.replicas import LABELS, damaged, replicas
from tests.replication.copies.audit.one_process import Rows, audit_here, examine_tasks, judge_all, plan, told
from tests.replication.copies.audit.snapshot_roots import batches, write_root

DAMAGED_LOGS = {
    "batch_length_overrun",
    "duplicate_batch",
    "epoch_field_bitflip_middle",
    "garbage_tail",
    "missing_middle_segment",
    "offset_gap",
    "out_of_order_batches",
    "record_bitflip",
    "silent_value_divergence",
    "swapped_segments",
    "truncated_tail",
    "zero_byte_log",
    "zero_tail",
}


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    partitions = {"t-0": batches(20), "t-1": batches(20)}
    return write_root(tmp_path / "a", partitions, node=1), write_root(tmp_path / "b", partitions, node=2)


def kinds(findings: Rows) -> set[tuple[str, str, int | None]]:
    return {(each["replica"], each["kind"], each["partition"]) for each in findings if each["severity"] != "info"}


def as_told(partitions: Rows, findings: Rows) -> tuple[Rows, list[tuple[str, ...]]]:
    return partitions, told(findings)


@pytest.mark.parametrize("label", LABELS)
def test_pieces_tell_what_the_whole_tells(label: str) -> None:
    partitions, findings = audit_here(replicas(label))
    from_pieces = audit_here(replicas(label), target=100_000)

    assert from_pieces[0] == partitions
    assert told(from_pieces[1]) == told(findings)


@pytest.mark.parametrize("kind", sorted(DAMAGED_LOGS))
def test_pieces_find_the_damage_that_the_whole_has(kind: str, tmp_path: Path) -> None:
    damaged(kind, tmp_path)
    partitions, findings = audit_here(tmp_path, records=True)
    from_pieces = audit_here(tmp_path, target=100_000, records=True)

    assert from_pieces[0] == partitions
    assert told(from_pieces[1]) == told(findings)


def test_copies_that_agree_are_identical(roots: tuple[Path, Path]) -> None:
    partitions, findings = audit_here(*roots)

    assert [row["verdict"] for row in partitions] == ["identical", "identical"]
    assert {kind for _, kind, _ in kinds(findings)} == {"index-missing"}, "the test writes none"


@pytest.mark.parametrize("target", [1 << 30, 100], ids=["whole", "in parts"])
def test_a_copy_that_vanishes_after_it_was_listed_is_a_finding(roots: tuple[Path, Path], target: int) -> None:
    tasks = plan(find_snapshots(roots), target)
    shutil.rmtree(roots[0] / "t-0")

    partitions, findings = judge_all(examine_tasks(tasks))

    assert ("a", "copy-vanished", 0) in kinds(findings)
    assert [(row["verdict"], row["unread"]) for row in partitions] == [("unknown", ["a"]), ("identical", [])]
    assert partitions[0]["recommended"] is None


@pytest.mark.parametrize("target", [1 << 30, 100], ids=["whole", "in parts"])
def test_a_log_that_changes_after_it_was_listed_is_read_as_it_is_by_then(roots: tuple[Path, Path], target: int) -> None:
    tasks = plan(find_snapshots(roots), target)
    active = max((roots[0] / "t-0").glob("*.log"))
    active.write_bytes(active.read_bytes()[: active.stat().st_size // 4 * 3])
    grown = max((roots[1] / "t-1").glob("*.log"))
    grown.write_bytes(grown.read_bytes() + min((roots[1] / "t-1").glob("*.log")).read_bytes())

    assert as_told(*judge_all(examine_tasks(tasks))) == as_told(*audit_here(*roots))


@pytest.mark.parametrize("target", [1 << 30, 100], ids=["whole", "in parts"])
def test_a_log_that_changes_each_time_it_is_read_is_unknown(
    roots: tuple[Path, Path], target: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = plan(find_snapshots(roots), target)
    active = max((roots[0] / "t-0").glob("*.log"))
    looks, real = [], copy_examiner.changes

    def changing(copy: Copy) -> Iterator[ReplicaFinding]:
        if copy.root.endswith("/a") and copy.topic_partition.partition == 0:
            looks.append(copy)
            with open(active, "ab") as file:
                file.write(bytes(100))
        return real(copy)

    monkeypatch.setattr(copy_examiner, "changes", changing)
    partitions, findings = judge_all(examine_tasks(tasks))

    assert len(looks) >= 3
    assert [(row["verdict"], row["unread"]) for row in partitions] == [("unknown", ["a"]), ("identical", [])]
    assert not {"lagging", "identical"} & set(partitions[0]["verdicts"])
    assert ("a", "snapshot-changed", 0) in kinds(findings)


@pytest.mark.parametrize("target", [1 << 30, 100], ids=["whole", "in parts"])
def test_a_segment_that_vanishes_after_it_was_listed_is_not_there(roots: tuple[Path, Path], target: int) -> None:
    tasks = plan(find_snapshots(roots), target)
    first = min((roots[0] / "t-0").glob("*.log"))
    first.unlink()

    assert as_told(*judge_all(examine_tasks(tasks))) == as_told(*audit_here(*roots))


def test_all_copies_of_a_partition_may_vanish(roots: tuple[Path, Path]) -> None:
    tasks = plan(find_snapshots(roots))
    for root in roots:
        shutil.rmtree(root / "t-0")

    partitions, findings = judge_all(examine_tasks(tasks))

    assert partitions[0]["verdict"] == "unknown"
    assert {("a", "copy-vanished", 0), ("b", "copy-vanished", 0)} <= kinds(findings)


def test_a_root_that_vanishes_is_a_finding(roots: tuple[Path, Path]) -> None:
    tasks = plan(find_snapshots(roots))
    shutil.rmtree(roots[0])

    _, findings = judge_all(examine_tasks(tasks))

    assert ("a", "file-unreadable", None) in kinds(findings)


def test_a_roots_own_files_are_checked(roots: tuple[Path, Path]) -> None:
    (roots[0] / "recovery-point-offset-checkpoint").write_text("nonsense")

    _, findings = audit_here(*roots)

    assert ("a", "checkpoint-unparsable", None) in kinds(findings)
