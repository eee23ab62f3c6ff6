"""Commands gathered during one change, then put into the brokers' queues (Kafka: ControllerBrokerRequestBatch)."""

from collections import defaultdict
from collections.abc import Iterable

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
from replication.cluster.controller.classic.leader_and_isr import LEADER_DURING_DELETE, LeaderAndIsr


class Outbox:
    """What is to be said; `flush` says it, to each broker at most one command of each kind."""

    def __init__(self, broker_id: int, context: Context) -> None:
        self.queues: dict[int, BrokerQueue] = {}
        """By broker; commands for one without a queue are dropped, as it is gone."""
        self._broker_id = broker_id
        self._context = context
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
        for broker_id in [*self._context.broker_epochs] if brokers is None else brokers:
            self._update_metadata[broker_id].update(told)

    def stop_replica(self, broker_id: int, partition: TopicPartition, *, delete: bool) -> None:
        """Queue StopReplica for a broker."""
        state = self._context.states.get(partition)
        told = self._stop_replica[broker_id]
        already_delete = partition in told and told[partition].delete
        told[partition] = StopPartition(-1 if state is None else state.leader_epoch, delete or already_delete)

    def flush(self, controller_epoch: int) -> None:
        """Put what was gathered into the queues: first who leads, then what clients get, then who stops."""
        live = tuple(sorted(self._context.broker_epochs))
        for broker_id, partitions in self._leader_and_isr.items():
            epoch = self._context.broker_epochs.get(broker_id, -1)
            self._add(broker_id, LeaderAndIsrRequest(self._broker_id, controller_epoch, epoch, partitions))
        for broker_id, metadata in self._update_metadata.items():
            epoch = self._context.broker_epochs.get(broker_id, -1)
            self._add(broker_id, UpdateMetadataRequest(self._broker_id, controller_epoch, epoch, metadata, live))
        for broker_id, stopped in self._stop_replica.items():
            epoch = self._context.broker_epochs.get(broker_id, -1)
            self._add(broker_id, StopReplicaRequest(self._broker_id, controller_epoch, epoch, stopped))
        self.clear()

    def clear(self) -> None:
        """Forget what was gathered."""
        self._leader_and_isr = defaultdict(dict)
        self._update_metadata = defaultdict(dict)
        self._stop_replica = defaultdict(dict)

    def _add(self, broker_id: int, command: Command) -> None:
        if broker_id in self.queues:
            self.queues[broker_id].add(command)

    def _metadata(self, partition: TopicPartition) -> LeaderAndIsr:
        state = self._context.states[partition]
        return state._replace(leader=LEADER_DURING_DELETE) if self._context.is_deleting(partition) else state
