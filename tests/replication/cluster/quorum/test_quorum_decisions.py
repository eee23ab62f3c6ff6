"""What an observer makes of a quorum's answers: no log, no socket."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EndOffset, EpochHistory
from replication.cluster.fetcher.decisions.actions import Append, Truncate
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.decisions.fetch_state_machine import Step, follow
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.cluster.quorum.errors import MetadataDivergedError
from replication.cluster.quorum.quorum_decisions import QUORUM_RULES, OtherLeader, after_answer, other_leader
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError, MalformedResponseError
from replication.wire.messages.fetch import FetchedPartition, LeaderIdAndEpoch, SnapshotId

ADDRESS = Address("controller", 9093)
LOG = FollowedLogState(0, 20, 10, EpochHistory([(1, 0), (2, 12), (4, 15)]))
"""Ten offsets are committed; epoch 1 wrote up to 11, epoch 2 up to 14."""


def following(log: FollowedLogState = LOG) -> FetchState:
    return follow(QUORUM_RULES, 5, log)


def diverging(epoch: int, end_offset: int) -> FetchedPartition:
    return FetchedPartition(ErrorCode.NONE, 10, diverging_epoch=EndOffset(epoch, end_offset))


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH]
)
def test_who_else_leads_is_taken_from_the_answer(error: ErrorCode) -> None:
    told = FetchedPartition(error, -1, current_leader=LeaderIdAndEpoch(3, 7))
    assert other_leader(told, {3: ADDRESS}, known_epoch=7) == OtherLeader(3, 7, ADDRESS)
    assert other_leader(told, {4: ADDRESS}, known_epoch=6) == OtherLeader(3, 7, None)


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH]
)
def test_who_leads_in_an_earlier_epoch_than_is_known_is_not_followed(error: ErrorCode) -> None:
    told = FetchedPartition(error, -1, current_leader=LeaderIdAndEpoch(3, 7))
    with pytest.raises(KafkaError, match=error.name):
        other_leader(told, {3: ADDRESS}, known_epoch=8)


def test_the_leaders_own_answer_names_no_other() -> None:
    assert other_leader(FetchedPartition(ErrorCode.NONE, 0), {}, 0) is None


@pytest.mark.parametrize("error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_ID])
def test_an_error_that_names_no_leader_is_raised(error: ErrorCode) -> None:
    with pytest.raises(KafkaError, match=error.name):
        other_leader(FetchedPartition(error, -1), {}, 0)


def test_records_are_appended_and_the_start_of_the_leaders_log_is_not_taken() -> None:
    step = after_answer(following(), LOG, FetchedPartition(ErrorCode.NONE, 15, 9, b"records"))
    assert step == Step(following(), Append(b"records", 15, -1))


def test_what_is_committed_stays_so_under_a_leader_that_does_not_know_it_yet() -> None:
    step = after_answer(following(), LOG, FetchedPartition(ErrorCode.NONE, -1, 0, b""))
    assert isinstance(step, Step)
    assert step.action == Append(b"", 10, -1)


@pytest.mark.parametrize(
    ("told", "offset"),
    [((4, 18), 18), ((2, 14), 14), ((2, 30), 15), ((3, 15), 15), ((1, 10), 10), ((1, 11), 11), ((1, 40), 12)],
)
def test_what_the_leader_does_not_have_is_cut_from_where_the_logs_agree(told: tuple[int, int], offset: int) -> None:
    step = after_answer(following(), LOG, diverging(*told))
    assert isinstance(step, Step)
    assert step.action == Truncate(offset)
    assert step.state.fetch_offset == offset


@pytest.mark.parametrize("told", [(1, 9), (1, 0), (0, 5), (0, 40)])
def test_a_leader_without_what_was_committed_is_not_followed(told: tuple[int, int]) -> None:
    has = f"the leader's log ends at offset {told[1]} of epoch {told[0]};"
    with pytest.raises(MetadataDivergedError, match=f"committed up to offset 10 of epoch 1, but {has}"):
        after_answer(following(), LOG, diverging(*told))


def test_the_error_names_the_epoch_of_the_last_committed_record() -> None:
    log = FollowedLogState(0, 20, 10, EpochHistory([(1, 0), (2, 9), (3, 10)]))
    with pytest.raises(MetadataDivergedError, match="committed up to offset 10 of epoch 2"):
        after_answer(following(log), log, diverging(0, 5))


@pytest.mark.parametrize("told", [(4, 20), (4, 21), (5, 40)])
def test_a_divergence_that_cuts_nothing_is_refused(told: tuple[int, int]) -> None:
    with pytest.raises(MalformedResponseError, match="offset 20 of epoch 4 diverges"):
        after_answer(following(), LOG, diverging(*told))


def test_a_snapshot_is_fetched_if_it_goes_beyond_what_is_committed() -> None:
    further = FetchedPartition(ErrorCode.NONE, 30, snapshot_id=SnapshotId(11, 1))
    assert after_answer(following(), LOG, further) == SnapshotId(11, 1)
    known = FetchedPartition(ErrorCode.NONE, 30, snapshot_id=SnapshotId(10, 1))
    with pytest.raises(MalformedResponseError, match="a snapshot up to offset 10, and 10 follows"):
        after_answer(following(), LOG, known)


@given(st.integers(-1, 6), st.integers(-1, 30))
def test_no_divergence_takes_back_what_is_committed_or_leads_nowhere(epoch: int, end_offset: int) -> None:
    try:
        step = after_answer(following(), LOG, diverging(epoch, end_offset))
    except (MalformedResponseError, MetadataDivergedError):
        return
    assert isinstance(step, Step)
    assert isinstance(step.action, Truncate)
    assert LOG.high_watermark <= step.action.offset < LOG.log_end_offset
