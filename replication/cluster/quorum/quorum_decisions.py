"""An observer's decisions about the quorum's answers: values in, values out; no log, no network, no clock.

What to truncate and where to go on is decided as for any other partition, in
`replication.cluster.fetcher.decisions.fetch_state_machine`. Here is what only a quorum has: a leader who is asked for
by fetching, snapshots, and records that are never taken back once they are committed.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from epoch import EndOffset
from replication.cluster.fetcher.decisions.actions import Append
from replication.cluster.fetcher.decisions.fetch_rules import REPLICA_RULES, FetchRules
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.decisions.fetch_state_machine import Step, after_fetch
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.cluster.quorum.errors import MetadataDivergedError
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.errors import MalformedResponseError, error_for
from replication.wire.messages.fetch import FetchedPartition, SnapshotId

QUORUM_RULES: Final[FetchRules] = REPLICA_RULES
"""A quorum's leader finds the divergence in a Fetch; there is no other way to ask (KIP-595)."""

_NO_LOG_START: Final = -1
"""What the leader has deleted stays here until a snapshot replaces it: nothing else says what was in it."""
_LEADER_ERRORS: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH}
)


class OtherLeader(NamedTuple):
    """Who leads the quorum instead of whom was asked, or in another epoch than thought."""

    leader_id: int
    leader_epoch: int
    address: Address | None
    """None where that is not given, as before Kafka 3.7."""


def other_leader(fetched: FetchedPartition, leaders: Mapping[int, Address], known_epoch: int) -> OtherLeader | None:
    """Return who leads, if another; None where the answer is the leader's. Raises KafkaError for any other error.

    So it does where whoever answers knows of no epoch so late as one that is known here: it has just started, or is cut
    off, and whom it takes for the leader is so no more (Kafka: KafkaRaftClient.maybeHandleCommonResponse).
    """
    if fetched.error in _LEADER_ERRORS and fetched.current_leader is not None:
        leader_id, leader_epoch = fetched.current_leader
        if leader_epoch >= known_epoch:
            return OtherLeader(leader_id, leader_epoch, leaders.get(leader_id))
    if fetched.error is not ErrorCode.NONE:
        raise error_for(fetched.error, "Fetch of the metadata")
    return None


def after_answer(state: FetchState, log: FollowedLogState, fetched: FetchedPartition) -> Step | SnapshotId:
    """Handle the leader's answer: return what to do to the log, or which snapshot to fetch in its place.

    Raises MalformedResponseError for what would lead nowhere, however often it is fetched; MetadataDivergedError where
    the leader lacks what was committed.
    """
    if fetched.snapshot_id is not None:
        if fetched.snapshot_id.end_offset <= log.high_watermark:
            raise MalformedResponseError(
                f"the metadata's leader offers a snapshot up to offset {fetched.snapshot_id.end_offset:,}, and "
                f"{log.high_watermark:,} follows"
            )
        return fetched.snapshot_id
    if fetched.diverging_epoch is not None:
        return _after_divergence(state, log, fetched.diverging_epoch)
    # A leader that has just begun does not know yet what is committed: that never goes back.
    high_watermark = max(fetched.high_watermark, log.high_watermark)
    answer = Append(fetched.records, high_watermark, _NO_LOG_START)
    return after_fetch(state, QUORUM_RULES, log, ErrorCode.NONE, answer, now=0)


def _after_divergence(state: FetchState, log: FollowedLogState, told: EndOffset) -> Step:
    step = after_fetch(state, QUORUM_RULES, log, ErrorCode.NONE, told, now=0)
    end_offset = step.state.fetch_offset
    if end_offset < log.high_watermark:
        epoch = log.history.epoch_for_offset(log.high_watermark - 1)
        raise MetadataDivergedError(log.high_watermark, log.latest_epoch if epoch is None else epoch, told)
    if end_offset >= log.log_end_offset:
        raise MalformedResponseError(
            f"the metadata's leader says that offset {log.log_end_offset:,} of epoch {log.latest_epoch} diverges, and "
            f"its own log goes on to {told.end_offset:,}"
        )
    return step
