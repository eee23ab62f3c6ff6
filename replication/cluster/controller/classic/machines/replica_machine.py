"""Brings replicas from state to state, with what that entails (Kafka: ZkReplicaStateMachine)."""

from collections.abc import Callable, Iterable

from replication.cluster.controller.classic.commands.outbox import Outbox
from replication.cluster.controller.classic.context import Context, StateChange
from replication.cluster.controller.classic.errors import BadVersionError, StateChangeError
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState, initial_replica_state
from replication.cluster.controller.classic.store.cluster_store import ClusterStore


class ReplicaMachine:
    """The replicas' states; what cannot change is reported and kept, all others proceed."""

    def __init__(
        self, context: Context, store: ClusterStore, outbox: Outbox, tell: Callable[[StateChange], None]
    ) -> None:
        self._context = context
        self._store = store
        self._outbox = outbox
        self._tell = tell
        self._effects: dict[ReplicaState, Callable[[Replica], None]] = {
            ReplicaState.NEW: self._follow,
            ReplicaState.ONLINE: self._come_online,
            ReplicaState.OFFLINE: self._go_offline,
            ReplicaState.DELETION_STARTED: self._start_deletion,
            ReplicaState.NON_EXISTENT: self._disappear,
        }

    def start_up(self) -> None:
        """Initialize the states after another controller."""
        replicas = self._context.replicas_of(self._context.assignments)
        live = self._context.live
        for replica in replicas:
            self._context.replica_states[replica] = initial_replica_state(replica.broker_id, live)
        self.change([each for each in replicas if each.broker_id in live], ReplicaState.ONLINE)
        self.change([each for each in replicas if each.broker_id not in live], ReplicaState.OFFLINE)

    def change(self, replicas: Iterable[Replica], target: ReplicaState) -> None:
        """Bring replicas into a state."""
        for replica in replicas:
            previous = self._context.replica_state(replica)
            try:
                self._enter(replica, previous, target)
            except StateChangeError as error:
                self._tell(StateChange(replica, previous, target, str(error)))
                continue
            self._set(replica, target)
            self._tell(StateChange(replica, previous, target))
        self._outbox.flush(self._store.epoch)

    def _enter(self, replica: Replica, previous: ReplicaState, target: ReplicaState) -> None:
        if not previous.can_become(target):
            raise StateChangeError(f"{replica} cannot go from {previous.value} to {target.value}")
        effect = self._effects.get(target)
        if effect is not None:
            effect(replica)

    def _follow(self, replica: Replica) -> None:
        state = self._context.states.get(replica.partition)
        if state is None:
            return
        if state.leader == replica.broker_id:
            raise StateChangeError(f"{replica} would lead, but a new replica can only follow")
        self._outbox.leader_and_isr([replica.broker_id], replica.partition, is_new=True)

    def _come_online(self, replica: Replica) -> None:
        if self._context.replica_state(replica) is ReplicaState.NEW:
            assignment = self._context.assignments[replica.partition]
            self._context.assignments[replica.partition] = assignment.with_replica(replica.broker_id)
        elif replica.partition in self._context.states:
            self._outbox.leader_and_isr([replica.broker_id], replica.partition)

    def _go_offline(self, replica: Replica) -> None:
        partition, broker_id = replica
        self._outbox.stop_replica(broker_id, partition, delete=False)
        if partition not in self._context.states:
            self._outbox.update_metadata([partition])
            return
        self._context.states[partition] = self._leave_isr(replica)
        if not self._context.is_deleting(partition):
            others = [each for each in self._context.assignments[partition].replicas if each != broker_id]
            self._outbox.leader_and_isr(others, partition)

    def _leave_isr(self, replica: Replica) -> LeaderAndIsr:
        """Remove a replica from the ISR in the store, again until nobody else writes in between."""
        while True:
            current = self._store.state_to_change(replica.partition)
            after = current.without(replica.broker_id)
            if after == current:
                return current
            try:
                return self._store.set_state(replica.partition, after)
            except BadVersionError:
                continue

    def _start_deletion(self, replica: Replica) -> None:
        self._outbox.stop_replica(replica.broker_id, replica.partition, delete=True)

    def _disappear(self, replica: Replica) -> None:
        assignment = self._context.assignments[replica.partition]
        self._context.assignments[replica.partition] = assignment.without_replica(replica.broker_id)

    def _set(self, replica: Replica, state: ReplicaState) -> None:
        if state is ReplicaState.NON_EXISTENT:
            self._context.replica_states.pop(replica, None)
        else:
            self._context.replica_states[replica] = state
