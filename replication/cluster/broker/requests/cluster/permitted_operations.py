"""What a caller may do with topics and with the cluster, as answers have it: one bit for each operation (KIP-430)."""

from replication.cluster.broker.authorization.operation import Operation
from replication.cluster.broker.authorization.permissions import Permissions
from replication.cluster.broker.authorization.resource_type import ResourceType
from replication.wire.messages.field_types import OPERATIONS_NOT_ASKED


def told_of_topic(permissions: Permissions, name: str, *, asked: bool) -> int:
    """Return what may be done with a topic, or what stands for that where nobody has asked."""
    return permissions.operations(ResourceType.TOPIC, name) if asked else OPERATIONS_NOT_ASKED


def told_of_cluster(permissions: Permissions, *, asked: bool) -> int:
    """Return what may be done with the cluster: nothing for callers that may not describe it."""
    if not asked:
        return OPERATIONS_NOT_ASKED
    may_know = permissions.may(Operation.DESCRIBE, ResourceType.CLUSTER)
    return permissions.operations(ResourceType.CLUSTER) if may_know else 0
