"""The controller's part: who leads, and who is in the ISR and the ELR (KIP-966)."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.replication.cluster.fetcher.model.cluster import Cluster
from tests.replication.cluster.fetcher.model.replica import Log, Replica, Tracked
from tests.replication.cluster.fetcher.model.variant import Variant
from tests.replication.cluster.fetcher.model.violations import Violation, after_election


class Election(NamedTuple):
    """An election that may happen now."""

    elected: int
    how: str
    cluster: Cluster
    violation: Violation | None = None


def without(cluster: Cluster, number: int, variant: Variant) -> Cluster:
    """Let a replica leave the ISR; into the ELR, where that leaves too few."""
    return _with_isr(cluster, isr_of(cluster) - {number}, variant)


def joined(cluster: Cluster, number: int, variant: Variant) -> Cluster:
    """Let a replica join the ISR."""
    return _with_isr(cluster, isr_of(cluster) | {number}, variant)


def registered(cluster: Cluster, number: int, variant: Variant) -> Cluster:
    """Take a crashed replica back, as a new incarnation that leads in no epoch of the former, and is in no ISR."""
    cluster = _with_isr(cluster, isr_of(cluster) - {number}, variant)
    replica = cluster.replicas[number]
    others = [
        (other, _forgotten_by(each, replica.terms)) for other, each in enumerate(cluster.replicas) if other != number
    ]
    back = replica.but(is_down=False, in_isr=False, in_elr=False, terms=frozenset())
    return cluster.with_replicas((number, back), *others)


def elections(cluster: Cluster, variant: Variant) -> Iterator[Election]:
    """Yield every election: of another member of the ISR, of one of the ELR, or of whom no rule allows."""
    isr, old = isr_of(cluster), cluster.elected
    none_left = not isr and not any(replica.in_elr for replica in cluster.replicas)
    for number, replica in enumerate(cluster.replicas):
        if replica.is_down:
            continue
        if number in isr:
            yield _elected(cluster, number, isr, variant, "is elected")
            if old is not None and old in isr - {number} and not variant.elects_uncleanly:
                yield _elected(cluster, number, isr - {old}, variant, "is elected, the last leader fenced")
        elif replica.in_elr:
            yield _elected(cluster, number, frozenset({number}), variant, "is elected from the ELR")
        elif none_left:
            yield _elected(cluster, number, frozenset({number}), variant, "is elected uncleanly")


def isr_of(cluster: Cluster) -> frozenset[int]:
    """Return who is in the ISR."""
    return frozenset(number for number, replica in enumerate(cluster.replicas) if replica.in_isr)


def _elected(cluster: Cluster, number: int, isr: frozenset[int], variant: Variant, how: str) -> Election:
    epoch, unclean = cluster.epoch + 1, how == "is elected uncleanly"
    after = _with_isr(cluster, isr, variant)._replace(epoch=epoch)
    replicas = [
        (other, replica.tracked_as(Tracked(epoch, -1, in_isr=other in isr, of_this_life=not replica.is_down)))
        for other, replica in enumerate(after.replicas)
        if other != number
    ]
    leader = after.replicas[number]
    after = after.with_replicas((number, leader.elected(epoch)), *replicas)
    if unclean:
        return Election(number, how, after._replace(acked=_shared(cluster.acked, leader.log)))
    return Election(number, how, after, after_election(after, number))


def _with_isr(cluster: Cluster, isr: frozenset[int], variant: Variant) -> Cluster:
    """Kafka: PartitionChangeBuilder.maybePopulateTargetElr. Who leaves a small ISR stays eligible."""
    eligible: set[int] = set()
    if variant.min_isr > 1 and len(isr) < variant.min_isr:
        eligible = {number for number, replica in enumerate(cluster.replicas) if replica.in_isr or replica.in_elr}
    return cluster.with_replicas(
        *(
            (number, replica.eligible(in_isr=number in isr, in_elr=number in eligible - isr))
            for number, replica in enumerate(cluster.replicas)
        )
    )


def _forgotten_by(replica: Replica, epochs: frozenset[int]) -> Replica:
    for epoch in epochs:
        replica = replica.forgotten_by(epoch)
    return replica


def _shared(acked: Log, log: Log) -> Log:
    count = 0
    while count < min(len(acked), len(log)) and acked[count] == log[count]:
        count += 1
    return acked[:count]
