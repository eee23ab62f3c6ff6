"""What one may do, and sets of that: an integer with one bit for each operation, as answers have them (KIP-430)."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from replication.cluster.broker.authorization.resource_type import ResourceType


class Operation(IntEnum):
    """Kafka: AclOperation."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


def set_of(*operations: Operation) -> int:
    """Return the set of some operations."""
    return sum(1 << operation for operation in operations)


EVERY_OPERATION: Final = -1
"""The set of all that there are."""

_SETTINGS: Final = set_of(Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS)
KNOWN_OPERATIONS: Final[Mapping[ResourceType, int]] = {
    ResourceType.TOPIC: _SETTINGS
    | set_of(Operation.READ, Operation.WRITE, Operation.CREATE, Operation.DELETE, Operation.ALTER, Operation.DESCRIBE),
    ResourceType.GROUP: _SETTINGS | set_of(Operation.READ, Operation.DELETE, Operation.DESCRIBE),
    ResourceType.CLUSTER: _SETTINGS
    | set_of(
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.IDEMPOTENT_WRITE,
    ),
}
"""What can be done with resources of a type that answers list the rights of (Kafka: AclEntry.supportedOperations)."""
