"""What groups have committed, as a real broker wrote it, and who is left without a place by a truncation."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EpochEntry
from logstore.log_file import LogFile
from replication.audit.consumer_offsets import (
    CommittedOffset,
    CommittedOffsets,
    GroupPartition,
    read_committed,
    stranded_by,
)
from replication.audit.verdict import Branch, PairVerdict, PartitionVerdict, Verdict
from replication.planning import Relation

LOG = Path(__file__).parents[2] / "data/consumer-offsets/__consumer_offsets-0/00000000000000000000.log"


def test_the_last_commits_count_those_of_transactions_once_they_are_committed() -> None:
    assert read_committed([LOG]) == {
        GroupPartition("billing", "diverge", 0): CommittedOffset(410, 0),
        GroupPartition("report", "diverge", 0): CommittedOffset(250, 0),
        GroupPartition("mail", "hwloss", 0): CommittedOffset(302, 0),
        GroupPartition("ledger", "diverge", 0): CommittedOffset(333, -1),
    }


def test_a_transaction_that_is_still_open_has_committed_nothing() -> None:
    offsets = CommittedOffsets()
    with LogFile.open(LOG) as log:
        for batch in log.batches():
            if not batch.is_control:
                offsets.add(batch)
    assert GroupPartition("ledger", "diverge", 0) not in offsets.known


@given(data=st.data())
def test_damaged_commits_are_passed_over(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    content = bytearray(LOG.read_bytes())
    for _ in range(data.draw(st.integers(1, 20))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = tmp_path_factory.getbasetemp() / LOG.name
    damaged.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    assert isinstance(read_committed([damaged, damaged.with_name("gone.log")]), dict)


BRANCHES = (
    Branch("broker-1", 0, 420, 420, 420, 42_000, (EpochEntry(0, 0), EpochEntry(1, 200))),
    Branch("broker-2", 0, 350, 300, 350, 35_000, (EpochEntry(0, 0), EpochEntry(1, 200), EpochEntry(3, 300))),
)


def verdict(recommended: str | None = "broker-2", truncate_to: int | None = 300) -> PartitionVerdict:
    forked = (Verdict.FORKED,)
    pairs = (
        PairVerdict("broker-2", "broker-1", Relation.FORKED, truncate_to, 120, 12_000, forked, 300),
        PairVerdict("broker-1", "broker-2", Relation.FORKED, 300, 50, 5_000, forked, 300),
    )
    return PartitionVerdict("diverge", 0, forked, pairs, recommended, BRANCHES, (), (), (), ())


def committed_to(offset: int, epoch: int = -1) -> list[tuple[int, int]]:
    places = [(GroupPartition("g", "diverge", 0), CommittedOffset(offset, epoch))]
    return [(each.committed_offset, each.truncate_to) for each in stranded_by(verdict(), places)]


@pytest.mark.parametrize(
    ("offset", "epoch", "shared"),
    [
        (300, 1, None),  # all that was read is on the leader too
        (301, 1, 300),  # epoch 1 ended at 300 there
        (350, 3, None),  # read from the leader itself
        (351, 3, 350),  # more than the leader has
        (330, 2, 300),  # an epoch that the leader has never seen, between two that it has
        (330, 9, 300),  # one newer than all of them: the lowest cut
        (300, -1, None),  # the consumer did not say
        (301, -1, 300),
    ],
)
def test_a_group_is_stranded_by_the_epoch_that_it_has_read(offset: int, epoch: int, shared: int | None) -> None:
    assert committed_to(offset, epoch) == ([] if shared is None else [(offset, shared)])


def test_nobody_is_stranded_where_no_leader_can_be_recommended() -> None:
    places = [(GroupPartition("g", "diverge", 0), CommittedOffset(400, 1))]
    assert not list(stranded_by(verdict(recommended=None), places))


def test_the_finding_names_group_offset_and_cut() -> None:
    places = [(GroupPartition("billing", "diverge", 0), CommittedOffset(410, 1))]
    (stranded,) = stranded_by(verdict(), places)
    finding = stranded.finding()
    assert (finding.replica, finding.finding.topic, finding.finding.offset) == ("broker-2", "diverge", 410)
    assert "billing" in finding.finding.message
    assert "300" in finding.finding.message
