"""Random histories of clusters whose states are too many to visit all; each seed is one history.

    python -m tests.replication.cluster_model.walk SEED

repeats a seed and prints what happened.
"""

import gc
import sys
from dataclasses import dataclass, replace
from functools import cache
from random import Random
from typing import Final

from replication.records.metadata.records import NO_LEADER
from tests.replication.cluster.fetcher.model.replica import forget_replicas
from tests.replication.cluster_model.cluster import Cluster, Event, Successor, What
from tests.replication.cluster_model.metadata import Metadata
from tests.replication.cluster_model.model import Model
from tests.replication.cluster_model.node import Leadership, Node
from tests.replication.cluster_model.scope import Scope
from tests.replication.cluster_model.trace import rendered
from tests.replication.cluster_model.violations import Violation

STEPS: Final = 60
SETTLING_STEPS: Final = 400
UNSETTLED: Final = "unsettled"
"""Everybody is back and nothing is lost on the way, and still somebody lacks something."""

_LIKELY: Final = {What.WRITES: 3, What.FETCHES: 4, What.HEARS: 2, What.CHANGE: 2, What.ANSWER: 2, What.CRASHES: 0.5}
_REPAIRING: Final = (
    What.STARTS,
    What.HEARS,
    What.UNFENCED,
    What.STOPS,
    What.CHANGE,
    What.ANSWER,
    What.FETCHES,
)

_MUCH: Final = Scope(name="3 replicas, 2 in sync for acks=all", replicas=3, repeats_answers=True).bounded(
    records=8, failures=6, changes=24
)
SCOPES: Final = (
    _MUCH,
    replace(_MUCH, name="3 replicas, one in sync for acks=all", min_isr=1, balances=True),
    replace(_MUCH, name="2 replicas", replicas=2, balances=True),
    replace(_MUCH, name="3 replicas without ELR", elr=False, loses_tails=False, balances=True),
    replace(_MUCH, name="4 replicas, 3 in sync for acks=all", replicas=4, min_isr=3),
)


@dataclass(frozen=True, slots=True)
class History:
    """What happened by one seed."""

    trace: tuple[Successor, ...]
    violation: Violation | None
    is_unclean: bool
    """It ended where nothing is promised."""


def history(seed: int | str, scope: Scope | None = None, *, steps: int = STEPS) -> History:
    """Let things happen at random, then everybody come back; look at everything that must hold."""
    random = Random(seed)
    model = _model(random.choice(SCOPES) if scope is None else scope)
    cluster, trace = model.initial(), []
    for _ in range(steps):
        successor = _any_successor(model, cluster, random)
        if successor is None:
            break
        trace.append(successor)
        if successor.violation is not None or successor.is_unclean:
            return History(tuple(trace), successor.violation, successor.is_unclean)
        cluster = successor.cluster
    return _settled(_model(replace(model.scope, changes=1 << 20)), cluster, trace)


def forget() -> None:
    """Let go of what is remembered: in other histories most of it never comes again."""
    _model.cache_clear()
    for kind in (Node, Leadership, Metadata):
        kind.forget()
    forget_replicas()
    gc.collect()


@cache
def _model(scope: Scope) -> Model:
    return Model(scope)


def _any_successor(model: Model, cluster: Cluster, random: Random) -> Successor | None:
    """Return a way on by chance: one that is clean, unless there is none."""
    events = list(model.events(cluster))
    unclean = None
    while events:
        (event,) = random.choices(events, [_LIKELY.get(each.what, 1) for each in events])
        successor = model.after(cluster, event)
        if successor is not None and not successor.is_unclean:
            return successor
        unclean = unclean or successor
        events.remove(event)
    return unclean


def _settled(model: Model, cluster: Cluster, trace: list[Successor]) -> History:
    """Let everybody come back, and see that all have the same, and that all of it is committed."""
    cluster = cluster._replace(failures_left=SETTLING_STEPS)  # who was stopping does stop
    for _ in range(SETTLING_STEPS):
        successor = _repairing(model, cluster)
        if successor is None:
            return History(tuple(trace), _unsettled(cluster), is_unclean=False)
        trace.append(successor)
        if successor.violation is not None or successor.is_unclean:
            return History(tuple(trace), successor.violation, successor.is_unclean)
        cluster = successor.cluster
    return History(tuple(trace), Violation(UNSETTLED, f"not after {SETTLING_STEPS} steps"), is_unclean=False)


def _repairing(model: Model, cluster: Cluster) -> Successor | None:
    events = sorted((each for each in model.events(cluster) if each.what in _REPAIRING), key=_urgency)
    for event in events:
        if event.what is not What.STOPS or cluster.metadata.brokers[event.node].in_controlled_shutdown:
            successor = model.after(cluster, event)
            if successor is not None:
                return successor
    return None


def _urgency(event: Event) -> int:
    return _REPAIRING.index(event.what)


def _unsettled(cluster: Cluster) -> Violation | None:
    """Look for who lacks something. Where nobody leads, none may: all have fallen without an orderly stop."""
    partition = cluster.metadata.partition
    if partition.leader == NO_LEADER:
        return None
    log = cluster.nodes[partition.leader].replica.log
    if any(node.replica.log != log or node.replica.high_watermark != len(log) for node in cluster.nodes):
        return Violation(UNSETTLED, f"not all have what {partition.leader} has, or it is not committed")
    if set(partition.isr) != set(partition.replicas):
        return Violation(UNSETTLED, f"only {partition.isr} are in sync")
    return None


if __name__ == "__main__":
    found = history(sys.argv[1])
    sys.stdout.write(rendered(found.trace, found.violation))
