"""What a follower would truncate under a leader, before it happens."""

from collections.abc import Mapping

from epoch import EpochHistory, Truncation, TruncationProtocol
from epoch.history import MAX_EPOCH
from epoch.truncation import TruncationOutcome, truncate_against
from logstore.offline.recovered_log import RecoveredLog
from replication.base.errors import NoEpochLeftError, UnknownHighWatermarkError
from replication.base.metadata_partition import METADATA_PARTITION
from replication.copies.planning.damage import Damage
from replication.copies.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.copies.planning.metadata_plan import plan_metadata
from replication.copies.planning.raft_log import RaftLog
from replication.copies.planning.replica import Replica, holding, in_common
from replication.copies.planning.rereading import judge_copies
from replication.copies.planning.truncation_plan import Relation, TruncationPlan


def plan(
    leader: RecoveredLog, follower: RecoveredLog, protocol: TruncationProtocol = TruncationProtocol.KIP_320
) -> TruncationPlan:
    """Decide what `follower` truncates once `leader` is elected.

    The leader is assumed to be just elected: it starts a new epoch at its log end, as Kafka's leaders do. `relation` is
    judged by epochs, whatever `protocol` says; that records of one epoch and offset are the same is the protocol's
    own promise, which only a comparison of bytes can check.

    Raises UnknownHighWatermarkError if the follower's high watermark decides and no file has it, and
    NoEpochLeftError if no epoch is left for the leader.
    """
    outcome = _decide(leader, follower, protocol)
    removed = follower.removed_by_truncation(outcome.truncate_to)
    topic, partition = follower.partition.topic_partition
    return TruncationPlan(
        topic,
        partition,
        protocol,
        tuple(outcome.rounds),
        outcome.truncate_to,
        follower.log_end_offset,
        relation(leader, follower),
        removed.records,
        removed.bytes,
        Damage.of(leader),
        Damage.of(follower),
    )


def plan_replicas(
    leader: Replica,
    follower: Replica,
    protocol: TruncationProtocol = TruncationProtocol.KIP_320,
    *,
    on_error: OnError = stop,
) -> list[TruncationPlan]:
    """Plan every partition that both replicas hold; `on_error` decides whether one that fails is left out.

    The metadata's partition is planned by the rules of its quorum, whatever `protocol` says.
    """

    def planned_by(logs: Mapping[str, RecoveredLog]) -> TruncationPlan:
        led, followed = logs[leader.name], logs[follower.name]
        if led.partition.topic_partition == METADATA_PARTITION:
            return plan_metadata(RaftLog.load(led.partition), RaftLog.load(followed.partition))
        return plan(led, followed, protocol)

    plans = []
    for partition in in_common([leader, follower]):
        try:
            planned = judge_copies(partition, holding([leader, follower], partition), planned_by, on_error)
        except PARTITION_ERRORS as error:
            on_error(partition, error)
            continue
        if planned:
            plans.append(planned)
    return plans


def _decide(leader: RecoveredLog, follower: RecoveredLog, protocol: TruncationProtocol) -> TruncationOutcome:
    elected = elected_history(leader.history, follower.history, leader.log_end_offset)

    def outcome(high_watermark: int) -> TruncationOutcome:
        truncation = Truncation(protocol, follower.history, follower.log_end_offset, high_watermark)
        return truncate_against(elected, leader.log_end_offset, truncation)

    if follower.high_watermark is not None:
        return outcome(follower.high_watermark)
    lowest, highest = outcome(follower.log_start_offset), outcome(follower.log_end_offset)
    if lowest.truncate_to != highest.truncate_to:
        raise UnknownHighWatermarkError(follower.partition.topic_partition, follower.partition.path.parent)
    return lowest


def elected_history(leader: EpochHistory, follower: EpochHistory, log_end_offset: int) -> EpochHistory:
    """Return the leader's history right after its election: a new epoch starts at its log end."""
    known = [epoch for epoch in (leader.latest_epoch, follower.latest_epoch) if epoch is not None]
    newest = max(known, default=-1)
    if newest == MAX_EPOCH:
        raise NoEpochLeftError(newest)
    return leader.assign(newest + 1, log_end_offset)


def relation(leader: RecoveredLog, follower: RecoveredLog) -> Relation:
    """Judge from where the common part of two logs ends, by their epochs."""
    end = common_end(leader, follower)
    if end >= follower.log_end_offset:
        same = leader.log_end_offset == follower.log_end_offset
        return Relation.IDENTICAL if same else Relation.LAGGING
    return Relation.AHEAD if end >= leader.log_end_offset else Relation.FORKED


def common_end(leader: RecoveredLog, follower: RecoveredLog) -> int:
    """Return where the logs diverge, by their leader epochs: what the newest protocol would truncate to."""
    lineages = leader.lineage(), follower.lineage()
    if not all(lineages):
        # Without epochs nothing tells the logs apart but where they end.
        return min(leader.log_end_offset, follower.log_end_offset)
    elected = elected_history(*lineages, leader.log_end_offset)
    # Where both have epochs, these decide, so that any high watermark will do.
    truncation = Truncation(TruncationProtocol.KIP_320, lineages[1], follower.log_end_offset, follower.log_end_offset)
    return truncate_against(elected, leader.log_end_offset, truncation).truncate_to
