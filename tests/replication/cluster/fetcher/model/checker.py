"""Breadth first through all states of a model, each once: the first violation found is one of the shortest."""

import gc
from collections.abc import Iterator
from typing import NamedTuple

from tests.replication.cluster.fetcher.model.cluster import Cluster, unpacked
from tests.replication.cluster.fetcher.model.model import Model, Successor
from tests.replication.cluster.fetcher.model.variant import Variant
from tests.replication.cluster.fetcher.model.violations import Violation


class Verdict(NamedTuple):
    """What a check found."""

    variant: Variant
    states: int
    """Visited, not counting those that differ only in the replicas' names."""
    steps: int
    """Taken between them."""
    depth: int
    """The most steps that a state is away from the first."""
    violation: Violation | None = None
    trace: tuple[Successor, ...] = ()
    """From the first state to the violation."""

    def __str__(self) -> str:
        found = "nothing wrong" if self.violation is None else f"{self.violation.kind} after {len(self.trace)} steps"
        return f"{self.variant.name}: {found}, {self.states:,} states, {self.steps:,} steps, {self.depth} deep"


def check(variant: Variant) -> Verdict:
    """Visit every state that a variant can come to, or all that are nearer than a violation."""
    gc.disable()  # there are millions of values, and no cycles
    try:
        return _check(variant, Model(variant))
    finally:
        gc.enable()


def _check(variant: Variant, model: Model) -> Verdict:
    first = model.initial()
    # Each state's key, and the state by which it was first reached.
    visited: dict[int, int | None] = {first.key(): None}
    frontier, depth, steps = [first.packed()], 0, 0
    while frontier:
        following: list[int] = []
        for packed in frontier:
            for successor in model.successors(unpacked(packed)):
                steps += 1
                violation = successor.violation
                if violation is not None and violation.kind not in variant.without:
                    trace = (*_trace(model, visited, packed), successor)
                    return Verdict(variant, len(visited), steps, depth + 1, violation, trace)
                key = successor.cluster.key()
                if key not in visited:
                    visited[key] = packed
                    following.append(successor.cluster.packed())
        frontier = following
        depth += bool(frontier)
    return Verdict(variant, len(visited), steps, depth)


def reachable(variant: Variant) -> Iterator[Cluster]:
    """Yield every state that a variant can come to, one of those that differ only in the replicas' names."""
    model = Model(variant)
    first = model.initial()
    seen, frontier = {first.key()}, [first]
    while frontier:
        cluster = frontier.pop()
        yield cluster
        for successor in model.successors(cluster):
            key = successor.cluster.key()
            if key not in seen:
                seen.add(key)
                frontier.append(successor.cluster)


def _trace(model: Model, visited: dict[int, int | None], packed: int) -> list[Successor]:
    """Find the steps that led to a state, by the states that each was first reached by."""
    steps: list[Successor] = []
    while (before := visited[unpacked(packed).key()]) is not None:
        steps.append(_step(model, unpacked(before), packed))
        packed = before
    return steps[::-1]


def _step(model: Model, before: Cluster, packed: int) -> Successor:
    return next(each for each in model.successors(before) if each.cluster.packed() == packed)
