"""The members of a group, and what they have agreed on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from replication.broker.groups.errors import GroupRefusedError
from replication.broker.groups.joining import JoinedMember, JoinRequest
from replication.broker.groups.member import Member
from replication.protocol.error_code import ErrorCode


class Roster(dict[str, Member]):
    """By member id, in the order in which they came."""

    def __init__(self) -> None:
        """Have no members."""
        super().__init__()
        self.leader: str | None = None
        self.protocol_type: str | None = None
        """As the first member had it; that of the last ones once there are none."""
        self.static_ids: dict[str, str] = {}
        """The member ids of static members by their instance ids."""
        self.size: int = 0
        """About how much memory the members take, in bytes."""

    def admit(self, member: Member, protocol_type: str) -> None:
        """Take a member in."""
        if not self:
            self.protocol_type = protocol_type
        self.leader = self.leader or member.member_id
        self._put(member)

    def drop(self, member_id: str) -> None:
        """Forget a member, if it is one. The one that has been here longest leads where the leader goes."""
        member = self.pop(member_id, None)
        if member is None:
            return
        self.size -= member.size
        if member.instance_id is not None:
            self.static_ids.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self), None)

    def revise(self, member: Member, request: JoinRequest) -> None:
        """Let a member be what it says now."""
        self.size -= member.size
        member.protocols = request.protocols
        member.rebalance_timeout, member.session_timeout = request.rebalance_timeout, request.session_timeout
        self.size += member.size

    def replace_static(self, member: Member, member_id: str) -> Member:
        """Return the member that a static one is under a new id; it waits for nothing."""
        del self[member.member_id]
        self.size -= member.size
        replacing = replace(member, member_id=member_id, is_new=False, joining=None, syncing=None)
        if self.leader == member.member_id:
            self.leader = member_id
        self._put(replacing)
        return replacing

    def assign(self, member: Member, assignment: bytes) -> None:
        """Give a member what it is to read."""
        self.size += len(assignment) - len(member.assignment)
        member.assignment = assignment

    def known(self, member_id: str, instance_id: str | None) -> Member:
        """Return a member; GroupRefusedError if it is none, or another has taken its place."""
        if instance_id is not None and self.static_ids.get(instance_id, member_id) != member_id:
            raise GroupRefusedError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self or (instance_id is not None and instance_id not in self.static_ids):
            raise GroupRefusedError(ErrorCode.UNKNOWN_MEMBER_ID)
        return self[member_id]

    def elect_joined(self) -> bool:
        """Let a member lead that has joined, the leader of before if it has; return whether any has."""
        if self.leader is not None and self[self.leader].joining is None:
            self.leader = next((member.member_id for member in self.values() if member.joining), self.leader)
        return self.leader is not None and self[self.leader].joining is not None

    def support(self, protocols: Iterable[tuple[str, bytes]]) -> bool:
        """Whether all can follow one of these protocols."""
        names = {name for name, _ in protocols}
        return bool(names.intersection(*(member.protocol_names for member in self.values())))

    def selected_protocol(self) -> str | None:
        """Return the protocol that most members like best of those that all can follow; None without members.

        Of those with as many votes it is the one that was voted for first; with Kafka it is any of them.
        """
        if not self:
            return None
        common = set.intersection(*(member.protocol_names for member in self.values()))
        votes = Counter(next(name for name, _ in member.protocols if name in common) for member in self.values())
        return votes.most_common(1)[0][0]

    def told(self, protocol: str | None) -> tuple[JoinedMember, ...]:
        """Return the members as the leader is told of them."""
        return tuple(
            JoinedMember(member.member_id, member.instance_id, member.metadata(protocol)) for member in self.values()
        )

    @property
    def rebalance_timeout(self) -> float:
        """How long the slowest may take to join, in seconds."""
        return max((member.rebalance_timeout for member in self.values()), default=0.0)

    def _put(self, member: Member) -> None:
        self[member.member_id] = member
        self.size += member.size
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.member_id
