"""What must never happen, looked for where it would begin."""

from typing import NamedTuple

from replication.cluster.fetcher.decisions.fetch_state import Phase
from tests.replication.cluster.fetcher.model.cluster import NAMES, Cluster
from tests.replication.cluster.fetcher.model.replica import Log, Replica

LOSS = "loss"
"""A clean election made one leader that lacks an acknowledged record."""
DIVERGENCE = "divergence"
"""A follower follows its leader, and holds something else than that leader at an offset below."""
SILENT = "silent divergence"
"""Two replicas hold different records of one epoch at one offset: no epoch will ever tell."""
STUCK = "stuck"
"""A follower has given up."""


class Violation(NamedTuple):
    """What is wrong, and with what."""

    kind: str
    what: str


def after_election(cluster: Cluster, number: int) -> Violation | None:
    """Look whether a leader that was elected cleanly has all that was acknowledged."""
    return _lacks(cluster.acked, cluster.replicas[number].log, f"{NAMES[number]} was elected")


def after_acknowledging(cluster: Cluster, acked: Log) -> Violation | None:
    """Look whether what a leader acknowledges is in the elected leader's log, and contradicts nothing."""
    for known, now in zip(cluster.acked, acked, strict=False):
        if known != now:
            return Violation(LOSS, f"{known} and {now} were both acknowledged, at one offset")
    elected = cluster.elected
    if elected is None or cluster.replicas[elected].is_down:
        return None
    return _lacks(acked, cluster.replicas[elected].log, f"{NAMES[elected]} leads")


def after_writing(cluster: Cluster, number: int) -> Violation | None:
    """Look whether the record just written shares its offset and epoch with another."""
    return _silent(cluster, number)


def after_following(cluster: Cluster, number: int, *, has_fetched: bool) -> Violation | None:
    """Look at a follower that has taken an answer: whether it goes on, and what it holds if that were records."""
    replica = cluster.replicas[number]
    following = replica.following
    if following is not None and following.phase is Phase.FAILED:
        return Violation(STUCK, f"{NAMES[number]} has given up")
    if not has_fetched:
        return None
    return _silent(cluster, number) or _diverges(cluster, number)


def _diverges(cluster: Cluster, number: int) -> Violation | None:
    replica = cluster.replicas[number]
    for other, leader in enumerate(cluster.replicas):
        if leader.leads and leader.epoch == replica.epoch and leader.log[: replica.end] != replica.log:
            offset = _first_difference(leader, replica)
            what = f"{NAMES[number]} follows {NAMES[other]}, but their logs differ from offset {offset} on"
            return Violation(DIVERGENCE, what)
    return None


def _silent(cluster: Cluster, number: int) -> Violation | None:
    log = cluster.replicas[number].log
    for other, replica in enumerate(cluster.replicas):
        for offset, (ours, theirs) in enumerate(zip(log, replica.log, strict=False)):
            if ours.epoch == theirs.epoch and ours.value != theirs.value:
                who = f"{NAMES[number]} and {NAMES[other]}"
                return Violation(SILENT, f"{who} hold different records of epoch {ours.epoch} at offset {offset}")
    return None


def _lacks(acked: Log, log: Log, who: str) -> Violation | None:
    for offset, record in enumerate(acked):
        if log[offset : offset + 1] != (record,):
            return Violation(LOSS, f"{who} without record {record} at offset {offset}, which was acknowledged")
    return None


def _first_difference(one: Replica, other: Replica) -> int:
    offset = 0
    while one.log[offset : offset + 1] == other.log[offset : offset + 1]:
        offset += 1
    return offset
