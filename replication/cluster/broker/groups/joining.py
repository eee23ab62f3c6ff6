"""JoinGroup: what a member sends, and what it is answered once all have joined."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from replication.wire.error_code import ErrorCode

_OVERHEAD: Final = 200
"""About what a protocol takes beside its name and metadata, in bytes."""
UNKNOWN_GENERATION = -1
UNKNOWN_MEMBER = ""


def size_of(protocols: Iterable[tuple[str, bytes]]) -> int:
    """Return about how much memory protocols take, in bytes."""
    return sum(_OVERHEAD + len(name) + len(metadata) for name, metadata in protocols)


class JoinRequest(NamedTuple):
    """A member that wants to take part in the next generation (Kafka: JoinGroupRequest). Times are in seconds."""

    group_id: str
    member_id: str
    session_timeout: float
    rebalance_timeout: float
    protocol_type: str
    protocols: tuple[tuple[str, bytes], ...]
    """Names and metadata, those that it likes best first."""
    instance_id: str | None = None
    """Of a static member, which keeps its assignment over a restart (KIP-345)."""
    client_id: str = ""
    client_host: str = ""
    asks_for_id: bool = False
    """Whether a new member first only gets its member id, with which it joins again (KIP-394)."""
    can_skip_assignment: bool = False
    """Whether it knows that a leader which comes back may have nothing to assign (KIP-814)."""

    @property
    def size(self) -> int:
        """How much of it a group keeps, in bytes."""
        return len(self.client_id) + size_of(self.protocols)


class JoinedMember(NamedTuple):
    """A member as the leader gets it."""

    member_id: str
    group_instance_id: str | None
    metadata: bytes


class JoinAnswer(NamedTuple):
    """A generation, or why the member is in none (Kafka: JoinGroupResponse)."""

    error_code: ErrorCode
    member_id: str
    generation_id: int = UNKNOWN_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = UNKNOWN_MEMBER
    members: tuple[JoinedMember, ...] = ()
    """Sent to the leader alone."""
    skip_assignment: bool = False
