"""What a follower in the metadata's quorum does under a leader: it truncates, or takes a snapshot in place of its log.

The leader compares epochs as it does for any partition (KIP-595), but a follower to which its log does not reach back
fetches a snapshot (KIP-630). Snapshots are made of what is committed, and that is never to be taken back.
"""

from typing import NamedTuple

from epoch import EndOffset, TruncationProtocol
from epoch.truncation import Round
from replication.base.errors import CannotFollowError
from replication.copies.planning.damage import Damage
from replication.copies.planning.raft_log import LogPosition, RaftLog, common_end
from replication.copies.planning.truncation_plan import Relation, TruncationPlan


class _Outcome(NamedTuple):
    rounds: tuple[Round, ...]
    truncate_to: int
    snapshot: LogPosition | None


def plan_metadata(leader: RaftLog, follower: RaftLog) -> TruncationPlan:
    """Decide what `follower` does to its log of the metadata once `leader` is elected.

    Raises CannotFollowError where Kafka's follower would make no progress, and NoEpochLeftError.
    """
    outcome = _converse(leader.elected([follower]), follower)
    kept = outcome.truncate_to if outcome.snapshot is None else outcome.snapshot.end_offset
    removed = follower.recovered.removed_by_truncation(kept)
    topic, partition = follower.partition.topic_partition
    return TruncationPlan(
        topic,
        partition,
        TruncationProtocol.KIP_320,
        outcome.rounds,
        outcome.truncate_to,
        follower.end_offset,
        _relation(leader, follower),
        removed.records,
        removed.bytes,
        Damage.of(leader.recovered),
        Damage.of(follower.recovered),
        outcome.snapshot,
        max((each.end_offset for each in follower.snapshots), default=0),
    )


def answer(leader: RaftLog, position: LogPosition) -> EndOffset | LogPosition | None:
    """Return what a leader answers a follower whose log goes so far: None where the two agree (validateOffsetAndEpoch).

    An EndOffset where they diverge; the snapshot to fetch where the leader's log does not reach back so far.
    """
    epoch, offset = position
    if leader.start_offset == offset == 0:
        return None
    if leader.snapshots:
        earliest = leader.snapshots[0]
        begins_elsewhere = offset == leader.start_offset and epoch != earliest.epoch
        if offset < leader.start_offset or begins_elsewhere or epoch < earliest.epoch:
            return leader.snapshots[-1]
    end = leader.end_offset_for(epoch)
    return end if end.epoch != epoch or end.end_offset < offset else None


def truncation_offset(follower: RaftLog, diverging: EndOffset) -> int:
    """Return where a follower truncates that knows where the leader's epoch ends (Kafka: truncateToEndOffset)."""
    if diverging.epoch == 0:
        return min(diverging.end_offset, follower.end_offset)
    own = follower.end_offset_for(diverging.epoch)
    return min(own.end_offset, diverging.end_offset) if own.epoch == diverging.epoch else own.end_offset


def _converse(leader: RaftLog, follower: RaftLog) -> _Outcome:
    """Fetch until the leader agrees."""
    rounds: list[Round] = []
    while True:
        fetched = LogPosition(follower.last_epoch, follower.end_offset)
        told = answer(leader, fetched)
        if told is None:
            return _Outcome(tuple(rounds), follower.end_offset, None)
        if isinstance(told, LogPosition):
            if told <= fetched:
                raise CannotFollowError(follower.partition.path, fetched, f"only a snapshot of {told}")
            return _Outcome(tuple(rounds), follower.start_offset, told)
        rounds.append(Round(fetched.epoch, told))
        offset = truncation_offset(follower, told)
        left = follower.truncated(offset)
        goes_on = follower.start_offset <= offset < follower.end_offset
        if not goes_on or left.is_empty_beside_a_snapshot:
            raise CannotFollowError(follower.partition.path, fetched, str(LogPosition(*told)))
        follower = left


def _relation(leader: RaftLog, follower: RaftLog) -> Relation:
    common = common_end(leader, follower)
    if common is None:
        # Where neither tells, the one that is behind is taken to lack only what came later.
        common = min(leader.position, follower.position).end_offset
    if common >= follower.end_offset:
        return Relation.IDENTICAL if leader.position == follower.position else Relation.LAGGING
    return Relation.AHEAD if common >= leader.end_offset else Relation.FORKED
