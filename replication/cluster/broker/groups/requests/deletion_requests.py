"""Requests to forget groups, or what they have committed: DeleteGroups and OffsetDelete."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from logstore import TopicPartition
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.coordinator import GroupCoordinator
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.records.metadata.image import ClusterImage
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call

DELETE_GROUPS: Final = 42
OFFSET_DELETE: Final = 47

_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED


class DeletionRequests:
    """Answers them in kio's terms."""

    def __init__(
        self,
        coordinator: GroupCoordinator,
        image: Callable[[], ClusterImage],
        permissions: PermissionsOf = unlimited,
    ) -> None:
        """`image` gives the cluster's topics; callers have to be allowed to delete the group."""
        self._coordinator = coordinator
        self._image = image
        self._permissions = permissions

    def delete_groups(self, request: Any, call: Call) -> Any:
        """Answer DeleteGroups: those without members go, with what they have committed."""
        permissions = self._permissions(call.caller)
        results = [
            {
                "group_id": group_id,
                "error_code": self._coordinator.delete(group_id)
                if permissions.may(Operation.DELETE, ResourceType.GROUP, group_id)
                else _DENIED,
            }
            for group_id in dict.fromkeys(request.groups_names)
        ]
        return kio_answer(DELETE_GROUPS, call.version, {"results": results})

    def delete_offsets(self, request: Any, call: Call) -> Any:
        """Answer OffsetDelete: what is committed for topics goes that the group does not read."""
        permissions, topics = self._permissions(call.caller), self._image().topics
        if not permissions.may(Operation.DELETE, ResourceType.GROUP, request.group_id):
            return _offsets_answer(call, _DENIED)
        named = [each.name for each in request.topics]
        permitted = frozenset(permissions.those(Operation.READ, ResourceType.TOPIC, named))
        partitions = [
            TopicPartition(topic.name, each.partition_index)
            for topic in request.topics
            if topic.name in permitted and topic.name in topics.by_name
            for each in topic.partitions
            if each.partition_index in topics.by_name[topic.name].partitions
        ]
        try:
            errors = self._coordinator.delete_offsets(request.group_id, partitions)
        except GroupRefusedError as refused:
            return _offsets_answer(call, refused.code)
        told = [
            _deleted(
                topic,
                errors,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                if topic.name in permitted
                else ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            )
            for topic in request.topics
            if topic.partitions or topic.name not in topics.by_name or topic.name not in permitted  # as Kafka has it
        ]
        return _offsets_answer(call, ErrorCode.NONE, told)


def _offsets_answer(call: Call, error: ErrorCode, topics: list[dict[str, Any]] | None = None) -> Any:
    return kio_answer(OFFSET_DELETE, call.version, {"error_code": error, "topics": topics or []})


def _deleted(topic: Any, errors: Mapping[TopicPartition, ErrorCode], otherwise: ErrorCode) -> dict[str, Any]:
    partitions = [
        {
            "partition_index": each.partition_index,
            "error_code": errors.get(TopicPartition(topic.name, each.partition_index), otherwise),
        }
        for each in topic.partitions
    ]
    return {"name": topic.name, "partitions": partitions}
