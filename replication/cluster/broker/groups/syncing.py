"""SyncGroup: what the leader assigns, and what each member is assigned."""

from collections.abc import Mapping
from typing import NamedTuple

from replication.wire.error_code import ErrorCode


class SyncRequest(NamedTuple):
    """A member of a generation asks for its assignment (Kafka: SyncGroupRequest)."""

    group_id: str
    generation_id: int
    member_id: str
    instance_id: str | None = None
    protocol_type: str | None = None
    """None where the version does not have it, as the next."""
    protocol_name: str | None = None
    assignments: Mapping[str, bytes] = {}
    """By member id; the leader's count."""

    @property
    def size(self) -> int:
        """How much of it a group keeps, in bytes."""
        return sum(map(len, self.assignments.values()))


class SyncAnswer(NamedTuple):
    """An assignment, or why there is none (Kafka: SyncGroupResponse)."""

    error_code: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""
