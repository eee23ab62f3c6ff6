"""Every kind of damage is found where it is, and nothing else is called damage."""

from pathlib import Path
from typing import Any

import pytest

from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import Finding, verify_root
from tests.data.replicas import LABELS, damage_kinds, damaged, replicas

NEEDS_OTHER_REPLICAS = {"silent_value_divergence"}
"""Sound by itself: same offsets, same epoch, valid checksum, other bytes. Only several replicas together tell."""

FOLLOW_ON = {
    ".index/.timeindex disagreement": {"index-entry-wrong"},
    "leader-epoch-checkpoint disagreement": {"epoch-start-differs", "epoch-without-batches", "epoch-beyond-log-end"},
    "checkpoint above LEO": {"cleaner-beyond-log-end", "log-start-beyond-log-end"},
    "snapshot above LEO": {"snapshot-beyond-log-end"},
    "HW above LEO": {"high-watermark-beyond-log-end"},
    "recovery point above LEO": {"recovery-point-beyond-log-end"},
    "missing .index": {"index-missing"},
    "epoch not monotonic": {"epoch-not-monotonic"},
    "gap": {"offset-gap", "missing-segment"},
    "cross-replica divergence": set(),
    "replica lags": set(),
}


KINDS = {
    "batch_length_overrun": {"unreadable-bytes"},
    "duplicate_batch": {"duplicate-batch"},
    "epoch_checkpoint_beyond_leo": {"epoch-beyond-log-end"},
    "epoch_checkpoint_empty": {"epoch-checkpoint-empty"},
    "epoch_checkpoint_missing": {"epoch-checkpoint-missing"},
    "epoch_checkpoint_missing_entry": {"epoch-entry-missing"},
    "epoch_checkpoint_unparsable": {"epoch-checkpoint-unparsable"},
    "epoch_field_bitflip_middle": {"epoch-not-monotonic"},
    "garbage_tail": {"unreadable-bytes"},
    "hw_above_leo": {"high-watermark-beyond-log-end"},
    "hw_checkpoint_unparsable": {"checkpoint-unparsable"},
    "index_non_monotonic": {"index-entry-wrong"},
    "index_wrong_position": {"index-entry-wrong"},
    "leftover_deleted": {"left-over-deleted"},
    "leftover_swap": {"left-over-swap"},
    "missing_index": {"index-missing"},
    "missing_middle_segment": {"missing-segment"},
    "missing_partition_dir": {"partition-missing"},
    "offset_gap": {"offset-gap"},
    "out_of_order_batches": {"offsets-go-backwards"},
    "producer_snapshot_bad_crc": {"snapshot-unreadable"},
    "record_bitflip": {"corrupt-batch"},
    "recovery_point_above_leo": {"recovery-point-beyond-log-end"},
    "symlink_escape": {"link-leaves-root"},
    "timeindex_garbage": {"index-entry-wrong"},
    "timeindex_zero_padded": {"index-zero-tail"},
    "truncated_tail": {"torn-batch"},
    "txnindex_mismatch": {"aborted-transaction-differs"},
    "unknown_file": {"unknown-file"},
    "zero_byte_log": {"empty-segment"},
    "zero_tail": {"zero-tail"},
}
"""What the finding about the damage itself is called."""


def findings_by_replica(root: Path) -> dict[str, list[Finding]]:
    brokers = sorted(place for place in root.iterdir() if place.is_dir())
    return {broker.name: list(verify_root(OfflineLogDirectory.open(broker), records=True)) for broker in brokers}


def is_the_damage(finding: Finding, expected: dict[str, Any]) -> bool:
    place = (finding.topic, finding.partition, finding.file)
    return (
        finding.kind in KINDS.get(expected["kind"], ())
        and place == (expected["topic"], expected["partition"], expected["file"])
        and finding.severity.value in expected["severity_range"]
        and within(finding.position, expected["position_range"])
        and within(finding.offset, expected["offset_range"])
    )


def within(value: int | None, bounds: list[int] | None) -> bool:
    return bounds is None or (value is not None and bounds[0] <= value <= bounds[1])


@pytest.mark.parametrize("label", LABELS)
def test_real_replicas_have_no_damage(label: str) -> None:
    for findings in findings_by_replica(replicas(label)).values():
        assert [finding for finding in findings if finding.severity.needs_attention] == []


@pytest.mark.parametrize("kind", damage_kinds())
def test_damage_is_found_where_it_is(kind: str, tmp_path: Path) -> None:
    expected = damaged(kind, tmp_path / "replicas")
    findings = findings_by_replica(tmp_path / "replicas")
    found = findings.pop(expected["replica"])
    assert [each for others in findings.values() for each in others if each.severity.needs_attention] == []
    if expected["legitimate"] or kind in NEEDS_OTHER_REPLICAS:
        assert found == []
        return
    the_damage = [finding for finding in found if is_the_damage(finding, expected)]
    # Exchanged logs are each sound: what tells is that no index fits.
    assert the_damage or kind == "swapped_segments"
    accepted = set().union(*(FOLLOW_ON[name] for name in expected["acceptable_also"]))
    unexpected = [finding for finding in found if finding not in the_damage and finding.kind not in accepted]
    assert unexpected == []
    assert found


def test_every_finding_says_what_it_means(tmp_path: Path) -> None:
    damaged("truncated_tail", tmp_path)
    for finding in findings_by_replica(tmp_path)["broker-3"]:
        assert len(finding.message) > 40
        assert finding.file
        assert set(finding.as_json()) == {
            "kind",
            "severity",
            "topic",
            "partition",
            "file",
            "position",
            "offset",
            "message",
        }
