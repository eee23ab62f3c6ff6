"""What a follower would truncate under a leader, before it happens."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from epoch import EpochHistory, Truncation, TruncationProtocol
from epoch.history import MAX_EPOCH
from epoch.truncation import Round, TruncationOutcome, truncate_against
from logstore.offline.recovered_log import RecoveredLog
from replication.errors import NoEpochLeftError, UnknownHighWatermarkError
from replication.planning.damage import Damage
from replication.planning.failures import PARTITION_ERRORS, OnError, stop
from replication.planning.replica import Replica, holding, in_common
from replication.planning.rereading import judge_copies


class Relation(StrEnum):
    """How a follower's log relates to its leader's, by who led which offsets."""

    IDENTICAL = "identical"
    LAGGING = "lagging"
    """The follower only lacks records at its end."""
    AHEAD = "ahead"
    """The follower only has extra records at its end."""
    FORKED = "forked"
    """Each has records at its end that the other lacks."""


@dataclass(frozen=True, slots=True)
class TruncationPlan:
    """What one partition's follower does when it starts to follow. Records and bytes are of whole batches."""

    topic: str
    partition: int
    protocol: TruncationProtocol
    rounds: tuple[Round, ...]
    truncate_to: int
    log_end_offset: int
    """The follower's, before it truncates."""
    relation: Relation
    records_lost: int
    bytes_lost: int
    leader_damage: Damage | None = None
    follower_damage: Damage | None = None

    @property
    def is_costly(self) -> bool:
        """Whether records are lost, or will be once a newer protocol finds the fork."""
        return self.records_lost > 0 or self.relation is Relation.FORKED

    def as_json(self) -> dict[str, Any]:
        """Return the plan as `epochlog plan --json` prints it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "protocol": self.protocol.value,
            "rounds": [
                {
                    "requested_epoch": round_.requested_epoch,
                    "answer_epoch": round_.answer.epoch,
                    "answer_end_offset": round_.answer.end_offset,
                }
                for round_ in self.rounds
            ],
            "truncate_to": self.truncate_to,
            "log_end_offset": self.log_end_offset,
            "relation": self.relation.value,
            "records_lost": self.records_lost,
            "bytes_lost": self.bytes_lost,
            "leader_damage": self.leader_damage and self.leader_damage.as_json(),
            "follower_damage": self.follower_damage and self.follower_damage.as_json(),
        }


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
    """Plan every partition that both replicas hold; `on_error` decides whether one that fails is left out."""
    plans = []
    for partition in in_common([leader, follower]):
        try:
            planned = judge_copies(
                partition,
                holding([leader, follower], partition),
                lambda logs: plan(logs[leader.name], logs[follower.name], protocol),
                on_error,
            )
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
    common_end = _common_end(leader, follower)
    if common_end >= follower.log_end_offset:
        same = leader.log_end_offset == follower.log_end_offset
        return Relation.IDENTICAL if same else Relation.LAGGING
    return Relation.AHEAD if common_end >= leader.log_end_offset else Relation.FORKED


def _common_end(leader: RecoveredLog, follower: RecoveredLog) -> int:
    """Return where the logs part: what the newest protocol would truncate to."""
    lineages = leader.lineage(), follower.lineage()
    if not all(lineages):
        # Without epochs nothing tells the logs apart but where they end.
        return min(leader.log_end_offset, follower.log_end_offset)
    elected = elected_history(*lineages, leader.log_end_offset)
    # Where both have epochs, these decide, so that any high watermark will do.
    truncation = Truncation(TruncationProtocol.KIP_320, lineages[1], follower.log_end_offset, follower.log_end_offset)
    return truncate_against(elected, leader.log_end_offset, truncation).truncate_to
