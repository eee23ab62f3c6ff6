"""Answers to what the controller should have answered (Kafka: AbstractRequest.getErrorResponse)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.requests import altered_quotas, altered_users
from replication.cluster.broker.requests.altered_quotas import each_entity
from replication.cluster.broker.requests.altered_users import each_user
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages import describe_quorum, elect_leaders, list_partition_reassignments
from replication.wire.messages.describe_quorum import DescribedQuorum, DescribeQuorumRequest
from replication.wire.messages.elect_leaders import ElectionResult, ElectLeadersRequest, ElectLeadersResponse
from replication.wire.messages.list_partition_reassignments import (
    ListedReassignments,
    ListPartitionReassignmentsRequest,
)

_Fault = dict[str, Any]


def unanswered(request: Any, version: int, error: ErrorCode) -> Any:
    """Return the answer to one of the requests that the controller answers: with an error, of all that it names."""
    if isinstance(request, ElectLeadersRequest):
        results = dict.fromkeys(request.partitions or (), ElectionResult(error))
        return ElectLeadersResponse(error=error, results=results)
    if isinstance(request, DescribeQuorumRequest):
        return DescribedQuorum(error=error, error_message=message_of(error))
    if isinstance(request, ListPartitionReassignmentsRequest):
        return ListedReassignments(error=error, error_message=message_of(error), partitions={})
    fault = {"error_code": error, "error_message": message_of(error)}
    return kio_answer(request.__api_key__, version, _CONTENT[request.__api_key__](request, fault))


def _creations(request: Any, fault: _Fault) -> Mapping[str, Any]:
    return {"topics": [{"name": topic.name, "topic_id": None, "configs": [], **fault} for topic in request.topics]}


def _deletions(request: Any, fault: _Fault) -> Mapping[str, Any]:
    named = getattr(request, "topic_names", None)
    if named is None:
        topics = [{"name": topic.name, "topic_id": topic.topic_id} for topic in request.topics]
    else:
        topics = [{"name": name} for name in named]
    return {"responses": [{**topic, **fault} for topic in topics]}


def _enlargements(request: Any, fault: _Fault) -> Mapping[str, Any]:
    return {"results": [{"name": topic.name, **fault} for topic in request.topics]}


def _settings(request: Any, fault: _Fault) -> Mapping[str, Any]:
    named = [{"resource_type": each.resource_type, "resource_name": each.resource_name} for each in request.resources]
    return {"responses": [{**each, **fault} for each in named]}


def _reassignments(_: Any, fault: _Fault) -> Mapping[str, Any]:
    return {"responses": [], "allow_replication_factor_change": True, **fault}


def _features(_: Any, fault: _Fault) -> Mapping[str, Any]:
    return {"results": [], **fault}


def _whole(_: Any, fault: _Fault) -> Mapping[str, Any]:
    return fault


_CONTENT: Final[Mapping[int, Callable[[Any, _Fault], Mapping[str, Any]]]] = {
    19: _creations,
    20: _deletions,
    33: _settings,
    37: _enlargements,
    44: _settings,
    45: _reassignments,
    altered_quotas.API_KEY: each_entity,
    altered_users.API_KEY: each_user,
    57: _features,
    64: _whole,
}
"""By API key: CreateTopics, DeleteTopics, AlterConfigs, CreatePartitions, IncrementalAlterConfigs,
AlterPartitionReassignments, AlterClientQuotas, AlterUserScramCredentials, UpdateFeatures and UnregisterBroker."""
ANSWERED_BY_CONTROLLER: Final = (
    *_CONTENT,
    elect_leaders.API_KEY,
    list_partition_reassignments.API_KEY,
    describe_quorum.API_KEY,
)
"""API keys of what brokers pass on."""
