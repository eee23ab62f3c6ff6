"""A controller that says of everything what a real one says that has nothing to do, and changes nothing."""

from typing import Any

from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.requests import altered_quotas
from replication.cluster.broker.requests.altered_quotas import each_entity
from replication.wire.encoding.kio_messages import served_versions
from replication.wire.error_code import ErrorCode, message_of
from replication.wire.messages import elect_leaders, list_partition_reassignments
from replication.wire.messages.elect_leaders import ElectionResult, ElectLeadersResponse
from replication.wire.messages.list_partition_reassignments import ListedReassignments
from replication.wire.server.call import Call
from replication.wire.server.served_api import ServedApi, ServedApis

_DONE = {"error_code": ErrorCode.NONE, "error_message": None}


def stub_administration() -> ServedApis:
    """Topics that are to be made and changed are, those to be deleted are unknown, and leaders are as they should."""
    answers = {
        19: _create,
        20: _delete,
        33: _alter,
        37: _enlarge,
        44: _alter,
        45: _reassign,
        altered_quotas.API_KEY: _limit,
        51: _remove,
        64: _unregister,
    }
    served = {
        key: ServedApi(
            served_versions(key) or range(0), lambda request, call, key=key: answers[key](key, request, call)
        )
        for key in answers
    }
    served[elect_leaders.API_KEY] = ServedApi(elect_leaders.VERSIONS, _elect)
    served[list_partition_reassignments.API_KEY] = ServedApi(list_partition_reassignments.VERSIONS, _list)
    return served


def _create(key: int, request: Any, call: Call) -> Any:
    made = {"topic_id": None, "topic_config_error_code": 0, "num_partitions": 1, "replication_factor": 1, "configs": ()}
    topics = [{"name": each.name, **_DONE, **made} for each in request.topics]
    return kio_answer(key, call.version, {"topics": topics})


def _limit(key: int, request: Any, call: Call) -> Any:
    return kio_answer(key, call.version, each_entity(request, _DONE))


def _delete(key: int, request: Any, call: Call) -> Any:
    if call.version < 6:
        named = [(each, None) for each in request.topic_names]
    else:
        named = [(each.name, each.topic_id) for each in request.topics]
    responses = [
        {
            "name": name,
            "topic_id": topic_id,
            "error_code": error,
            "error_message": message_of(error),
        }
        for name, topic_id in named
        for error in [ErrorCode.UNKNOWN_TOPIC_ID if topic_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    ]
    return kio_answer(key, call.version, {"responses": responses})


def _alter(key: int, request: Any, call: Call) -> Any:
    responses = [
        {"resource_type": each.resource_type, "resource_name": each.resource_name, **_DONE}
        for each in request.resources
    ]
    return kio_answer(key, call.version, {"responses": responses})


def _enlarge(key: int, request: Any, call: Call) -> Any:
    return kio_answer(key, call.version, {"results": [{"name": each.name, **_DONE} for each in request.topics]})


def _reassign(key: int, request: Any, call: Call) -> Any:
    none = {"error_code": ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "error_message": None}
    responses = [
        {
            "name": topic.name,
            "partitions": [{"partition_index": each.partition_index, **none} for each in topic.partitions],
        }
        for topic in request.topics
    ]
    allowed = getattr(request, "allow_replication_factor_change", True)
    content = {**_DONE, "allow_replication_factor_change": allowed, "responses": responses}
    return kio_answer(key, call.version, content)


def _remove(key: int, request: Any, call: Call) -> Any:
    unknown = {
        "error_code": ErrorCode.RESOURCE_NOT_FOUND,
        "error_message": "Attempt to delete a user credential that does not exist",
    }
    return kio_answer(key, call.version, {"results": [{"user": each.name, **unknown} for each in request.deletions]})


def _unregister(key: int, _: Any, call: Call) -> Any:
    return kio_answer(key, call.version, _DONE)


def _elect(request: Any, _: Call) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        results=dict.fromkeys(request.partitions, ElectionResult(ErrorCode.ELECTION_NOT_NEEDED))
    )


def _list(_: Any, __: Call) -> ListedReassignments:
    return ListedReassignments(partitions={})
