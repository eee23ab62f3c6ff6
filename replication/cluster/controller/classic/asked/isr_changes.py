"""What leaders ask for: other replicas in the ISR (Kafka: KafkaController.processAlterPartition, KIP-497)."""

from typing import Final

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.commands.outbox import Outbox
from replication.cluster.controller.classic.context import Context
from replication.cluster.controller.classic.errors import BadVersionError, StateChangeError
from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.store.cluster_store import ClusterStore
from replication.records.metadata.partition import LeaderRecoveryState
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrAnswer,
    IsrChange,
)

_RECOVERY_STATES: Final = frozenset(LeaderRecoveryState)


class IsrChanges:
    """Writes the ISRs that may be, and gives all brokers notice of them."""

    def __init__(self, context: Context, store: ClusterStore, outbox: Outbox) -> None:
        self._context = context
        self._store = store
        self._outbox = outbox

    def change(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        """Answer for each partition; for the request as a whole only where another registration of the broker holds."""
        sender = self._context.registered.get(request.broker_id)
        if sender is None or sender.epoch != request.broker_epoch:
            return AlterPartitionResponse(error=ErrorCode.STALE_BROKER_EPOCH)
        changed: list[TopicPartition] = []
        answers = tuple(self._change(request.broker_id, each, changed) for each in request.changes)
        if changed:
            self._outbox.update_metadata(changed)
            self._outbox.flush(self._store.epoch)
        return AlterPartitionResponse(answers=answers)

    def _change(self, sender: int, change: IsrChange, changed: list[TopicPartition]) -> IsrAnswer:
        topic = self._context.topic_names.get(change.topic_id)
        if topic is None:
            return IsrAnswer(change.topic_id, change.partition, ErrorCode.UNKNOWN_TOPIC_ID)
        partition = TopicPartition(topic, change.partition)
        current = self._context.states.get(partition)
        if current is None:
            return IsrAnswer(change.topic_id, change.partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        error = self._fault(sender, change, partition, current)
        if error is not ErrorCode.NONE:
            return IsrAnswer(change.topic_id, change.partition, error)
        recovery = LeaderRecoveryState(change.leader_recovery_state)
        if (change.broker_ids, recovery) != (current.isr, current.recovery_state):
            try:
                current = self._write(partition, current, change.broker_ids, recovery)
            except (BadVersionError, StateChangeError):
                # Somebody else has written it: what is asked for next starts from what they wrote.
                self._refresh(partition)
                return IsrAnswer(change.topic_id, change.partition, ErrorCode.INVALID_UPDATE_VERSION)
            changed.append(partition)
        return _granted(change, current)

    def _fault(self, sender: int, change: IsrChange, partition: TopicPartition, current: LeaderAndIsr) -> ErrorCode:
        """Return why a change is not granted. A sender that is ahead of this controller knows a newer one."""
        isr, replicas = set(change.broker_ids), self._context.assignments[partition].replicas
        if change.leader_epoch > current.leader_epoch or change.partition_epoch > current.version:
            return ErrorCode.NOT_CONTROLLER
        if change.leader_epoch < current.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if sender != current.leader:
            return ErrorCode.INVALID_REQUEST
        wanted = (change.broker_ids, change.leader_recovery_state)
        if wanted == (current.isr, current.recovery_state):
            return ErrorCode.NONE  # asked again, as the answer was lost: the partition epoch may be the earlier one
        if change.partition_epoch < current.version:
            return ErrorCode.INVALID_UPDATE_VERSION
        if len(isr) < len(change.isr) or not isr <= set(replicas) or current.leader not in isr:
            return ErrorCode.INVALID_REQUEST
        recovering = change.leader_recovery_state == LeaderRecoveryState.RECOVERING
        recovered = current.recovery_state is LeaderRecoveryState.RECOVERED
        if change.leader_recovery_state not in _RECOVERY_STATES or (recovering and (recovered or len(isr) > 1)):
            return ErrorCode.INVALID_REQUEST
        return ErrorCode.NONE if isr <= self._context.live else ErrorCode.INELIGIBLE_REPLICA

    def _write(
        self, partition: TopicPartition, current: LeaderAndIsr, isr: tuple[int, ...], recovery: LeaderRecoveryState
    ) -> LeaderAndIsr:
        state = self._store.set_state(partition, current._replace(isr=isr, recovery_state=recovery))
        self._context.states[partition] = state
        return state

    def _refresh(self, partition: TopicPartition) -> None:
        state = self._store.state(partition)
        if state is not None:
            self._context.states[partition] = state


def _granted(change: IsrChange, state: LeaderAndIsr) -> IsrAnswer:
    return IsrAnswer(
        change.topic_id,
        change.partition,
        ErrorCode.NONE,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=state.isr,
        leader_recovery_state=int(state.recovery_state),
        partition_epoch=state.version,
    )
