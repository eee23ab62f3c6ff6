"""Requests of administrators about topics, leaders and replicas (Kafka: KafkaApis, where it asks the controller)."""

from typing import Any, Final

from logstore.topic_partition import TopicPartition
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.classic.guarded_controller import GuardedController
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.term import Term
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.topics import TopicAnswer
from replication.cluster.standalone.requests.leader_requests import ALTER_PARTITION_REASSIGNMENTS
from replication.cluster.standalone.requests.topic_requests import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    creation_told,
    deletion_told,
    enlargement_told,
    more_partitions_of,
    new_topic_of,
)
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages import elect_leaders, list_partition_reassignments
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
from replication.wire.server.served_api import ServedApi, ServedApis

_CREATE_TOPICS_VERSIONS: Final = range(2, 8)
_DELETE_TOPICS_VERSIONS: Final = range(1, 7)
_NAMES_IDS: Final = 6
"""The first version of DeleteTopics that may name topics by their ids."""


class Administration:
    """Answers those of which we have messages in their terms, the others in kio's."""

    def __init__(self, controller: GuardedController) -> None:
        """Ask this controller."""
        self._controller: Final = controller

    def apis(self) -> ServedApis:
        """Return what is answered so."""
        return {
            CREATE_TOPICS: ServedApi(_CREATE_TOPICS_VERSIONS, self.create),
            CREATE_PARTITIONS: ServedApi(range(4), self.enlarge),
            DELETE_TOPICS: ServedApi(_DELETE_TOPICS_VERSIONS, self.delete),
            elect_leaders.API_KEY: ServedApi(elect_leaders.VERSIONS, self.elect),
            ALTER_PARTITION_REASSIGNMENTS: ServedApi(range(1), self.reassign),
            list_partition_reassignments.API_KEY: ServedApi(
                list_partition_reassignments.VERSIONS, self.list_reassignments
            ),
        }

    def create(self, request: Any, call: Call) -> Any:
        """Answer CreateTopics: once leaders are elected, whether brokers know of it or not."""
        wanted = [new_topic_of(topic) for topic in request.topics]
        try:
            answers = self._controller.decide(
                lambda term: term.create_topics(wanted, validate_only=request.validate_only)
            )
        except Refusal as refusal:
            answers = [TopicAnswer(topic.name, refusal.code, refusal.message) for topic in wanted]
        return kio_answer(CREATE_TOPICS, call.version, {"topics": [creation_told(each) for each in answers]})

    def enlarge(self, request: Any, call: Call) -> Any:
        """Answer CreatePartitions: once leaders are elected, as with CreateTopics."""
        results = [enlargement_told(self._enlarged(topic, request)) for topic in request.topics]
        return kio_answer(CREATE_PARTITIONS, call.version, {"results": results})

    def delete(self, request: Any, call: Call) -> Any:
        """Answer DeleteTopics: topics are on the list of those that are deleted then."""
        try:
            told = self._controller.decide(lambda term: _deleted(term, request, call.version))
        except Refusal as refusal:
            told = [deletion_told(*named, refusal.code, refusal.message) for named in _named(request, call.version)]
        return kio_answer(DELETE_TOPICS, call.version, {"responses": told})

    def elect(self, request: ElectLeadersRequest, _: Call) -> ElectLeadersResponse:
        """Answer ElectLeaders."""
        if request.election_type not in set(ElectionType):
            refused = ElectionResult(ErrorCode.INVALID_REQUEST, f"Unknown election type {request.election_type}")
            return ElectLeadersResponse(error=refused.error, results=dict.fromkeys(request.partitions or (), refused))
        kind = ElectionType(request.election_type)
        try:
            answers = self._controller.decide(lambda term: term.elect_leaders(kind, request.partitions))
        except Refusal as refusal:
            result = ElectionResult(refusal.code, refusal.message)
            return ElectLeadersResponse(error=refusal.code, results=dict.fromkeys(request.partitions or (), result))
        results = {each.partition: ElectionResult(each.error, each.message) for each in answers}
        return ElectLeadersResponse(results=results)

    def reassign(self, request: Any, call: Call) -> Any:
        """Answer AlterPartitionReassignments."""
        wanted = [
            (TopicPartition(topic.name, each.partition_index), None if each.replicas is None else (*each.replicas,))
            for topic in request.topics
            for each in topic.partitions
        ]
        outcomes = [(partition, self._reassigned(partition, target)) for partition, target in wanted]
        responses = [
            {
                "name": name,
                "partitions": [
                    {"partition_index": number, "error_code": error, "error_message": message}
                    for number, (error, message) in partitions
                ],
            }
            for name, partitions in by_topic(outcomes).items()
        ]
        whole = {"error_code": ErrorCode.NONE, "error_message": None, "responses": responses}
        return kio_answer(ALTER_PARTITION_REASSIGNMENTS, call.version, whole)

    def list_reassignments(self, request: ListPartitionReassignmentsRequest, _: Call) -> ListedReassignments:
        """Answer ListPartitionReassignments."""
        try:
            moving = self._controller.decide(_moving)
        except Refusal as refusal:
            return ListedReassignments(error=refusal.code, error_message=message_of(refusal.code), partitions={})
        return ListedReassignments(
            partitions={
                partition: PartitionReassignment(each.replicas, each.adding, each.removing)
                for partition, each in moving.items()
                if request.partitions is None or partition in request.partitions
            }
        )

    def _enlarged(self, topic: Any, request: Any) -> TopicAnswer:
        more = more_partitions_of(topic)
        try:
            return self._controller.decide(lambda term: term.add_partitions(more, validate_only=request.validate_only))
        except Refusal as refusal:
            return TopicAnswer(topic.name, refusal.code, refusal.message)

    def _reassigned(self, partition: TopicPartition, target: tuple[int, ...] | None) -> tuple[ErrorCode, str | None]:
        try:
            self._controller.decide(lambda term: term.reassign(partition, target))
        except Refusal as refusal:
            return refusal.code, refusal.message
        return ErrorCode.NONE, None


def _moving(term: Term) -> dict[TopicPartition, ReplicaAssignment]:
    return {each: term.context.assignments[each] for each in sorted(term.context.reassigning)}


def _named(request: Any, version: int) -> list[tuple[str | None, Any]]:
    """Return the names or ids of topics that a request has."""
    if version < _NAMES_IDS:
        return [(name, None) for name in request.topic_names]
    return [(topic.name, topic.topic_id) for topic in request.topics]


def _deleted(term: Term, request: Any, version: int) -> list[dict[str, Any]]:
    told = []
    for name, topic_id in _named(request, version):
        found = term.context.topic_names.get(topic_id) if name is None else name
        if found is None:
            told.append(deletion_told(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, None))
            continue
        (answer,) = term.delete_topics([found])
        message = message_of(answer.error)
        told.append(deletion_told(found, answer.topic_id, answer.error, message))
    return told
