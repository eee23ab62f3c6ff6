"""Replicas of real clusters: what Kafka forked is forked, at the offset and epoch where it did, and nothing else."""

from dataclasses import dataclass
from typing import Any

import pytest

from logstore.verify import Finding, Severity
from replication.copies.audit.judgement.verdict import PartitionVerdict, Verdict
from tests.data.replicas import LABELS, cross, replicas
from tests.replication.copies.audit.copies import examine_all, judge_all

FORKED_AT = {"diverged": 300, "diverged-4.4.0": 30}
HARMLESS = {Verdict.IDENTICAL, Verdict.RETENTION, Verdict.COMPACTION, Verdict.LAGGING}


@dataclass(frozen=True)
class Audited:
    """What was found in one set of replicas, and what is known of it."""

    label: str
    verdicts: dict[str, PartitionVerdict]
    errors: list[Finding]

    @property
    def truth(self) -> dict[tuple[str, str, str], dict[str, Any]]:
        """By partition, leader and follower."""
        truth = {}
        for partition, known in cross(self.label)["partitions"].items():
            for pair, expected in known["pairs"].items():
                leader, follower = pair.split("->")
                truth[partition, leader, follower] = expected
        return truth

    @property
    def forked(self) -> set[str]:
        return {key[0] for key, pair in self.truth.items() if pair["classification"] == "forked"}


@pytest.fixture(scope="module", params=LABELS)
def audited(request: pytest.FixtureRequest) -> Audited:
    examined = examine_all(replicas(request.param))
    verdicts = {str(partition): verdict for partition, verdict in judge_all(examined).items()}
    findings = [each.finding for _, examination in examined for each in examination.findings]
    findings += [each.finding for verdict in verdicts.values() for each in verdict.findings]
    return Audited(request.param, verdicts, [each for each in findings if each.severity is Severity.ERROR])


def test_every_pair_is_as_its_bytes_are(audited: Audited) -> None:
    pairs = {
        (partition, pair.leader, pair.follower): pair
        for partition, verdict in audited.verdicts.items()
        for pair in verdict.pairs
    }
    truth = audited.truth
    assert set(pairs) == set(truth)
    for key, expected in truth.items():
        pair = pairs[key]
        assert pair.relation.value == expected["classification"], key
        assert (Verdict.FORKED in pair.verdicts) == (expected["classification"] == "forked"), key
        assert (Verdict.LAGGING in pair.verdicts) == (expected["classification"] in {"lagging", "ahead"}), key
        assert pair.truncate_to == expected["truncation_offset"], key
        assert pair.records_lost == expected["records_lost"], key
        assert pair.bytes_lost == expected["bytes_lost"], key
        if expected["classification"] == "forked":
            assert pair.first_difference == expected["first_differing_offset"], key


def test_exactly_what_kafka_forked_is_forked(audited: Audited) -> None:
    forks = {
        (partition, fork.offset): {(fork.left, fork.left_epoch), (fork.right, fork.right_epoch)}
        for partition, verdict in audited.verdicts.items()
        for fork in verdict.forks
    }
    if audited.label in FORKED_AT:
        branches = {("broker-1", 4), ("broker-2", 5)}
        assert forks == {(partition, FORKED_AT[audited.label]): branches for partition in ("diverge-0", "hwloss-0")}
    else:
        assert forks == {}


def test_nothing_but_forks_is_worse_than_lagging(audited: Audited) -> None:
    forked = {partition for partition, verdict in audited.verdicts.items() if verdict.verdict is Verdict.FORKED}
    assert forked == audited.forked
    assert all(set(audited.verdicts[partition].verdicts) <= HARMLESS for partition in set(audited.verdicts) - forked)


def test_no_file_has_an_error(audited: Audited) -> None:
    assert audited.errors == []
