"""The 11 steps that move a partition to other brokers (Kafka: onPartitionReassignment).

Between them a controller may die: the store knows the replicas old and new until the last but one step, and the next
controller begins anew; each step may be done twice.
"""

from collections.abc import Iterator
from enum import IntEnum

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.outbox import Outbox
from replication.cluster.controller.classic.context import Context
from replication.cluster.controller.classic.machines.partition_machine import PartitionMachine
from replication.cluster.controller.classic.machines.replica_machine import ReplicaMachine
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState
from replication.cluster.controller.classic.selectors import Selector
from replication.cluster.controller.classic.store.cluster_store import ClusterStore


class Step(IntEnum):
    """What was done last."""

    STORED_ALL_REPLICAS = 1
    RAISED_LEADER_EPOCH = 2
    STARTED_NEW_REPLICAS = 3
    IN_SYNC = 4
    BROUGHT_NEW_ONLINE = 5
    REMEMBERED_TARGET = 6
    MOVED_LEADER = 7
    TOOK_OLD_OFFLINE = 8
    DELETED_OLD = 9
    STORED_TARGET = 10
    REMOVED_REQUEST = 11


class Reassignment:
    """Moves partitions; which ones stands in the context."""

    def __init__(
        self,
        context: Context,
        store: ClusterStore,
        outbox: Outbox,
        partitions: PartitionMachine,
        replicas: ReplicaMachine,
    ) -> None:
        self._context = context
        self._store = store
        self._outbox = outbox
        self._partitions = partitions
        self._replicas = replicas

    def can_start(self, partition: TopicPartition, assignment: ReplicaAssignment) -> bool:
        """Whether a partition would still be led if the other replicas went at once."""
        state = self._context.states.get(partition)
        if state is None or set(state.isr) <= set(assignment.replicas):
            return True
        return any(each in self._context.live and each in state.isr for each in assignment.replicas)

    def start(self, partition: TopicPartition, assignment: ReplicaAssignment) -> Iterator[Step]:
        """Begin to move a partition, or send one that moves elsewhere; then as `go_on` does."""
        before = self._context.assignments[partition]
        self._context.reassigning.add(partition)
        if before != assignment:
            # Only then is it stored: a controller that comes in between must still know whom to stop.
            self._context.assignments[partition] = assignment
            self._remove_unneeded(partition, before, assignment)
            self._store.set_assignment(partition, assignment)
        yield Step.STORED_ALL_REPLICAS
        yield from self.go_on(partition)

    def go_on(self, partition: TopicPartition) -> Iterator[Step]:
        """Do the steps that can be done now, and report each when it is done.

        Until all new replicas are in sync these are the first three; from then on nothing is waited for.
        """
        assignment = self._context.assignments[partition]
        self.refresh(partition)
        if not self.is_in_sync(partition):
            yield from self._prepare(partition, assignment)
            return
        yield Step.IN_SYNC
        adding, removing = _on(partition, assignment.adding), _on(partition, assignment.removing)
        self._start_missing(adding)
        self._replicas.change(adding, ReplicaState.ONLINE)
        yield Step.BROUGHT_NEW_ONLINE
        target = ReplicaAssignment(assignment.target)
        self._context.assignments[partition] = target
        yield Step.REMEMBERED_TARGET
        self._move_leader(partition, target)
        yield Step.MOVED_LEADER
        self._replicas.change(self._known(removing), ReplicaState.OFFLINE)
        yield Step.TOOK_OLD_OFFLINE
        self._delete(removing)
        yield Step.DELETED_OLD
        self._store.set_assignment(partition, target)
        yield Step.STORED_TARGET
        self._store.remove_reassignment(partition)
        self._context.reassigning.discard(partition)
        self._outbox.update_metadata([partition])
        self._outbox.flush(self._store.epoch)
        yield Step.REMOVED_REQUEST

    def refresh(self, partition: TopicPartition) -> None:
        """Read again who leads and who is in sync, which leaders change on their own."""
        state = self._store.state(partition)
        if state is not None:
            self._context.states[partition] = state

    def is_in_sync(self, partition: TopicPartition) -> bool:
        """Whether all replicas that a partition moves to are in sync, and one of them can lead."""
        state, target = self._context.states.get(partition), self._context.assignments[partition].target
        if state is None or not set(target) <= set(state.isr):
            return False
        return any(each in self._context.live for each in target)

    def _prepare(self, partition: TopicPartition, assignment: ReplicaAssignment) -> Iterator[Step]:
        if partition in self._context.states:
            self._partitions.raise_leader_epoch(partition, assignment.replicas)
        yield Step.RAISED_LEADER_EPOCH
        self._start_missing(_on(partition, assignment.adding))
        yield Step.STARTED_NEW_REPLICAS

    def _start_missing(self, replicas: list[Replica]) -> None:
        """Start those that an earlier controller, or an earlier attempt, did not."""
        missing = [each for each in replicas if self._context.replica_state(each) is ReplicaState.NON_EXISTENT]
        self._replicas.change(missing, ReplicaState.NEW)

    def _move_leader(self, partition: TopicPartition, target: ReplicaAssignment) -> None:
        leader = self._context.states[partition].leader
        if leader in target.replicas and leader in self._context.live:
            self._partitions.raise_leader_epoch(partition, target.replicas)
        else:
            self._partitions.change([partition], PartitionState.ONLINE, Selector.REASSIGN)

    def _remove_unneeded(
        self, partition: TopicPartition, before: ReplicaAssignment, assignment: ReplicaAssignment
    ) -> None:
        """Stop replicas that an earlier reassignment added and this one does not want; first move their leadership."""
        unneeded = [each for each in before.replicas if each not in assignment.replicas]
        state = self._context.states.get(partition)
        if state is not None and state.leader in unneeded:
            self._partitions.change([partition], PartitionState.ONLINE)
        gone = self._known(_on(partition, tuple(unneeded)))
        self._replicas.change(gone, ReplicaState.OFFLINE)
        if gone and state is not None:
            # Otherwise the leader, unless it learns of it in time, could take one that follows on into the ISR.
            self._partitions.raise_leader_epoch(partition, assignment.replicas)
        self._delete(gone)

    def _delete(self, replicas: list[Replica]) -> None:
        """Start the deletion of the files; nobody waits for that."""
        known = self._known(replicas)
        self._replicas.change(known, ReplicaState.DELETION_STARTED)
        self._replicas.change(known, ReplicaState.DELETION_SUCCESSFUL)
        self._replicas.change(known, ReplicaState.NON_EXISTENT)

    def _known(self, replicas: list[Replica]) -> list[Replica]:
        return [each for each in replicas if self._context.replica_state(each) is not ReplicaState.NON_EXISTENT]


def _on(partition: TopicPartition, broker_ids: tuple[int, ...]) -> list[Replica]:
    return [Replica(partition, each) for each in broker_ids]
