"""The members of a group, and what they have agreed on."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from replication.cluster.broker.groups.awaited import Awaited
from replication.cluster.broker.groups.deadlines import Deadlines
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.joining import JoinAnswer, JoinedMember, JoinRequest
from replication.cluster.broker.groups.member import Member
from replication.wire.error_code import ErrorCode


class Roster(dict[str, Member]):
    """By member id, in the order in which they came."""

    def __init__(self) -> None:
        """Create it without members."""
        super().__init__()
        self.leader: str | None = None
        self.protocol_type: str | None = None
        """As the first member had it; that of the last ones once there are none."""
        self.static_ids: dict[str, str] = {}
        """The member ids of static members by their instance ids."""
        self.size: int = 0
        """About how much memory the members take, in bytes."""
        self.sessions: Deadlines = Deadlines()
        """When each is taken for gone unless it is heard of; of one that cannot be heard of, nothing."""
        self.joining: int = 0
        """How many wait for the next generation."""
        self._followers: Counter[str] = Counter()
        """How many can follow a protocol, by its name."""

    def admit(self, member: Member, protocol_type: str) -> None:
        """Add a member."""
        if not self:
            self.protocol_type = protocol_type
        self.leader = self.leader or member.member_id
        self._put(member)

    def drop(self, member_id: str) -> None:
        """Forget a member, if it is one. The one that has been here longest leads where the leader goes."""
        member = self.pop(member_id, None)
        if member is None:
            return
        self._discount(member)
        self.joining -= member.joining is not None
        self.sessions.discard(member_id)
        if member.instance_id is not None:
            self.static_ids.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self), None)

    def revise(self, member: Member, request: JoinRequest) -> None:
        """Update a member from its request."""
        self._discount(member)
        member.protocols = request.protocols
        member.rebalance_timeout, member.session_timeout = request.rebalance_timeout, request.session_timeout
        self._count(member)

    def replace_static(self, member: Member, member_id: str) -> Member:
        """Return the member that a static one is under a new id; it waits for nothing."""
        del self[member.member_id]
        self._discount(member)
        self.sessions.discard(member.member_id)
        replacing = replace(member, member_id=member_id, is_new=False, joining=None, syncing=None)
        if self.leader == member.member_id:
            self.leader = member_id
        self._put(replacing)
        return replacing

    def await_join(self, member: Member, awaited: Awaited[JoinAnswer]) -> None:
        """Make it wait for the next generation; an earlier request of its, on a lost connection, is answered."""
        self.answer_join(member, JoinAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member.member_id))
        awaited.place = self.joining
        member.joining = awaited
        self.joining += 1

    def answer_join(self, member: Member, answer: JoinAnswer) -> None:
        """Send it the answer, if it waits to have joined."""
        awaited, member.joining = member.joining, None
        if awaited is not None:
            self.joining -= 1
            awaited.set(answer)

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
        """Elect a leader that has joined, the current one if it has; return whether any has."""
        if self.leader is not None and self[self.leader].joining is None:
            self.leader = next((member.member_id for member in self.values() if member.joining), self.leader)
        return self.leader is not None and self[self.leader].joining is not None

    def support(self, protocols: Iterable[tuple[str, bytes]]) -> bool:
        """Whether all can follow one of these protocols."""
        return any(self._followers[name] == len(self) for name, _ in protocols)

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
        """Return the members as the leader gets them."""
        return tuple(
            JoinedMember(member.member_id, member.instance_id, member.metadata(protocol)) for member in self.values()
        )

    @property
    def rebalance_timeout(self) -> float:
        """How long the slowest may take to join, in seconds."""
        return max((member.rebalance_timeout for member in self.values()), default=0.0)

    def _put(self, member: Member) -> None:
        self[member.member_id] = member
        self._count(member)
        if member.instance_id is not None:
            self.static_ids[member.instance_id] = member.member_id

    def _count(self, member: Member) -> None:
        self.size += member.size
        self._followers.update(member.protocol_names)

    def _discount(self, member: Member) -> None:
        self.size -= member.size
        for name in member.protocol_names:
            self._followers[name] -= 1
            if not self._followers[name]:
                del self._followers[name]
