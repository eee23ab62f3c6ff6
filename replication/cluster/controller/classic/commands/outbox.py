"""Commands gathered during one change, then put into the brokers' queues (Kafka: ControllerBrokerRequestBatch)."""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.broker_queue import BrokerQueue
from replication.cluster.controller.classic.commands.commands import (
    Command,
    LeaderAndIsrRequest,
    PartitionCommand,
    StopPartition,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from replication.cluster.controller.classic.context import Context
from replication.cluster.controller.classic.leader_and_isr import (
    LEADER_DURING_DELETE,
    LEADER_EPOCH_DURING_DELETE,
    NO_LEADER_EPOCH,
    LeaderAndIsr,
)
from replication.cluster.controller.classic.registered_broker import RegisteredBroker


class Outbox:
    """What is to be said; `flush` says it, to each broker at most one command of each kind.

    StopReplica comes apart in replicas that are deleted and those that are not: before Kafka 2.6 one request can say
    only one of the two.
    """

    def __init__(self, broker_id: int, context: Context, own: RegisteredBroker | None = None) -> None:
        """Name with each broker this controller's own registration, by which brokers find it."""
        self.queues: dict[int, BrokerQueue] = {}
        """By broker; commands for one without a queue are dropped, as it is gone."""
        self._broker_id = broker_id
        self._context = context
        self._own = {} if own is None else {broker_id: own}
        self._leader_and_isr: dict[int, dict[TopicPartition, PartitionCommand]] = defaultdict(dict)
        self._update_metadata: dict[int, dict[TopicPartition, LeaderAndIsr]] = defaultdict(dict)
        self._stop_replica: dict[int, dict[TopicPartition, StopPartition]] = defaultdict(dict)

    def leader_and_isr(self, brokers: Iterable[int], partition: TopicPartition, *, is_new: bool = False) -> None:
        """Queue LeaderAndIsr for brokers that lead or follow a partition, and metadata updates for all."""
        state, assignment = self._context.states[partition], self._context.assignments[partition]
        for broker_id in brokers:
            told = self._leader_and_isr[broker_id]
            already_new = partition in told and told[partition].is_new
            told[partition] = PartitionCommand(state, assignment, is_new or already_new)
        self.update_metadata([partition])

    def update_metadata(self, partitions: Iterable[TopicPartition], brokers: Iterable[int] | None = None) -> None:
        """Queue UpdateMetadata of partitions for brokers, or all; without partitions it lists live brokers."""
        told = {each: self._metadata(each) for each in partitions if each in self._context.states}
        for broker_id in [*self._context.registered] if brokers is None else brokers:
            self._update_metadata[broker_id].update(told)

    def stop_replica(self, broker_id: int, partition: TopicPartition, *, delete: bool) -> None:
        """Queue StopReplica for a broker."""
        state = self._context.states.get(partition)
        told = self._stop_replica[broker_id]
        already_delete = partition in told and told[partition].delete
        leader_epoch = NO_LEADER_EPOCH if state is None else state.leader_epoch
        if partition.topic in self._context.deleting:
            leader_epoch = LEADER_EPOCH_DURING_DELETE
        told[partition] = StopPartition(leader_epoch, delete or already_delete)

    def flush(self, controller_epoch: int) -> None:
        """Put what was gathered into the queues: first who leads, then what clients get, then who stops."""
        brokers = {**self._context.registered, **self._own}
        live = tuple(sorted(brokers))
        for broker_id, partitions in self._leader_and_isr.items():
            start = self._start(broker_id, controller_epoch)
            self._add(broker_id, LeaderAndIsrRequest(*start, partitions, self._topic_ids(partitions), brokers))
        for broker_id, metadata in self._update_metadata.items():
            start = self._start(broker_id, controller_epoch)
            replicas = {each: self._replicas(each) for each in metadata}
            ids = self._topic_ids(metadata)
            self._add(broker_id, UpdateMetadataRequest(*start, metadata, live, replicas, ids, brokers))
        for broker_id, stopped in self._stop_replica.items():
            start = self._start(broker_id, controller_epoch)
            for delete in (False, True):
                some = {each: stop for each, stop in stopped.items() if stop.delete is delete}
                if some:
                    self._add(broker_id, StopReplicaRequest(*start, some))
        self.clear()

    def clear(self) -> None:
        """Forget what was gathered."""
        self._leader_and_isr = defaultdict(dict)
        self._update_metadata = defaultdict(dict)
        self._stop_replica = defaultdict(dict)

    def _start(self, broker_id: int, controller_epoch: int) -> tuple[int, int, int]:
        """Return what each command begins with: whose it is, and for which registration of the broker."""
        registered = self._context.registered.get(broker_id)
        return self._broker_id, controller_epoch, -1 if registered is None else registered.epoch

    def _topic_ids(self, partitions: Iterable[TopicPartition]) -> dict[str, UUID]:
        topics = {partition.topic for partition in partitions}
        return {topic: self._context.topic_ids[topic] for topic in sorted(topics & self._context.topic_ids.keys())}

    def _replicas(self, partition: TopicPartition) -> tuple[int, ...]:
        assignment = self._context.assignments.get(partition)
        return () if assignment is None else assignment.replicas

    def _add(self, broker_id: int, command: Command) -> None:
        if broker_id in self.queues:
            self.queues[broker_id].add(command)

    def _metadata(self, partition: TopicPartition) -> LeaderAndIsr:
        state = self._context.states[partition]
        return state._replace(leader=LEADER_DURING_DELETE) if self._context.is_deleting(partition) else state
