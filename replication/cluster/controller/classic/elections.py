"""Elections on request (Kafka: processReplicaLeaderElection)."""

from collections.abc import Iterable
from enum import Enum, auto

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic.context import Context
from replication.cluster.controller.classic.errors import StateChangeError
from replication.cluster.controller.classic.leader_and_isr import NO_LEADER
from replication.cluster.controller.classic.machines.partition_machine import PartitionMachine
from replication.cluster.controller.classic.partition_states import PartitionState
from replication.cluster.controller.classic.selectors import Selector
from replication.cluster.controller.elections import ElectionAnswer
from replication.wire.error_code import ErrorCode
from replication.wire.messages.elect_leaders import ElectionType


class Trigger(Enum):
    """Who wants an election; only an admin client may want to lose records by it."""

    ADMIN_CLIENT = auto()
    STORE = auto()
    """The request node in the coordination store."""
    AUTOMATIC = auto()
    """The imbalance check."""


class Elections:
    """Holds elections."""

    def __init__(self, context: Context, partitions: PartitionMachine) -> None:
        self._context = context
        self._partitions = partitions

    def elect(
        self, election_type: ElectionType, partitions: Iterable[TopicPartition] | None, trigger: Trigger
    ) -> list[ElectionAnswer]:
        """Elect for partitions, or for all (None), of which those that need no election are not reported."""
        if partitions is not None:
            return [self._elect(election_type, each, trigger) for each in partitions]
        answers = [self._elect(election_type, each, trigger) for each in list(self._context.assignments)]
        return [each for each in answers if each.error is not ErrorCode.ELECTION_NOT_NEEDED]

    def _elect(self, election_type: ElectionType, partition: TopicPartition, trigger: Trigger) -> ElectionAnswer:
        refused = self._refuse(election_type, partition)
        if refused is not None:
            return refused
        is_preferred = election_type is ElectionType.PREFERRED
        selector = Selector.PREFERRED if is_preferred else Selector.OFFLINE
        unclean = trigger is Trigger.ADMIN_CLIENT
        outcomes = self._partitions.change([partition], PartitionState.ONLINE, selector, unclean=unclean)
        outcome = outcomes[partition]
        if not isinstance(outcome, StateChangeError):
            return ElectionAnswer(partition, ErrorCode.NONE)
        not_available = (
            ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE if is_preferred else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        )
        return ElectionAnswer(partition, not_available, str(outcome))

    def _refuse(self, election_type: ElectionType, partition: TopicPartition) -> ElectionAnswer | None:
        assignment = self._context.assignments.get(partition)
        if assignment is None:
            return ElectionAnswer(partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        if partition.topic in self._context.deleting:
            return ElectionAnswer(partition, ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
        state = self._context.states.get(partition)
        leader = NO_LEADER if state is None else state.leader
        is_preferred = election_type is ElectionType.PREFERRED
        if leader in assignment.replicas[:1] if is_preferred else leader in self._context.live:
            message = "Leader election not needed for topic partition."
            return ElectionAnswer(partition, ErrorCode.ELECTION_NOT_NEEDED, message)
        return None
