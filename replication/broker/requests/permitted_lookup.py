"""Finds only those partitions that a caller may ask about."""

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from replication.broker.authorization.operation import Operation
from replication.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.broker.authorization.resource_type import ResourceType
from replication.broker.partitions.hosted_partitions import HostedPartitions, Pair
from replication.broker.requests.known_cluster import KnownCluster
from replication.broker.requests.partition_lookup import PartitionLookup
from replication.protocol.error_code import ErrorCode
from replication.server.call import Call

Answer: TypeAlias = Callable[[Any, Call], Any]
MayAsk: TypeAlias = Callable[[Permissions, Any], Callable[[str], bool]]
"""Says of a caller and his request about which topics he may ask, by name."""


class PermittedLookup(PartitionLookup):
    """Has no copy of others, and that is why: whatever is asked about them is answered so.

    What a request may is decided once for each topic, whatever changes while it waits.
    """

    def __init__(
        self,
        partitions: HostedPartitions,
        cluster: KnownCluster,
        may_ask: Callable[[str], bool],
        viewpoint: object = None,
    ) -> None:
        """`may_ask` is asked about topics by name; `viewpoint` is equal as long as it answers the same."""
        super().__init__(partitions, cluster)
        find, is_permitted = self.copy, cache(may_ask)
        # None of these refers to this object: it is gone with its request.
        self.copy = lambda partition: find(partition) if is_permitted(partition[0]) else None
        self.viewpoint = viewpoint
        if may_ask is _nothing:
            self.unnamed = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        self._is_permitted = is_permitted

    def absence(self, partition: Pair) -> ErrorCode:
        """Return why there is no copy of a partition here for this caller."""
        is_permitted = self._is_permitted(partition[0])
        return super().absence(partition) if is_permitted else ErrorCode.TOPIC_AUTHORIZATION_FAILED

    def unknown(self, partition: Pair) -> ErrorCode:
        """Return that the caller may not ask, or that the cluster has no such partition; NONE where it has."""
        is_permitted = self._is_permitted(partition[0])
        return super().unknown(partition) if is_permitted else ErrorCode.TOPIC_AUTHORIZATION_FAILED


def permitted_answer(
    partitions: HostedPartitions,
    cluster: KnownCluster,
    permissions: PermissionsOf,
    may_ask: MayAsk,
    make: Callable[[PartitionLookup], Answer],
) -> Answer:
    """Return what answers each request from the partitions that it may ask about: one for all where it may any."""
    if permissions is unlimited:
        return make(PartitionLookup(partitions, cluster))

    def answer(request: Any, call: Call) -> Any:
        granted = permissions(call.caller)
        return make(PermittedLookup(partitions, cluster, may_ask(granted, request), granted))(request, call)

    return answer


def with_topic(operation: Operation) -> MayAsk:
    """Ask about topics with which the caller may do this."""
    return lambda permissions, _: lambda topic: permissions.may(operation, ResourceType.TOPIC, topic)


def fetched(permissions: Permissions, request: Any) -> Callable[[str], bool]:
    """Let consumers read what they may, and only brokers of the cluster fetch as replicas."""
    if request.replica_id < 0:
        return lambda topic: permissions.may(Operation.READ, ResourceType.TOPIC, topic)
    return _anything if permissions.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER) else _nothing


def epochs_asked(permissions: Permissions, _: Any) -> Callable[[str], bool]:
    """Let brokers of the cluster ask about all topics, and others about those that they may describe."""
    if permissions.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER):
        return _anything
    return lambda topic: permissions.may(Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _anything(_: str) -> bool:
    return True


def _nothing(_: str) -> bool:
    return False
