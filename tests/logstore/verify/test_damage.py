"""Every kind of damage is found where it is, and nothing else is called damage."""

from pathlib import Path
from typing import Any

import pytest

from logstore.log_root import LogRoot
from logstore.verify import Finding, verify_root
from tests.data.replicas import damage_kinds, damaged, replicas

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


def findings_by_replica(root: Path) -> dict[str, list[Finding]]:
    brokers = sorted(place for place in root.iterdir() if place.is_dir())
    return {broker.name: list(verify_root(LogRoot.open(broker), records=True)) for broker in brokers}


def is_the_damage(finding: Finding, expected: dict[str, Any]) -> bool:
    place = (finding.topic, finding.partition, finding.file)
    return (
        place == (expected["topic"], expected["partition"], expected["file"])
        and finding.severity.value in expected["severity_range"]
        and within(finding.position, expected["position_range"])
        and within(finding.offset, expected["offset_range"])
    )


def within(value: int | None, bounds: list[int] | None) -> bool:
    return value is None or bounds is None or bounds[0] <= value <= bounds[1]


@pytest.mark.parametrize("label", ["diverged", "reconciled", "healed"])
def test_real_replicas_have_no_damage(label: str) -> None:
    for findings in findings_by_replica(replicas(label)).values():
        assert [finding for finding in findings if finding.severity.is_damage] == []


@pytest.mark.parametrize("kind", damage_kinds())
def test_damage_is_found_where_it_is(kind: str, tmp_path: Path) -> None:
    expected = damaged(kind, tmp_path / "replicas")
    findings = findings_by_replica(tmp_path / "replicas")
    found = findings.pop(expected["replica"])
    assert [each for others in findings.values() for each in others if each.severity.is_damage] == []
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
