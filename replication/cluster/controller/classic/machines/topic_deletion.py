"""The deletion of topics: begun, parked while it cannot go on, finished (Kafka: TopicDeletionManager)."""

from collections.abc import Iterable

from replication.cluster.controller.classic.commands.outbox import Outbox
from replication.cluster.controller.classic.context import Context
from replication.cluster.controller.classic.machines.partition_machine import PartitionMachine
from replication.cluster.controller.classic.machines.replica_machine import ReplicaMachine
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.replica_states import Replica, ReplicaState
from replication.cluster.controller.classic.store.cluster_store import ClusterStore


class TopicDeletion:
    """Which topics are to be deleted stands in the context."""

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

    def ask(self, topics: Iterable[str]) -> None:
        """Put topics on the list and delete those that can be."""
        self._context.deleting.update(topics)
        self.go_on()

    def park(self, topics: Iterable[str]) -> None:
        """Leave topics alone until something happens that lets their deletion go on."""
        self._context.parked.update(self._context.deleting.intersection(topics))

    def resume(self, topics: Iterable[str]) -> None:
        """Resume the deletion of topics, but for those with partitions that move."""
        resumed = {each for each in self._context.deleting.intersection(topics) if not self._context.is_moving(each)}
        if resumed:
            self._context.parked -= resumed
            self.go_on()

    def succeeded(self, replicas: Iterable[Replica]) -> None:
        """Note that brokers deleted replicas."""
        started = [each for each in replicas if self._context.replica_state(each) is ReplicaState.DELETION_STARTED]
        self._replicas.change(started, ReplicaState.DELETION_SUCCESSFUL)
        self.go_on()

    def failed(self, replicas: Iterable[Replica]) -> None:
        """Note that replicas cannot be deleted for now: their brokers are dead, or failed to."""
        waiting = [
            each
            for each in replicas
            if self._context.is_deleting(each.partition)
            and self._context.replica_state(each).can_become(ReplicaState.DELETION_INELIGIBLE)
        ]
        self._replicas.change(waiting, ReplicaState.DELETION_INELIGIBLE)
        self.park({each.partition.topic for each in waiting})
        self.go_on()

    def go_on(self) -> None:
        """Finish, retry or begin the deletion of each topic, as far as it has come."""
        for topic in sorted(self._context.deleting):
            states = self._states(topic)
            if states <= {ReplicaState.DELETION_SUCCESSFUL}:
                self._finish(topic)
                continue
            if ReplicaState.DELETION_STARTED in states:
                continue
            if ReplicaState.DELETION_INELIGIBLE in states:
                self._replicas.change(self._in_state(topic, ReplicaState.DELETION_INELIGIBLE), ReplicaState.OFFLINE)
            if topic not in self._context.parked:
                self._begin(topic)

    def _begin(self, topic: str) -> None:
        partitions = self._context.partitions_of([topic])
        existing = [
            each for each in partitions if self._context.partition_state(each) is not PartitionState.NON_EXISTENT
        ]
        self._partitions.change(existing, PartitionState.OFFLINE)
        self._partitions.change(existing, PartitionState.NON_EXISTENT)
        self._outbox.update_metadata(partitions)
        self._outbox.flush(self._store.epoch)
        self._delete_replicas(topic)

    def _delete_replicas(self, topic: str) -> None:
        deleted = set(self._in_state(topic, ReplicaState.DELETION_SUCCESSFUL))
        left = [each for each in self._replicas_of(topic) if each not in deleted]
        dead = [each for each in left if each.broker_id not in self._context.live]
        live = [each for each in left if each.broker_id in self._context.live]
        self._replicas.change(dead, ReplicaState.DELETION_INELIGIBLE)
        self._replicas.change(live, ReplicaState.OFFLINE)
        self._replicas.change(live, ReplicaState.DELETION_STARTED)
        if dead:
            self.park([topic])

    def _finish(self, topic: str) -> None:
        self._replicas.change(self._replicas_of(topic), ReplicaState.NON_EXISTENT)
        self._store.delete_topic(topic)
        self._context.forget_topic(topic)

    def _replicas_of(self, topic: str) -> list[Replica]:
        return self._context.replicas_of(self._context.partitions_of([topic]))

    def _in_state(self, topic: str, state: ReplicaState) -> list[Replica]:
        return [each for each in self._replicas_of(topic) if self._context.replica_state(each) is state]

    def _states(self, topic: str) -> set[ReplicaState]:
        return {self._context.replica_state(each) for each in self._replicas_of(topic)}
