"""A cluster that is down starts again: what becomes of it, held against what was foretold."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from logstore import TopicPartition
from replication.records.metadata.partition import PartitionRegistration
from tests.oracle.cluster import CONTROLLER
from tests.replication.records.leadership.histories.election_cluster import ElectionCluster
from tests.replication.records.leadership.histories.election_history import ElectionHistory
from tests.replication.records.leadership.histories.foretold import Foretold, Placed, placed, values_of
from tests.replication.testing.stopped_replicas import loaded
from tests.replication.waiting import wait_until

DISTURBED: Final = "histories disturbed"
IN_ORDER: Final = "partitions started in order"
SINGLE_IN_ORDER: Final = "of them with one outcome foretold"
TOGETHER: Final = "partitions started at once"
SINGLE_TOGETHER: Final = "of these with one outcome foretold"


@dataclass
class Restart:
    """One start of a cluster after a history has ended."""

    cluster: ElectionCluster
    history: ElectionHistory
    foretold: Foretold
    counted: Counter[str] = field(default_factory=Counter)
    """How much was compared, and what came."""
    disagreements: list[str] = field(default_factory=list)

    def happen(self) -> None:
        """Start the nodes, and compare all partitions of the history."""
        begin = {node: len(self.cluster.said(node)) for node in self.cluster.ids}
        if not self.cluster.is_running(CONTROLLER):
            self.cluster.start(CONTROLLER)
        (self._start_together if self.foretold.starts.together else self._start_in_order)()
        states = self.cluster.partitions()
        self.cuts = {node: self.cluster.cuts(node, begin[node]) for node in self.foretold.starts.order}
        for partition in self.history.partitions:
            self.disagreements += self._compare(partition, states[partition])
        if self._was_disturbed():
            self.counted = Counter([DISTURBED])

    def _was_disturbed(self) -> bool:
        """Whether the controller gave up a broker that had started, as a machine that is too busy makes it do."""
        return self.cluster.gave_up_since(self.foretold.end_offset, self.foretold.starts.order)

    def _start_together(self) -> None:
        for node in self.foretold.starts.order:
            self.cluster.start(node, wait=False)
        for node in self.foretold.starts.order:
            self.cluster.wait_for(node)
        self.cluster.wait_until_settled()

    def _start_in_order(self) -> None:
        wait_until(lambda: not self.cluster.alive(), "the controller has given up all brokers")
        for node in self.foretold.starts.order:
            self.cluster.start(node)
            self.cluster.wait_until_settled()

    def _compare(self, partition: TopicPartition, state: PartitionRegistration) -> Iterator[str]:
        outcomes = self.foretold.outcomes(partition)
        together = self.foretold.starts.together
        self.counted[TOGETHER if together else IN_ORDER] += 1
        self.counted[SINGLE_TOGETHER if together else SINGLE_IN_ORDER] += len(outcomes) == 1
        audited = self.foretold.audited(partition)
        if audited not in (None, self.foretold.together(partition)):
            yield f"{partition}: an audit says that one of {audited} leads, and foreseen was {outcomes}"
        came = state.leader if state.has_leader else None
        if came not in outcomes or (came is not None and state.leader_epoch not in outcomes[came]):
            yield f"{partition}: {came} leads in epoch {state.leader_epoch}, and foretold was {outcomes}"
        elif came is not None:
            yield from self._compare_logs(partition, came, state)

    def _compare_logs(self, partition: TopicPartition, leader: int, state: PartitionRegistration) -> Iterator[str]:
        kept = loaded(self.cluster.log_dir(leader), partition)
        values = values_of(kept)
        if values != self.foretold.values(partition, leader):
            yield f"{partition}: leader {leader} has other records than before"
        acknowledged = self.history.ledger.acknowledged.get(partition, [])
        lost = set(acknowledged).difference(values)
        if lost != self.foretold.lost(partition, leader, acknowledged):
            yield f"{partition}: {sorted(map(int, lost))} are lost under {leader}"
        self.counted["acknowledged records lost"] += len(lost)
        yield from self._compare_loss(partition, leader, placed(kept))
        for follower in state.replicas:
            if follower != leader and follower in self.cuts:
                yield from self._compare_follower(partition, leader, follower, kept.log_end_offset)

    def _compare_loss(self, partition: TopicPartition, leader: int, kept: set[Placed]) -> Iterator[str]:
        told = self.foretold.loss(partition, leader)
        if told is None:
            return
        lost = self.foretold.held(partition) - kept
        if told["lost"]["records"] != len(lost):
            yield f"{partition}: under {leader} {len(lost)} records are lost, and {told['lost']} were said to be"
        by_all = self.history.ledger.by_all.intersection(value for _, value in lost)
        by_all = by_all.difference(value for _, value in kept)
        at_most = told["acknowledged_at_most"]
        self.counted["losses told"] += 1
        self.counted["lost records known to be acknowledged at most with acks=1"] += len(lost) - at_most
        if len(by_all) > at_most:
            yield f"{partition}: under {leader} {len(by_all)} records are lost of acks=all, and {at_most} were feared"

    def _compare_follower(self, partition: TopicPartition, leader: int, follower: int, end: int) -> Iterator[str]:
        foretold = self.foretold.end_after_cut(partition, leader, follower)
        before = self.foretold.log(partition, follower)
        offsets = self.cuts[follower].get(partition, [])
        came = min(offsets, default=None if before is None else before.log_end_offset)
        self.counted["logs cut"] += bool(offsets)
        if came != foretold:
            yield f"{partition}: under {leader} broker {follower} cut to {offsets}, and foretold was {foretold}"
        found = loaded(self.cluster.log_dir(follower), partition).log_end_offset
        if found != end:
            yield f"{partition}: under {leader}, which ends at {end}, broker {follower} ends at {found}"
