"""A member of a group."""

from dataclasses import dataclass

from replication.cluster.broker.groups.awaited import Awaited
from replication.cluster.broker.groups.joining import JoinAnswer, JoinRequest, size_of
from replication.cluster.broker.groups.syncing import SyncAnswer
from replication.wire.error_code import ErrorCode

_OVERHEAD = 1_500
"""About what a member takes beside what it has sent, in bytes."""


@dataclass(slots=True, eq=False)
class Member:
    """As its last JoinGroup described it (Kafka: ClassicGroupMember). Times are in seconds."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout: float
    session_timeout: float
    protocols: tuple[tuple[str, bytes], ...]
    assignment: bytes = b""
    is_new: bool = True
    """Whether it has not joined any generation yet."""
    joining: Awaited[JoinAnswer] | None = None
    syncing: Awaited[SyncAnswer] | None = None

    @classmethod
    def of(cls, request: JoinRequest, member_id: str) -> "Member":
        """Make a member of its first JoinGroup."""
        return cls(
            member_id,
            request.instance_id,
            request.client_id,
            request.client_host,
            request.rebalance_timeout,
            request.session_timeout,
            request.protocols,
        )

    @property
    def size(self) -> int:
        """About how much memory it takes, in bytes."""
        return _OVERHEAD + len(self.client_id) + size_of(self.protocols) + len(self.assignment)

    @property
    def is_awaiting(self) -> bool:
        """Whether it has a request that is not answered yet: it cannot send heartbeats then."""
        return self.joining is not None or self.syncing is not None

    @property
    def protocol_names(self) -> set[str]:
        """The protocols that it can follow."""
        return {name for name, _ in self.protocols}

    def metadata(self, protocol: str | None) -> bytes:
        """Return what it has said for a protocol."""
        return next((metadata for name, metadata in self.protocols if name == protocol), b"")

    def await_sync(self, awaited: Awaited[SyncAnswer]) -> None:
        """Wait for the assignment; who waited for it in its name before, on a lost connection, waits no more."""
        self.answer_sync(SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
        self.syncing = awaited

    def answer_sync(self, answer: SyncAnswer) -> bool:
        """Send it the answer, if it waits for its assignment; return whether it did."""
        awaited, self.syncing = self.syncing, None
        if awaited is not None:
            awaited.set(answer)
        return awaited is not None
