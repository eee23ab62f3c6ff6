"""Finds only those partitions that a caller may ask about."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, TypeAlias

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions, PermissionsOf, unlimited
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.cluster.broker.partitions.hosted_partitions import HostedPartitions, Pair
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.wire.error_code import ErrorCode
from replication.wire.server.call import Call

Answer: TypeAlias = Callable[[Any, Call], Any]
MayAsk: TypeAlias = Callable[[Permissions, Any], Callable[[str], bool]]
"""Which topics a caller's request may ask about, by name."""


_MOST_CALLERS: Final = 64
"""Who are remembered, until the rules change."""
_MOST_TOPICS: Final = 4_096
"""For which it is remembered whether a caller may ask about them."""


class PermittedLookup(PartitionLookup):
    """Has no copy of others, and that is why: whatever is asked about them is answered so."""

    def __init__(
        self,
        partitions: HostedPartitions,
        cluster: KnownCluster,
        may_ask: Callable[[str], bool],
        viewpoint: object = None,
    ) -> None:
        """`may_ask` is asked about topics by name; `viewpoint` is equal as long as it answers the same."""
        super().__init__(partitions, cluster)
        find, is_permitted = self.copy, lru_cache(_MOST_TOPICS)(may_ask)
        # None of these refers to this object, so that it is gone once nobody has it.
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
    everything = make(PartitionLookup(partitions, cluster))
    if permissions is unlimited:
        return everything
    kept: dict[tuple[Permissions, bool], Answer] = {}

    def answer(request: Any, call: Call) -> Any:
        granted = permissions(call.caller)
        if granted.rules is None:
            return everything(request, call)
        key = (granted, getattr(request, "replica_id", -1) < 0)
        known = kept.get(key)
        if known is None:
            if len(kept) >= _MOST_CALLERS or any(each.rules is not granted.rules for each, _ in tuple(kept)):
                kept.clear()
            known = make(PermittedLookup(partitions, cluster, may_ask(granted, request), granted))
            kept[key] = known
        return known(request, call)

    return answer


def with_topic(operation: Operation) -> MayAsk:
    """Ask about topics with which the caller may do this."""
    return lambda permissions, _: lambda topic: permissions.may(operation, ResourceType.TOPIC, topic)


def fetched(permissions: Permissions, request: Any) -> Callable[[str], bool]:
    """Return which topics may be read: consumers need READ on each; only the cluster's brokers fetch as replicas."""
    if request.replica_id < 0:
        return lambda topic: permissions.may(Operation.READ, ResourceType.TOPIC, topic)
    return _anything if permissions.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER) else _nothing


def epochs_asked(permissions: Permissions, _: Any) -> Callable[[str], bool]:
    """Return which topics' epochs may be requested: all by the cluster's brokers, else those with DESCRIBE."""
    if permissions.may(Operation.CLUSTER_ACTION, ResourceType.CLUSTER):
        return _anything
    return lambda topic: permissions.may(Operation.DESCRIBE, ResourceType.TOPIC, topic)


def _anything(_: str) -> bool:
    return True


def _nothing(_: str) -> bool:
    return False
