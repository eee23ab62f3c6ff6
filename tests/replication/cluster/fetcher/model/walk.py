"""Random ways through a model whose states are too many to visit all."""

from random import Random

from tests.replication.cluster.fetcher.model.checker import Verdict
from tests.replication.cluster.fetcher.model.model import Model, Successor


def walk(model: Model, random: Random, steps: int) -> Verdict:
    """Take one random way on after another, up to a violation, an end, or this many steps."""
    cluster = model.initial()
    trace: list[Successor] = []
    while len(trace) < steps:
        ways = list(model.successors(cluster))
        if not ways:
            break
        successor = random.choice(ways)
        trace.append(successor)
        cluster = successor.cluster
        violation = successor.violation
        if violation is not None and violation.kind not in model.variant.without:
            return Verdict(model.variant, len(trace), len(trace), len(trace), violation, tuple(trace))
    return Verdict(model.variant, len(trace), len(trace), len(trace))
