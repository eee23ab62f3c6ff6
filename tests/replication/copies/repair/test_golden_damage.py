"""Damage of every planted kind to copies of real clusters, healed from the brokers that were left alone."""

import shutil
from pathlib import Path

import pytest

from logstore.offline.partition_directory import PartitionDirectory
from replication.repair import RepairReport, plan_repair
from tests.data.replicas import LABELS, SNAPSHOTS, damage_kinds, damaged, replicas
from tests.replication.copies.repair.random_damage import logs

HEALED = {
    "batch_length_overrun",
    "duplicate_batch",
    "epoch_checkpoint_beyond_leo",
    "epoch_checkpoint_empty",
    "epoch_checkpoint_missing",
    "epoch_checkpoint_missing_entry",
    "epoch_field_bitflip_middle",
    "garbage_tail",
    "index_non_monotonic",
    "index_wrong_position",
    "missing_index",
    "offset_gap",
    "producer_snapshot_bad_crc",
    "record_bitflip",
    "symlink_escape",
    "timeindex_garbage",
    "timeindex_zero_padded",
    "truncated_tail",
    "txnindex_mismatch",
    "zero_byte_log",
    "zero_tail",
}
"""To what the undamaged copy is, byte for byte, in each of its files."""
LOGS_HEALED = {
    "missing_middle_segment": "the damage also moved the segments' ends",
    "out_of_order_batches": "that broker wrote several batches at once, between which it made no index entries",
    "epoch_checkpoint_unparsable": "an epoch without batches stood in that file alone",
}
"""Byte for byte, and why not what is beside them."""
LEFT = {
    "silent_value_divergence": "another batch there, and both are sound",
    "swapped_segments": "another batch there, and both are sound",
}
"""What nothing proves, and how that is told."""
NO_DAMAGE_TO_A_LOG = {
    "hw_above_leo",
    "hw_checkpoint_unparsable",
    "leftover_deleted",
    "leftover_swap",
    "legit_compaction_differs",
    "legit_epoch_entry_at_leo",
    "legit_retention_differs",
    "missing_partition_dir",
    "recovery_point_above_leo",
    "unknown_file",
}
"""The root's files, whole directories, and what is none of the log: nothing is healed, and logs stay as they are."""


def test_every_kind_is_looked_at() -> None:
    assert sorted([*HEALED, *LOGS_HEALED, *LEFT, *NO_DAMAGE_TO_A_LOG]) == damage_kinds()


def repair(kind: str, place: Path) -> tuple[Path, Path, RepairReport]:
    """Repair a damaged copy: return the undamaged one, the repaired one, and the report."""
    expected = damaged(kind, place / "damaged")
    name = f"{expected['topic']}-{expected['partition']}"
    cluster = replicas(SNAPSHOTS[expected["source_snapshot"]])
    original = cluster / expected["replica"] / name
    others = [each / name for each in cluster.iterdir() if each.name != expected["replica"] and (each / name).is_dir()]
    plan = plan_repair(
        PartitionDirectory.open(place / "damaged" / expected["replica"] / name),
        [PartitionDirectory.open(each) for each in others],
    )
    return original, place / name, plan.write(place / name)


def files(directory: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in directory.iterdir()}


def content(directory: Path) -> bytes:
    return b"".join(each.read_bytes() for each in logs(directory))


@pytest.mark.parametrize("kind", sorted(HEALED))
def test_it_is_healed_in_all_files(kind: str, tmp_path: Path) -> None:
    original, copy, report = repair(kind, tmp_path)
    assert files(copy) == files(original)
    assert not report.is_sound
    assert not report.findings


@pytest.mark.parametrize("kind", LOGS_HEALED)
def test_its_logs_are_healed(kind: str, tmp_path: Path) -> None:
    original, copy, report = repair(kind, tmp_path)
    assert content(copy) == content(original)
    assert not report.left
    assert not report.findings


@pytest.mark.parametrize("kind", LEFT)
def test_it_is_left_and_told(kind: str, tmp_path: Path) -> None:
    _, _, report = repair(kind, tmp_path)
    assert not report.healed
    assert report.left
    assert all(LEFT[kind] in each.why for each in report.left)


@pytest.mark.parametrize("kind", sorted(NO_DAMAGE_TO_A_LOG - {"hw_checkpoint_unparsable", "missing_partition_dir"}))
def test_nothing_of_it_is_healed(kind: str, tmp_path: Path) -> None:
    _, copy, report = repair(kind, tmp_path)
    replica = damaged(kind, tmp_path / "again")["replica"]
    assert files(copy) == files(tmp_path / "again" / replica / copy.name)
    assert not report.healed
    assert not report.made_anew


@pytest.mark.parametrize("label", LABELS)
def test_nothing_is_wrong_with_copies_that_brokers_left(label: str) -> None:
    """Though some lag, have forked, were compacted differently, or lack what retention took."""
    looked_at = 0
    for broker in replicas(label).iterdir():
        for directory in filter(Path.is_dir, broker.iterdir()):
            others = [each / directory.name for each in replicas(label).iterdir() if each != broker]
            opened = [PartitionDirectory.open(each) for each in others if each.is_dir()]
            plan = plan_repair(PartitionDirectory.open(directory), opened)
            assert (plan.healed, plan.left) == ((), ()), directory
            looked_at += 1
    assert looked_at >= 12


class TestACopyWithoutItsTopicsId:
    """A broker would take it for stray."""

    def test_it_gets_the_one_that_all_others_have(self, tmp_path: Path) -> None:
        original, copy, report = self.repaired(tmp_path, [])
        assert report.made_anew == ("partition.metadata",)
        assert report.findings == ()
        assert files(copy) == files(original)

    def test_it_is_still_wrong_where_no_other_has_one(self, tmp_path: Path) -> None:
        _, _, report = self.repaired(tmp_path, ["broker-2", "broker-3"])
        assert [each.kind for each in report.findings] == ["topic-id-missing"]

    @staticmethod
    def repaired(place: Path, robbed: list[str]) -> tuple[Path, Path, RepairReport]:
        cluster = replicas("reconciled")
        shutil.copytree(cluster, place / "cluster")
        for broker in ("broker-1", *robbed):
            (place / "cluster" / broker / "codecs-0" / "partition.metadata").unlink()
        damaged, *others = (
            PartitionDirectory.open(place / "cluster" / broker / "codecs-0")
            for broker in ("broker-1", "broker-2", "broker-3")
            if (place / "cluster" / broker / "codecs-0").is_dir()
        )
        copy = place / "repaired" / "codecs-0"
        copy.parent.mkdir()
        return cluster / "broker-1" / "codecs-0", copy, plan_repair(damaged, others).write(copy)
