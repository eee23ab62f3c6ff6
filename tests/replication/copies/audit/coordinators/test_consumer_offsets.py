"""What groups have committed, as a real broker wrote it, and who is left without a place by a truncation."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EpochEntry
from logstore.batch.record import Record
from logstore.offline.log_file import LogFile
from logstore.topic_partition import TopicPartition
from replication.copies.audit.coordinators.commits import read_positions
from replication.copies.audit.coordinators.consumer_offsets import (
    CommittedOffset,
    CommittedOffsets,
    GroupPartition,
    stranded_by,
)
from replication.copies.audit.judgement.recommendation import Recommendation
from replication.copies.audit.judgement.verdict import Branch, PairVerdict, PartitionVerdict, Verdict
from replication.copies.audit.snapshots.foretold_election import UNTOLD
from replication.copies.audit.snapshots.registered import ReadPosition
from replication.planning import Relation

LOG = Path(__file__).parents[4] / "data/consumer-offsets/__consumer_offsets-0/00000000000000000000.log"


def read(path: Path, *, markers: bool = True) -> CommittedOffsets:
    offsets = CommittedOffsets()
    with LogFile.open(path) as log:
        for batch in log.batches():
            for record in batch.records() if markers or not batch.is_control else ():
                offsets.add(
                    record,
                    producer_id=batch.producer_id,
                    is_transactional=batch.is_transactional,
                    is_control=batch.is_control,
                )
    return offsets


def test_the_last_commits_count_those_of_transactions_once_they_are_committed() -> None:
    assert read(LOG).known == {
        GroupPartition("billing", "diverge", 0): CommittedOffset(410, 0),
        GroupPartition("report", "diverge", 0): CommittedOffset(250, 0),
        GroupPartition("mail", "hwloss", 0): CommittedOffset(302, 0),
        GroupPartition("ledger", "diverge", 0): CommittedOffset(333, -1),
    }


def test_a_transaction_that_is_still_open_has_committed_nothing() -> None:
    assert GroupPartition("ledger", "diverge", 0) not in read(LOG, markers=False).known


@given(st.binary(max_size=40) | st.none(), st.binary(max_size=40) | st.none(), st.integers(0, 3), st.integers(0, 5))
def test_commits_that_cannot_be_read_are_passed_over(
    key: bytes | None, value: bytes | None, key_version: int, value_version: int
) -> None:
    offsets = CommittedOffsets()
    keys = [key, None if key is None else key_version.to_bytes(2) + key]
    values = [value, None if value is None else value_version.to_bytes(2) + value]
    for each_key in keys:
        for each_value in values:
            record = Record(0, 0, each_key, each_value)
            offsets.add(record, producer_id=-1, is_transactional=False, is_control=False)
    assert all(-(2**63) <= committed.offset < 2**63 for committed in offsets.known.values())


TRUNK = (EpochEntry(0, 0), EpochEntry(1, 200))
BRANCHES = (
    Branch("broker-1", "/copies/broker-1/t-0", 0, 420, 420, 420, 42_000, TRUNK),
    Branch("broker-2", "/copies/broker-2/t-0", 0, 350, 300, 350, 35_000, (*TRUNK, EpochEntry(3, 300))),
)


def verdict(recommended: str | None = "broker-2", truncate_to: int | None = 300) -> PartitionVerdict:
    forked = (Verdict.FORKED,)
    pairs = (
        PairVerdict("broker-2", "broker-1", Relation.FORKED, truncate_to, 120, 12_000, forked, 300),
        PairVerdict("broker-1", "broker-2", Relation.FORKED, 300, 50, 5_000, forked, 300),
    )
    recommendation = Recommendation(UNTOLD, "broker-2", recommended, ())
    return PartitionVerdict("diverge", 0, forked, pairs, recommendation, BRANCHES, (), (), (), (), ())


def committed_to(offset: int, epoch: int = -1) -> list[tuple[int, int]]:
    places = [(GroupPartition("g", "diverge", 0), CommittedOffset(offset, epoch))]
    return [(each.committed_offset, each.truncate_to) for each in stranded_by(verdict().as_json(), places)]


@pytest.mark.parametrize(
    ("offset", "epoch", "shared"),
    [
        (300, 1, None),  # all that was read is on the leader too
        (301, 1, 300),  # epoch 1 ended at 300 there
        (350, 3, None),  # read from the leader itself
        (351, 3, 350),  # more than the leader has
        (330, 2, 300),  # an epoch that the leader has never seen, between two that it has
        (330, 9, 300),  # one newer than all of them: the lowest cut
        (290, 0, 200),  # epoch 0 ended at 200
        (300, -1, None),  # the consumer did not say
        (301, -1, 300),
    ],
)
def test_a_group_is_stranded_by_the_epoch_that_it_has_read(offset: int, epoch: int, shared: int | None) -> None:
    assert committed_to(offset, epoch) == ([] if shared is None else [(offset, shared)])


def test_an_epoch_older_than_the_leader_knows_is_judged_by_the_lowest_cut() -> None:
    partition = verdict().as_json()
    partition["branches"][1]["lineage"] = [{"epoch": 1, "start_offset": 200}, {"epoch": 3, "start_offset": 300}]
    places = [(GroupPartition("g", "diverge", 0), CommittedOffset(offset, 0)) for offset in (290, 310)]
    assert [each.committed_offset for each in stranded_by(partition, places)] == [310]


def test_nobody_is_stranded_where_no_leader_can_be_recommended() -> None:
    places = [(GroupPartition("g", "diverge", 0), CommittedOffset(400, 1))]
    assert not list(stranded_by(verdict(recommended=None).as_json(), places))


def test_the_finding_names_group_offset_and_cut() -> None:
    places = [(GroupPartition("billing", "diverge", 0), CommittedOffset(410, 1))]
    (stranded,) = stranded_by(verdict().as_json(), places)
    finding = stranded.finding()
    assert (finding.replica, finding.finding.topic, finding.finding.offset) == ("broker-2", "diverge", 410)
    assert "billing" in finding.finding.message
    assert "300" in finding.finding.message


def test_an_offset_beyond_every_copy_is_told_as_such() -> None:
    partition = {**verdict(truncate_to=None).as_json(), "pairs": []}
    places = [(GroupPartition("g", "diverge", 0), CommittedOffset(offset, -1)) for offset in (350, 400, 430)]
    told = {each.committed_offset: each.finding().finding.message for each in stranded_by(partition, places)}
    assert {offset: "No copy here has what lies from 420 on" in message for offset, message in told.items()} == {
        400: False,
        430: True,
    }


def test_only_a_commit_that_names_an_epoch_tells_how_far_a_partition_was_read() -> None:
    place, other = GroupPartition("g", "t", 0), GroupPartition("h", "t", 0)
    commits = [(place, CommittedOffset(7, 1)), (other, CommittedOffset(9, 1)), (other, CommittedOffset(5, 0))]
    assert read_positions([*commits, (place, CommittedOffset(90, -1))]) == {
        TopicPartition("t", 0): (ReadPosition(9, 1), ReadPosition(5, 0))
    }
