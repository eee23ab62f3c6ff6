"""Kafka's names for the numbers in records of access control and of credentials."""

from collections.abc import Mapping
from typing import Final

from replication.records.metadata.records import AccessControlEntryRecord

RESOURCE_TYPES: Final[Mapping[int, str]] = {
    2: "topic",
    3: "group",
    4: "cluster",
    5: "transactional id",
    6: "delegation token",
    7: "user",
}
"""Kafka: ResourceType."""
OPERATIONS: Final[Mapping[int, str]] = {
    2: "all",
    3: "read",
    4: "write",
    5: "create",
    6: "delete",
    7: "alter",
    8: "describe",
    9: "cluster action",
    10: "describe configs",
    11: "alter configs",
    12: "idempotent write",
    13: "create tokens",
    14: "describe tokens",
    15: "two-phase commit",
}
"""Kafka: AclOperation."""
PERMISSIONS: Final[Mapping[int, str]] = {2: "deny", 3: "allow"}
"""Kafka: AclPermissionType."""
PREFIXED: Final = 4
"""Kafka: PatternType.PREFIXED; other entries are literal."""
MECHANISMS: Final[Mapping[int, str]] = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
"""Kafka: ScramMechanism."""
PROTOCOLS: Final[Mapping[int, str]] = {0: "PLAINTEXT", 1: "SSL", 2: "SASL_PLAINTEXT", 3: "SASL_SSL"}
"""Kafka: SecurityProtocol."""


def access_in_words(entry: AccessControlEntryRecord) -> str:
    """Return what an entry says; two that say the same allow or deny the same.

    >>> access_in_words(entry)
    'allow User:alice from * to read topic orders'
    """
    kind = _name(RESOURCE_TYPES, entry.resource_type)
    what = f"every {kind} that begins with" if entry.pattern_type == PREFIXED else kind
    return (
        f"{_name(PERMISSIONS, entry.permission_type)} {entry.principal} from {entry.host} to "
        f"{_name(OPERATIONS, entry.operation)} {what} {entry.resource_name}"
    )


def mechanism_name(mechanism: int) -> str:
    """Return Kafka's name of a SCRAM mechanism."""
    return _name(MECHANISMS, mechanism)


def protocol_name(protocol: int) -> str:
    """Return Kafka's name of a security protocol."""
    return _name(PROTOCOLS, protocol)


def _name(names: Mapping[int, str], number: int) -> str:
    return names.get(number, f"(unknown: {number})")
