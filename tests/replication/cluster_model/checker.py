"""Breadth first through all states of a scope, each once: the first violation found is one of the shortest."""

import gc
from typing import NamedTuple

from tests.replication.cluster_model.cluster import Cluster, Event, Successor
from tests.replication.cluster_model.model import Model
from tests.replication.cluster_model.scope import Scope
from tests.replication.cluster_model.violations import Violation


class Verdict(NamedTuple):
    """What a check found."""

    scope: Scope
    states: int
    steps: int
    """Taken between them."""
    depth: int
    """The most steps that a state is away from the first."""
    unclean: int = 0
    """Steps that ended in an unclean election, where a story ends."""
    violation: Violation | None = None
    trace: tuple[Successor, ...] = ()
    """From the first state to the violation."""

    def __str__(self) -> str:
        found = "nothing wrong" if self.violation is None else f"{self.violation.kind} after {len(self.trace)} steps"
        return f"{self.scope.name}: {found}, {self.states:,} states, {self.steps:,} steps, {self.depth} deep"


def check(scope: Scope) -> Verdict:
    """Visit every state that a scope has, or all that are nearer than a violation."""
    gc.disable()  # there are many values, and no cycles
    try:
        return _check(Model(scope))
    finally:
        gc.enable()


def _check(model: Model) -> Verdict:
    first = model.initial()
    reached: dict[Cluster, tuple[Cluster, Event] | None] = {first: None}
    frontier, depth, steps, unclean = [first], 0, 0, 0
    while frontier:
        following: list[Cluster] = []
        for cluster in frontier:
            for successor in model.successors(cluster):
                steps += 1
                if successor.violation is not None:
                    trace = (*_trace(model, reached, cluster), successor)
                    return Verdict(model.scope, len(reached), steps, depth + 1, unclean, successor.violation, trace)
                if successor.is_unclean:
                    unclean += 1
                elif successor.cluster not in reached:
                    reached[successor.cluster] = cluster, successor.event
                    following.append(successor.cluster)
        frontier = following
        depth += bool(frontier)
    return Verdict(model.scope, len(reached), steps, depth, unclean)


def _trace(model: Model, reached: dict[Cluster, tuple[Cluster, Event] | None], cluster: Cluster) -> list[Successor]:
    steps: list[Successor] = []
    while (found := reached[cluster]) is not None:
        before, event = found
        successor = model.after(before, event)
        assert successor is not None
        steps.append(successor)
        cluster = before
    return steps[::-1]
