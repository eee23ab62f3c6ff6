"""Answers AlterReplicaLogDirs: replicas move to other directories of this broker (KIP-113)."""

from collections.abc import Callable
from typing import Any, Final

from logstore import TopicPartition
from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.wire.error_code import ErrorCode
from replication.wire.messages.by_topic import by_topic
from replication.wire.server.call import Call

API_KEY: Final = 34
VERSIONS: Final = range(1, 3)


class LogDirMoves:
    """Passes on which partitions are to lie where (Kafka: ReplicaManager.alterReplicaLogDirs)."""

    def __init__(self, ask: Callable[[TopicPartition, str], ErrorCode], permissions: PermissionsOf = unlimited) -> None:
        """`ask` takes a partition and an entry of log.dirs, and returns what is answered.

        Whoever may not alter the cluster is refused.
        """
        self._ask = ask
        self._permissions = permissions

    def answer(self, request: Any, call: Call) -> Any:
        """Answer, in kio's terms: the moves are done once DescribeLogDirs says so."""
        ask = self._ask if self._permissions(call.caller).may(Operation.ALTER, ResourceType.CLUSTER) else _denied
        told = [
            (TopicPartition(topic.name, index), ask(TopicPartition(topic.name, index), entry.path))
            for entry in request.dirs
            for topic in entry.topics
            for index in topic.partitions
        ]
        results = [
            {
                "topic_name": topic,
                "partitions": [{"partition_index": index, "error_code": error} for index, error in entries],
            }
            for topic, entries in by_topic(told).items()
        ]
        return kio_answer(API_KEY, call.version, {"results": results})


def _denied(_: TopicPartition, __: str) -> ErrorCode:
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
