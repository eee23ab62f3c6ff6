"""What must never happen, looked for after each event in what it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.records.metadata.partition import LeaderRecoveryState
from replication.records.metadata.records import NO_LEADER
from tests.replication.cluster.fetcher.model.replica import Log

if TYPE_CHECKING:
    from tests.replication.cluster_model.cluster import Cluster
    from tests.replication.cluster_model.node import Node

LOSS = "loss"
"""A leader that was elected cleanly lacks a committed record, or commits another at its offset."""
DIVERGENCE = "divergence"
"""A follower holds something else than its leader below its end, or than what is committed below its high watermark."""
ISR = "ISR unknown to the leader"
"""The controller counts one in sync that the leader does not wait for."""
HIGH_WATERMARK = "high watermark"
"""It went back, or passed the end of one in the maximal ISR."""
EPOCH = "epoch"
"""A leader's epoch does not begin where it began to lead."""
STUCK = "stuck"
"""A follower has given up."""


class Violation(NamedTuple):
    """What is wrong, and with what."""

    kind: str
    what: str


def is_unclean(before: Cluster, after: Cluster) -> bool:
    """Whether a leader was elected that may lack what is committed."""
    was, now = before.metadata.partition, after.metadata.partition
    return now.leader_epoch > was.leader_epoch and now.leader_recovery_state == LeaderRecoveryState.RECOVERING


def found(before: Cluster, after: Cluster) -> Violation | None:
    """Return what is wrong after an event, and was not before."""
    if after.metadata is not before.metadata:
        wrong = _of_election(before, after) or _of_isr(after)
        if wrong is not None:
            return wrong
    for number, (was, now) in enumerate(zip(before.nodes, after.nodes, strict=True)):
        if was is not now and now.is_up:
            wrong = _of_node(before, after, number, was, now)
            if wrong is not None:
                return wrong
    return None


def committed_by(before: Cluster, after: Cluster) -> tuple[Cluster, Violation | None]:
    """Take what leaders have committed by an event into what is committed, unless that contradicts it."""
    for was, now in zip(before.nodes, after.nodes, strict=True):
        if now.led is None or now.replica is was.replica or now.replica.high_watermark == 0:
            continue
        log = now.replica.log[: now.replica.high_watermark]
        for known, record in zip(after.committed, log, strict=False):
            if known != record:
                return after, Violation(LOSS, f"{known} and {record} were both committed, at one offset")
        if len(log) > len(after.committed):
            after = after._replace(committed=log)
            wrong = _of_leadership(after, "leads")
            if wrong is not None:
                return after, wrong
    return after, None


def _of_election(before: Cluster, after: Cluster) -> Violation | None:
    if after.metadata.partition.leader_epoch == before.metadata.partition.leader_epoch:
        return None
    return _of_leadership(after, "was elected")


def _of_leadership(cluster: Cluster, said: str) -> Violation | None:
    """Look whether the controller's leader has all that is committed.

    One that has fallen since it registered has yet to come back, and does not lead when it does.
    """
    leader = cluster.metadata.leader
    if leader == NO_LEADER:
        return None
    node = cluster.nodes[leader]
    if not node.is_up or node.broker_epoch != cluster.metadata.brokers[leader].epoch:
        return None
    return _lacks(cluster.committed, node.replica.log, f"{leader} {said}")


def _of_isr(cluster: Cluster) -> Violation | None:
    leader, partition = cluster.metadata.leader, cluster.metadata.partition
    led = None if leader == NO_LEADER else cluster.nodes[leader].led
    if led is None or led.leader_epoch != partition.leader_epoch:
        return None
    others = set(partition.isr) - led.maximal_isr
    return (
        Violation(ISR, f"{leader} does not wait for {sorted(others)}, which the controller has in sync")
        if others
        else None
    )


def _of_node(before: Cluster, after: Cluster, number: int, was: Node, now: Node) -> Violation | None:
    if now.led is not None:
        return _of_isr(after) or _of_leader(before, after, number, was, now)
    following = now.replica.following
    if following is None:
        return None
    if following.phase is Phase.FAILED:
        return Violation(STUCK, f"{number} has given up")
    return _of_follower(after, number, was, now)


def _of_leader(before: Cluster, after: Cluster, number: int, was: Node, now: Node) -> Violation | None:
    led = now.led
    assert led is not None
    begins = was.led is None or was.led.leader_epoch != led.leader_epoch
    if begins and (now.replica.history.latest != (led.leader_epoch, was.replica.end)):
        return Violation(EPOCH, f"{number} leads in epoch {led.leader_epoch}: {now.replica.history!r}")
    if begins and led.leader_epoch == after.metadata.partition.leader_epoch:
        wrong = _lacks(before.committed, now.replica.log, f"{number} begins to lead")
        if wrong is not None:
            return wrong
    if was.led is None or now.replica.high_watermark <= was.replica.high_watermark:
        went_back = was.led is not None and now.replica.high_watermark < was.replica.high_watermark
        return Violation(HIGH_WATERMARK, f"that of {number} went back") if went_back else None
    return _behind(before, number, now)


def _behind(before: Cluster, number: int, now: Node) -> Violation | None:
    """Look for one of the maximal ISR that lacks what was committed just now.

    Only while it follows this leader: one that fell has left the ISR once it is back, and another leader's follower
    has what that leader has.
    """
    led, high_watermark = now.led, now.replica.high_watermark
    assert led is not None
    progress = dict(led.followers)
    for broker_id in led.maximal_isr - {number}:
        node = before.nodes[broker_id]
        of_this_life = node.is_up and node.broker_epoch == progress[broker_id].broker_epoch
        if progress[broker_id].log_end_offset < high_watermark or (
            of_this_life and node.replica.epoch == led.leader_epoch and node.replica.end < high_watermark
        ):
            what = f"that of {number} is {high_watermark}, and {broker_id} of the maximal ISR has less"
            return Violation(HIGH_WATERMARK, what)
    return None


def _of_follower(after: Cluster, number: int, was: Node, now: Node) -> Violation | None:
    replica = now.replica
    low = replica.log[: replica.high_watermark]
    if low != after.committed[: len(low)]:
        return Violation(DIVERGENCE, f"{number} lacks what is committed below its high watermark {len(low)}")
    if replica.log is was.replica.log or replica.end <= was.replica.end:
        return None
    for other, node in enumerate(after.nodes):
        led = node.led
        if led is not None and led.leader_epoch == replica.epoch and node.replica.log[: replica.end] != replica.log:
            return Violation(DIVERGENCE, f"{number} follows {other}, and holds other records")
    return None


def _lacks(committed: Log, log: Log, who: str) -> Violation | None:
    for offset, record in enumerate(committed):
        if log[offset : offset + 1] != (record,):
            return Violation(LOSS, f"{who} without record {record} at offset {offset}, which was committed")
    return None
