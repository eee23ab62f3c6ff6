"""What everybody may do on a cluster that has no authorizer, one bit for each operation (KIP-430)."""

from typing import Final

from replication.protocol.messages.field_types import OPERATIONS_NOT_ASKED

_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = (1 << code for code in range(3, 9))
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = (1 << code for code in range(9, 13))

TOPIC_OPERATIONS: Final = _READ | _WRITE | _CREATE | _DELETE | _ALTER | _DESCRIBE | _DESCRIBE_CONFIGS | _ALTER_CONFIGS
CLUSTER_OPERATIONS: Final = (
    _CREATE | _ALTER | _DESCRIBE | _CLUSTER_ACTION | _DESCRIBE_CONFIGS | _ALTER_CONFIGS | _IDEMPOTENT_WRITE
)


def told(operations: int, *, asked: bool) -> int:
    """Return the operations, or what stands for them where nobody has asked."""
    return operations if asked else OPERATIONS_NOT_ASKED
