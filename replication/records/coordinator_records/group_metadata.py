"""The records in which `__consumer_offsets` keeps groups of the classic protocol (Kafka: GroupMetadataKey, -Value)."""

from dataclasses import dataclass
from typing import Annotated, Final, NamedTuple

from replication.records.codec.codec import Since, Structs
from replication.records.codec.fields import Bytes, Int32, Int64, OptionalString, String
from replication.records.coordinator_records.versioned_record import read_versioned

_KEY_VERSION: Final = 2
"""Earlier ones are of committed offsets, later ones of groups of the consumer protocol (KIP-848)."""
_VALUE_VERSIONS: Final = 5
_FIRST_FLEXIBLE: Final = 4


class _GroupKey(NamedTuple):
    group: String


class SavedMember(NamedTuple):
    """A member as the group's record has it."""

    member_id: String
    group_instance_id: Annotated[OptionalString, Since(3)] = None
    client_id: String = ""
    client_host: String = ""
    rebalance_timeout_ms: Annotated[Int32, Since(1)] = -1
    """In version 0 it is the session timeout."""
    session_timeout_ms: Int32 = 0
    subscription: Bytes = b""
    """Its metadata for the protocol that the group uses."""
    assignment: Bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMetadata:
    """A group as it was when its members last had their assignments, or when the last of them left."""

    protocol_type: String
    generation: Int32
    protocol: OptionalString = None
    leader: OptionalString = None
    current_state_timestamp: Annotated[Int64, Since(2)] = -1
    """In milliseconds since 1970 UTC."""
    members: Annotated[tuple[SavedMember, ...], Structs(SavedMember)] = ()


def read_group(key: bytes | None) -> str | None:
    """Read which group a record is about; None if it is about something else or cannot be read."""
    if key is None or key[:2] != _KEY_VERSION.to_bytes(2):
        return None
    found = read_versioned(_GroupKey, _KEY_VERSION + 1, key, flexible_from=_KEY_VERSION + 1)
    return found.group if found else None


def read_group_metadata(value: bytes | None) -> GroupMetadata | None:
    """Read a group; None if it was deleted, or it is of a later version or cannot be read."""
    return read_versioned(GroupMetadata, _VALUE_VERSIONS, value, flexible_from=_FIRST_FLEXIBLE)
