"""What must hold in a cluster whatever happens to it."""

from replication.cluster.controller.controller import Controller
from replication.cluster.controller.partition_index import PartitionIndex, PartitionKey
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.records.metadata.topics import Topic


class Invariants:
    """Looks at each partition after each decision, beside what it was before."""

    def __init__(self, controller: Controller) -> None:
        self.controller = controller
        self.unclean_asked = False
        """Whether the next decision is about an unclean election that was asked for."""
        self._before: dict[PartitionKey, PartitionRegistration] = {}
        self._leaders: dict[tuple[PartitionKey, int], int] = {}
        self._targets: dict[PartitionKey, tuple[int, ...]] = {}

    def expect_replicas(self, key: PartitionKey, replicas: tuple[int, ...]) -> None:
        """Await that a reassignment ends with exactly these."""
        self._targets[key] = replicas

    def check(self) -> None:
        now = {}
        for topic, number, state in self.controller.cluster.image.topics.partitions():
            key = PartitionKey(topic.id, number)
            before = self._before.get(key)
            if state != before:
                self._check_state(key, state)
                if before is not None:
                    self._check_change(topic, key, before, state)
            self._check_leadership(state)
            now[key] = state
        self._before = now
        self.unclean_asked = False

    def check_index(self) -> None:
        """The index says what looking through all partitions would."""
        index = PartitionIndex()
        for topic, number, state in self.controller.cluster.image.topics.partitions():
            index.update(PartitionKey(topic.id, number), None, state)
        assert index == self.controller.cluster.index
        brokers = self.controller.cluster.image.brokers.values()
        assert self.controller.cluster.active == {broker.id for broker in brokers if broker.is_active}

    def _check_state(self, key: PartitionKey, state: PartitionRegistration) -> None:
        assert set(state.isr) <= set(state.replicas)
        assert len({*state.isr, *state.elr}) == len(state.isr) + len(state.elr), "nobody is in sync or eligible twice"
        assert set(state.elr) <= set(state.replicas), "who was reassigned away has no records any more"
        assert state.isr or self.controller.cluster.rules.elr, (
            "only with eligible leader replicas may nobody be in sync"
        )
        assert not state.has_leader or state.leader in state.isr
        assert set(state.adding_replicas) | set(state.removing_replicas) <= set(state.replicas)
        assert len(state.directories) == len(state.replicas)
        if state.has_leader:
            leader = self._leaders.setdefault((key, state.leader_epoch), state.leader)
            assert leader == state.leader, "two leaders in one epoch"

    def _check_leadership(self, state: PartitionRegistration) -> None:
        active = self.controller.cluster.active
        if state.has_leader:
            assert state.leader in active, "who leads is alive"
        else:
            in_sync = set(state.isr or state.elr)
            assert not active & in_sync, "somebody in sync is alive, and nobody leads"

    def _check_change(
        self, topic: Topic, key: PartitionKey, before: PartitionRegistration, after: PartitionRegistration
    ) -> None:
        assert after.partition_epoch > before.partition_epoch
        assert after.leader_epoch >= before.leader_epoch
        if after.leader != before.leader:
            assert after.leader_epoch > before.leader_epoch
        is_complete = not after.is_reassigning and (before.is_reassigning or key in self._targets)
        if is_complete:
            assert after.replicas == self._targets.pop(key), "a completed reassignment leaves exactly the target"
            added = set(before.adding_replicas).intersection(after.replicas)
            assert added <= {*before.isr, *after.isr}, "who was added is in sync, or was until an unclean election"
        else:
            joined = set(after.isr).difference(before.isr)
            assert joined <= self.controller.cluster.active, "who comes into the ISR is alive"
        self._check_unclean(topic, before, after)

    def _check_unclean(self, topic: Topic, before: PartitionRegistration, after: PartitionRegistration) -> None:
        """Nobody leads without all that is committed, unless that is allowed, asked for, or known to be best."""
        recovers = after.leader_recovery_state == LeaderRecoveryState.RECOVERING
        if not recovers or before.leader_recovery_state == LeaderRecoveryState.RECOVERING:
            return
        allowed = self.controller.cluster.unclean_allowed(topic) or self.unclean_asked
        assert allowed or self.controller.cluster.rules.elr
        assert after.isr == (after.leader,)
