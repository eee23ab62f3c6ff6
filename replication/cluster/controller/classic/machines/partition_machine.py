"""Brings partitions from state to state, with what that entails (Kafka: ZkPartitionStateMachine)."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.outbox import Outbox
from replication.cluster.controller.classic.context import Context, StateChange
from replication.cluster.controller.classic.errors import BadVersionError, NodeExistsError, StateChangeError
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.partition_states import PartitionState, initial_partition_state
from replication.cluster.controller.classic.selectors import Selector, select
from replication.cluster.controller.classic.store.cluster_store import ClusterStore
from replication.records.metadata.configurations import UNCLEAN_LEADER_ELECTION

Outcomes: TypeAlias = dict[TopicPartition, LeaderAndIsr | StateChangeError]
"""Of the partitions that were to come online: who leads, or why nobody does."""


class PartitionMachine:
    """The partitions' states; what cannot change is reported and kept, all others proceed."""

    def __init__(
        self,
        context: Context,
        store: ClusterStore,
        outbox: Outbox,
        defaults: Mapping[str, str],
        tell: Callable[[StateChange], None],
    ) -> None:
        self._context = context
        self._store = store
        self._outbox = outbox
        self._defaults = defaults
        self._tell = tell

    def start_up(self) -> None:
        """Initialize the states after another controller, and elect leaders."""
        for partition in self._context.assignments:
            state = initial_partition_state(self._context.states.get(partition), self._context.live)
            self._context.partition_states[partition] = state
        self.bring_online()

    def bring_online(self) -> Outcomes:
        """Elect leaders for whatever has none and is not being deleted."""
        waiting = [
            each
            for each, state in self._context.partition_states.items()
            if state in {PartitionState.NEW, PartitionState.OFFLINE} and not self._context.is_deleting(each)
        ]
        return self.change(waiting, PartitionState.ONLINE)

    def change(
        self,
        partitions: Iterable[TopicPartition],
        target: PartitionState,
        selector: Selector = Selector.OFFLINE,
        *,
        unclean: bool = False,
    ) -> Outcomes:
        """Bring partitions into a state; `unclean` lets an offline election lose records whatever a topic says."""
        outcomes: Outcomes = {}
        for partition in partitions:
            previous = self._context.partition_state(partition)
            try:
                _check_legal(partition, previous, target)
                if target is PartitionState.ONLINE:
                    outcomes[partition] = self._bring_online(partition, selector, unclean=unclean)
            except StateChangeError as error:
                outcomes[partition] = error
                self._tell(StateChange(partition, previous, target, str(error)))
                continue
            self._set(partition, target)
            self._tell(StateChange(partition, previous, target))
        self._outbox.flush(self._store.epoch)
        return outcomes

    def raise_leader_epoch(self, partition: TopicPartition, receivers: Iterable[int]) -> None:
        """Send the receivers a new leader epoch with the same leader, so that all learn of new replicas."""
        try:
            self._write(partition, lambda current: current.led_by(current.leader))
        except StateChangeError as error:
            state = self._context.partition_state(partition)
            self._tell(StateChange(partition, state, state, str(error)))
            return
        self._outbox.leader_and_isr(receivers, partition)
        self._outbox.flush(self._store.epoch)

    def _bring_online(self, partition: TopicPartition, selector: Selector, *, unclean: bool) -> LeaderAndIsr:
        if self._context.partition_state(partition) is PartitionState.NEW:
            return self._initialize(partition)
        return self._elect(partition, selector, unclean=unclean)

    def _initialize(self, partition: TopicPartition) -> LeaderAndIsr:
        """Make the first live replica the leader, and all live ones in sync: their logs are all empty."""
        live = tuple(each for each in self._context.assignments[partition].replicas if each in self._context.live)
        if not live:
            raise StateChangeError(f"{partition} has no initial leader: none of its replicas is alive")
        try:
            state = self._store.create_state(partition, LeaderAndIsr(live[0], live))
        except NodeExistsError as error:
            raise StateChangeError(f"{partition} already has an initial leader: {error}") from error
        self._context.states[partition] = state
        self._outbox.leader_and_isr(live, partition, is_new=True)
        return state

    def _elect(self, partition: TopicPartition, selector: Selector, *, unclean: bool) -> LeaderAndIsr:
        assignment = self._context.assignments[partition]
        unclean = selector is Selector.OFFLINE and (unclean or self._is_unclean_allowed(partition.topic))
        receivers: tuple[int, ...] = ()

        def elected(current: LeaderAndIsr) -> LeaderAndIsr:
            nonlocal receivers
            state, receivers = select(selector, current, assignment, self._context.brokers, unclean_enabled=unclean)
            if state is None:
                raise StateChangeError(
                    f"{partition} has no leader by the rule {selector.value}: of its replicas "
                    f"{list(assignment.replicas)}, in sync {list(current.isr)}, none can lead"
                )
            return state

        state = self._write(partition, elected)
        self._outbox.leader_and_isr(receivers, partition)
        return state

    def _write(self, partition: TopicPartition, change: Callable[[LeaderAndIsr], LeaderAndIsr]) -> LeaderAndIsr:
        """Make the next state of what the store says, until nobody else writes in between."""
        while True:
            state = change(self._store.state_to_change(partition))
            try:
                self._context.states[partition] = self._store.set_state(partition, state)
            except BadVersionError:
                continue
            return self._context.states[partition]

    def _is_unclean_allowed(self, topic: str) -> bool:
        allowed = self._store.config(topic).get(
            UNCLEAN_LEADER_ELECTION, self._defaults.get(UNCLEAN_LEADER_ELECTION, "false")
        )
        return allowed.strip().lower() == "true"

    def _set(self, partition: TopicPartition, state: PartitionState) -> None:
        if state is PartitionState.NON_EXISTENT:
            self._context.partition_states.pop(partition, None)
        else:
            self._context.partition_states[partition] = state


def _check_legal(partition: TopicPartition, previous: PartitionState, target: PartitionState) -> None:
    if not previous.can_become(target):
        raise StateChangeError(f"{partition} cannot go from {previous.value} to {target.value}")
