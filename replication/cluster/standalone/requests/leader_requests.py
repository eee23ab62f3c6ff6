"""Requests about leaders and replicas: ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments."""

from typing import Any, Final

from logstore.topic_partition import TopicPartition
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.topics.reassignments import ReassignmentRequest
from replication.cluster.standalone.static_controller import StaticController
from replication.wire.error_code import ErrorCode
from replication.wire.messages.by_topic import by_topic
from replication.wire.messages.elect_leaders import (
    ElectionResult,
    ElectionType,
    ElectLeadersRequest,
    ElectLeadersResponse,
)
from replication.wire.messages.list_partition_reassignments import (
    ListedReassignments,
    ListPartitionReassignmentsRequest,
    PartitionReassignment,
)
from replication.wire.server.call import Call

ALTER_PARTITION_REASSIGNMENTS: Final = 45


class LeaderRequests:
    """Answers those of which we have messages in their terms, the others in kio's."""

    def __init__(self, controller: StaticController) -> None:
        """Pass them on to this controller."""
        self._controller: Final = controller

    def elect(self, request: ElectLeadersRequest, _: Call) -> ElectLeadersResponse:
        """Answer ElectLeaders."""
        if request.election_type not in set(ElectionType):
            refused = ElectionResult(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
            return ElectLeadersResponse(error=refused.error, results=dict.fromkeys(request.partitions or (), refused))
        kind = ElectionType(request.election_type)
        answers = self._controller.decide(lambda deciding: deciding.elect_leaders(kind, request.partitions))
        return ElectLeadersResponse(
            results={each.partition: ElectionResult(each.error, each.message) for each in answers}
        )

    def reassign(self, request: Any, call: Call) -> Any:
        """Answer AlterPartitionReassignments."""
        wanted = [
            ReassignmentRequest(
                TopicPartition(topic.name, each.partition_index),
                None if each.replicas is None else tuple(each.replicas),
            )
            for topic in request.topics
            for each in topic.partitions
        ]
        allowed = getattr(request, "allow_replication_factor_change", True)
        answers = self._controller.decide(
            lambda deciding: deciding.alter_reassignments(wanted, allow_replication_factor_change=allowed)
        )
        topics = by_topic((each.partition, each) for each in answers)
        responses = [
            {
                "name": name,
                "partitions": [
                    {"partition_index": number, "error_code": each.error, "error_message": each.message}
                    for number, each in partitions
                ],
            }
            for name, partitions in topics.items()
        ]
        return kio_answer(
            ALTER_PARTITION_REASSIGNMENTS,
            call.version,
            {
                "allow_replication_factor_change": allowed,
                "error_code": ErrorCode.NONE,
                "error_message": None,
                "responses": responses,
            },
        )

    def list_reassignments(self, request: ListPartitionReassignmentsRequest, _: Call) -> ListedReassignments:
        """Answer ListPartitionReassignments."""
        ongoing = self._controller.decide(
            lambda deciding: Decision([], deciding.list_reassignments(request.partitions))
        )
        return ListedReassignments(
            partitions={
                each.partition: PartitionReassignment(
                    each.state.replicas, each.state.adding_replicas, each.state.removing_replicas
                )
                for each in ongoing
            }
        )
