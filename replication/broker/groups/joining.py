"""JoinGroup: what a member brings, and what it is told once all have joined."""

from typing import NamedTuple

from replication.protocol.error_code import ErrorCode

UNKNOWN_GENERATION = -1
UNKNOWN_MEMBER = ""


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
    """Whether a new member is only told its member id at first, with which it comes again (KIP-394)."""
    can_skip_assignment: bool = False
    """Whether it knows that a leader which comes back may have nothing to assign (KIP-814)."""

    @property
    def size(self) -> int:
        """How much of it a group keeps, in bytes."""
        return len(self.client_id) + sum(len(name) + len(metadata) for name, metadata in self.protocols)


class JoinedMember(NamedTuple):
    """A member as the leader is told of it."""

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
    """Told to the leader alone."""
    skip_assignment: bool = False
