"""A copy is examined wherever and in how many parts it is read; what fails or changes is a finding."""

import shutil
from pathlib import Path

import pytest

from replication.audit.snapshot import find_snapshots
from tests.data.replicas import damaged, replicas
from tests.replication.audit.one_process import Rows, audit_here, examine_tasks, judge_all, plan, told
from tests.replication.audit.snapshots import batches, write_root

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


@pytest.mark.parametrize("label", ["diverged", "reconciled", "healed"])
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
    assert [(row["verdict"], row["missing"]) for row in partitions] == [("missing", ["a"]), ("identical", [])]


@pytest.mark.parametrize("target", [1 << 30, 100], ids=["whole", "in parts"])
def test_a_log_that_shrinks_or_grows_after_it_was_listed_is_a_finding(roots: tuple[Path, Path], target: int) -> None:
    tasks = plan(find_snapshots(roots), target)
    active = max((roots[0] / "t-0").glob("*.log"))
    active.write_bytes(active.read_bytes()[: active.stat().st_size // 4 * 3])
    grown = max((roots[1] / "t-1").glob("*.log"))
    grown.write_bytes(grown.read_bytes() + min((roots[1] / "t-1").glob("*.log")).read_bytes())

    _, findings = judge_all(examine_tasks(tasks))

    changed = {each for each in kinds(findings) if each[1] == "snapshot-changed"}
    assert changed == {("a", "snapshot-changed", 0), ("b", "snapshot-changed", 1)}
    assert {each["file"] for each in findings if each["kind"] == "snapshot-changed"} == {active.name, grown.name}


@pytest.mark.parametrize("target", [1 << 30, 100], ids=["whole", "in parts"])
def test_a_segment_that_vanishes_after_it_was_listed_is_a_finding(roots: tuple[Path, Path], target: int) -> None:
    tasks = plan(find_snapshots(roots), target)
    first = min((roots[0] / "t-0").glob("*.log"))
    first.unlink()

    _, findings = judge_all(examine_tasks(tasks))

    assert ("a", "snapshot-changed", 0) in kinds(findings)


def test_all_copies_of_a_partition_may_vanish(roots: tuple[Path, Path]) -> None:
    tasks = plan(find_snapshots(roots))
    for root in roots:
        shutil.rmtree(root / "t-0")

    partitions, findings = judge_all(examine_tasks(tasks))

    assert partitions[0]["verdict"] == "missing"
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
