"""A group of the classic protocol: its members agree on a generation, and their leader assigns what each reads."""

from collections.abc import Callable, Iterable
from math import inf
from typing import Final
from uuid import uuid4

from logstore import TopicPartition
from replication.cluster.broker.groups.awaited import Awaited
from replication.cluster.broker.groups.committed_offsets import CommittedOffsets
from replication.cluster.broker.groups.deadlines import Deadlines
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.group_description import GroupDescription, MemberDescription
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.group_state import GroupState
from replication.cluster.broker.groups.joining import UNKNOWN_MEMBER, JoinAnswer, JoinRequest
from replication.cluster.broker.groups.member import Member
from replication.cluster.broker.groups.roster import Roster
from replication.cluster.broker.groups.subscription import CONSUMER, subscribed_topics
from replication.cluster.broker.groups.syncing import SyncAnswer, SyncRequest
from replication.records.coordinator_records.group_metadata import GroupMetadata
from replication.wire.error_code import ErrorCode

_OVERHEAD: Final = 2_000
_OVERHEAD_OF_ID: Final = 300
"""About what a group, and a member id that was handed out, take in bytes."""
_LEAST_WAIT: Final = 1.0
"""How long static members that may come back are waited for at least each time, in seconds."""
_GONE: Final = JoinAnswer(ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER)


class ClassicGroup:
    """One group (Kafka: ClassicGroup). `now` is always in seconds of the same clock, which only goes on.

    Whoever calls lets time pass first, with `advance`: at `deadline` at the latest. Not thread-safe.
    """

    def __init__(self, group_id: str, settings: GroupSettings) -> None:
        """Create a group without members."""
        self.group_id = group_id
        self.state: GroupState = GroupState.EMPTY
        self.generation: int = 0
        self.members: Roster = Roster()
        self.offsets: CommittedOffsets = CommittedOffsets()
        self._settings = settings
        self._protocol: str | None = None
        self._subscribed: frozenset[str] | None = None
        """The topics that members of the generation read, if they are consumers; None: nobody knows."""
        self._told_ids = Deadlines()
        """Member ids with which new members have not come yet: until when they may."""
        self._not_synced: set[str] = set()
        """Members of the generation that have not asked for their assignment."""
        self._join_deadline = inf
        self._sync_deadline = inf
        self._delay_left: float | None = None
        """How much longer others are waited for; None unless the group had no members before."""
        self._has_newcomers = False
        """Whether others have come since that wait was last prolonged."""

    @property
    def deadline(self) -> float:
        """When `advance` has something to do next; infinity for never."""
        told, sessions = self._told_ids.earliest, self.members.sessions.earliest
        return min(self._join_deadline, self._sync_deadline, told, sessions)

    @property
    def size(self) -> int:
        """About how much memory it takes, in bytes."""
        return _OVERHEAD + self.members.size + self.offsets.size + _OVERHEAD_OF_ID * len(self._told_ids)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is lost with it."""
        return self.state is GroupState.EMPTY and not self.offsets and not self._told_ids

    def restore(self, metadata: GroupMetadata, now: float) -> None:
        """Restore the group that a broker has kept: its members' sessions begin now."""
        self.generation = metadata.generation
        self.members.protocol_type = metadata.protocol_type
        for each in metadata.members:
            session = each.session_timeout_ms / 1000
            rebalance = each.rebalance_timeout_ms / 1000 if each.rebalance_timeout_ms >= 0 else session
            member = Member(
                each.member_id,
                each.group_instance_id,
                each.client_id,
                each.client_host,
                rebalance,
                session,
                ((metadata.protocol or "", each.subscription),),
                each.assignment,
                is_new=False,
            )
            self.members.admit(member, metadata.protocol_type)
            self._keep_alive(member, now)
        if self.members:
            self.state, self._protocol = GroupState.STABLE, metadata.protocol
            self.members.leader = metadata.leader if metadata.leader in self.members else self.members.leader
        self._subscribed = self._read_subscriptions()

    # --- what members ask for

    def join(self, request: JoinRequest, now: float) -> Awaited[JoinAnswer]:
        """Add a member to the next generation, or answer it again with the current one.

        GroupRefusedError if it may not, or must come again with a member id.
        """
        member_id = request.member_id
        if not self._has_room_for(member_id):
            self.members.drop(member_id)
            self._told_ids.discard(member_id)
            raise GroupRefusedError(ErrorCode.GROUP_MAX_SIZE_REACHED, UNKNOWN_MEMBER)
        if not self._supports(request):
            raise GroupRefusedError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        awaited = Awaited[JoinAnswer]()
        if member_id == UNKNOWN_MEMBER:
            self._join_new(request, awaited, now)
        elif member_id not in self._told_ids:
            self._rejoin(self.members.known(member_id, request.instance_id), request, awaited, now)
        elif request.instance_id is None:
            self._admit(member_id, request, awaited, now)
        else:  # static members are never told an id to come again with
            raise GroupRefusedError(ErrorCode.UNKNOWN_SERVER_ERROR, UNKNOWN_MEMBER)
        return awaited

    def sync(self, request: SyncRequest, now: float) -> Awaited[SyncAnswer]:
        """Return a member's assignment, once the leader has made it.

        GroupRefusedError if it is not of the generation, or should join the next one.
        """
        member = self._of_generation(request.member_id, request.instance_id, request.generation_id)
        if request.protocol_type not in {None, self.members.protocol_type}:
            raise GroupRefusedError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.protocol_name not in {None, self._protocol}:
            raise GroupRefusedError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if self.state is GroupState.PREPARING_REBALANCE:
            raise GroupRefusedError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._not_synced.discard(member.member_id)
        if not self._not_synced:
            self._sync_deadline = inf
        if self.state is GroupState.STABLE:
            return Awaited(self._assigned(member))
        awaited = Awaited[SyncAnswer]()
        awaited.place = len(self.members) - len(self._not_synced) - 1
        member.await_sync(awaited)
        if member.member_id == self.members.leader:
            for each in self.members.values():
                self.members.assign(each, request.assignments.get(each.member_id, b""))
            self.state = GroupState.STABLE
            self._answer_syncs(self._assigned, now)
        return awaited

    def heartbeat(self, member_id: str, instance_id: str | None, generation: int, now: float) -> None:
        """Hear of a member. GroupRefusedError if it is not of the generation, or should join the next one."""
        self._keep_alive(self._of_generation(member_id, instance_id, generation), now)
        if self.state is GroupState.PREPARING_REBALANCE:
            raise GroupRefusedError(ErrorCode.REBALANCE_IN_PROGRESS)

    def leave(self, leaving: list[tuple[str, str | None]], now: float) -> list[ErrorCode]:
        """Remove members by their ids and instance ids; the latter is enough.

        Returns an error, or none, of each.
        """
        errors = [self._leave(member_id, instance_id) for member_id, instance_id in leaving]
        if ErrorCode.NONE in errors and self.state is not GroupState.EMPTY:
            self._rebalance_or_complete(now)
        return errors

    def allow_commit(self, member_id: str, instance_id: str | None, generation: int, now: float) -> None:
        """Raise GroupRefusedError unless a member, or anyone while there are none, may commit offsets."""
        if generation < 0 and self.state is GroupState.EMPTY:
            return
        if generation < 0 and not member_id and instance_id is None:
            raise GroupRefusedError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = self._of_generation(member_id, instance_id, generation)
        if self.state is GroupState.COMPLETING_REBALANCE:
            raise GroupRefusedError(ErrorCode.REBALANCE_IN_PROGRESS)
        self._keep_alive(member, now)

    def delete_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Forget what was committed for topics that no member reads; return an error, or none, of each.

        GroupRefusedError if there are members who are no consumers: what they read is not known.
        """
        if self.state is not GroupState.EMPTY and self.members.protocol_type != CONSUMER:
            raise GroupRefusedError(ErrorCode.NON_EMPTY_GROUP)
        errors = {
            each: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if self._reads(each.topic) else ErrorCode.NONE
            for each in partitions
        }
        for partition, error in errors.items():
            if error is ErrorCode.NONE:
                self.offsets.discard(partition)
        return errors

    def describe(self) -> GroupDescription:
        """Return a description of the group."""
        protocol = (self._protocol or "") if self.state is GroupState.STABLE else None
        members = tuple(
            MemberDescription(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.metadata(protocol),
                member.assignment,
            )
            for member in self.members.values()
        )
        return GroupDescription(self.group_id, self.state, self.members.protocol_type or "", protocol or "", members)

    def hand_over(self) -> None:
        """Fail current waiters: another broker coordinates the group."""
        for member in self.members.values():
            self.members.answer_join(member, JoinAnswer(ErrorCode.NOT_COORDINATOR, member.member_id))
            member.answer_sync(SyncAnswer(ErrorCode.NOT_COORDINATOR))

    # --- time

    def advance(self, now: float) -> None:
        """Advance time: end sessions, and what waits for members no longer."""
        while (due := self.deadline) <= now:
            self._expire(due)

    def wake(self) -> None:
        """Make waiters check `deadline` again."""
        for member in self.members.values():
            for awaited in (member.joining, member.syncing):
                if awaited is not None:
                    awaited.waiters.wake()

    def _expire(self, now: float) -> None:
        for _ in self._told_ids.due(now):
            self._complete_if_all_joined(now)
        for member_id in self.members.sessions.due(now):
            self._end_session(self.members[member_id], now)
        if self._join_deadline <= now:
            self._end_join_phase(now)
        if self._sync_deadline <= now:
            for member_id in self._not_synced:
                self.members.drop(member_id)
            self._prepare_rebalance(now)

    def _keep_alive(self, member: Member, now: float) -> None:
        self.members.sessions.put(member.member_id, now + member.session_timeout)

    def _end_session(self, member: Member, now: float) -> None:
        if member.is_awaiting and not member.is_new:
            return  # it cannot be heard of meanwhile; its session begins anew with the answer
        self._drop(member)
        self._rebalance_or_complete(now)

    # --- members

    def _has_room_for(self, member_id: str) -> bool:
        """Whether a member may join: those that are in may, as long as not too many others came before them."""
        most = self._settings.max_size
        if self.state is GroupState.EMPTY:
            return True
        member = self.members.get(member_id)
        if self.state is GroupState.PREPARING_REBALANCE:
            return (member is not None and member.joining is not None) or self.members.joining < most
        return member is not None or len(self.members) < most

    def _supports(self, request: JoinRequest) -> bool:
        if self.state is GroupState.EMPTY:
            return bool(request.protocol_type and request.protocols)
        return request.protocol_type == self.members.protocol_type and self.members.support(request.protocols)

    def _join_new(self, request: JoinRequest, awaited: Awaited[JoinAnswer], now: float) -> None:
        instance_id = request.instance_id
        new_id = f"{request.client_id if instance_id is None else instance_id}-{uuid4()}"
        replaced = None if instance_id is None else self.members.static_ids.get(instance_id)
        if replaced is not None:
            self._replace_static(self.members[replaced], new_id, request, awaited, now)
        elif instance_id is None and request.asks_for_id:
            self._told_ids.put(new_id, now + request.session_timeout)
            raise GroupRefusedError(ErrorCode.MEMBER_ID_REQUIRED, new_id)
        else:
            self._admit(new_id, request, awaited, now)

    def _admit(self, member_id: str, request: JoinRequest, awaited: Awaited[JoinAnswer], now: float) -> None:
        member = Member.of(request, member_id)
        self.members.admit(member, request.protocol_type)
        self.members.sessions.put(member_id, now + self._settings.new_member_join_timeout)
        self.members.await_join(member, awaited)
        self._told_ids.discard(member_id)
        self._has_newcomers = self._delay_left is not None
        self._rebalance_or_complete(now)

    def _rejoin(self, member: Member, request: JoinRequest, awaited: Awaited[JoinAnswer], now: float) -> None:
        """Begin a new generation where anything is new, or the leader asks for one by joining."""
        leads_stable = self.state is GroupState.STABLE and member.member_id == self.members.leader
        is_same = member.protocols == request.protocols and not leads_stable
        if is_same and self.state is not GroupState.PREPARING_REBALANCE:
            awaited.set(self._joined(member))
        else:
            self.members.revise(member, request)
            self.members.await_join(member, awaited)
            self._rebalance_or_complete(now)

    def _replace_static(
        self, old: Member, new_id: str, request: JoinRequest, awaited: Awaited[JoinAnswer], now: float
    ) -> None:
        """Give a static member a new id; a request that still waits in its name is fenced."""
        old_leader = self.members.leader
        self.members.answer_join(old, JoinAnswer(ErrorCode.FENCED_INSTANCE_ID, old.member_id))
        old.answer_sync(SyncAnswer(ErrorCode.FENCED_INSTANCE_ID))
        member = self.members.replace_static(old, new_id)
        self._keep_alive(member, now)
        self.members.revise(member, request)
        self.members.await_join(member, awaited)
        if self.state is not GroupState.STABLE or self.members.selected_protocol() != self._protocol:
            self._rebalance_or_complete(now)
        elif request.can_skip_assignment:
            leads = new_id == self.members.leader
            self.members.answer_join(member, self._joined(member)._replace(skip_assignment=leads))
        else:  # it must not assign anything: it is not told that it leads
            told = self._joined(member)._replace(leader=old_leader or UNKNOWN_MEMBER, members=())
            self.members.answer_join(member, told)

    def _leave(self, member_id: str, instance_id: str | None) -> ErrorCode:
        if member_id in self._told_ids:
            self._told_ids.discard(member_id)
            return ErrorCode.NONE
        if member_id == UNKNOWN_MEMBER and instance_id is not None:
            member_id = self.members.static_ids.get(instance_id, UNKNOWN_MEMBER)
        try:
            self._drop(self.members.known(member_id, instance_id))
        except GroupRefusedError as error:
            return error.code
        return ErrorCode.NONE

    def _drop(self, member: Member) -> None:
        self.members.answer_join(member, _GONE)
        member.answer_sync(SyncAnswer(ErrorCode.UNKNOWN_MEMBER_ID))
        self.members.drop(member.member_id)
        self._not_synced.discard(member.member_id)

    def _of_generation(self, member_id: str, instance_id: str | None, generation: int) -> Member:
        member = self.members.known(member_id, instance_id)
        if generation != self.generation:
            raise GroupRefusedError(ErrorCode.ILLEGAL_GENERATION)
        return member

    def _read_subscriptions(self) -> frozenset[str] | None:
        if self.members.protocol_type != CONSUMER:
            return None
        return subscribed_topics(member.metadata(self._protocol) for member in self.members.values())

    def _reads(self, topic: str) -> bool:
        """Whether a topic is read, as far as is known: consumers that have not said may read any."""
        if self._subscribed is None:
            return self.members.protocol_type == CONSUMER
        return topic in self._subscribed

    # --- generations

    def _rebalance_or_complete(self, now: float) -> None:
        if self.state is GroupState.PREPARING_REBALANCE:
            self._complete_if_all_joined(now)
        else:
            self._prepare_rebalance(now)

    def _prepare_rebalance(self, now: float) -> None:
        if self.state is GroupState.COMPLETING_REBALANCE:
            for member in self.members.values():
                self.members.assign(member, b"")
            self._answer_syncs(lambda _: SyncAnswer(ErrorCode.REBALANCE_IN_PROGRESS), now)
        self._sync_deadline = inf
        begins_empty = self.state is GroupState.EMPTY
        self.state = GroupState.PREPARING_REBALANCE
        if begins_empty:
            delay = self._settings.initial_rebalance_delay
            self._delay_left = max(self.members.rebalance_timeout - delay, 0)
            self._has_newcomers = False
            self._join_deadline = now + delay
        else:
            self._join_deadline = now + self.members.rebalance_timeout
            self._complete_if_all_joined(now)

    def _complete_if_all_joined(self, now: float) -> None:
        if self.state is not GroupState.PREPARING_REBALANCE or self._delay_left is not None or self._told_ids:
            return
        if self.members.joining == len(self.members):
            self._complete_join(now)

    def _end_join_phase(self, now: float) -> None:
        """Wait no longer for members to join, unless a new group may get more of them."""
        if self._delay_left and self._has_newcomers:
            delay = self._settings.initial_rebalance_delay
            self._join_deadline = now + min(delay, self._delay_left)
            self._delay_left = max(self._delay_left - delay, 0)
            self._has_newcomers = False
        else:
            self._complete_join(now)

    def _complete_join(self, now: float) -> None:
        """Begin the next generation with those that have joined, and with static members, who may come back."""
        for member in [each for each in self.members.values() if each.joining is None and each.instance_id is None]:
            self._drop(member)
        self._delay_left = None
        if not self.members.elect_joined() and self.members:
            self._join_deadline = now + max(self.members.rebalance_timeout, _LEAST_WAIT)
            return
        self._join_deadline = inf
        self.generation += 1
        self._protocol = self.members.selected_protocol()
        self._subscribed = self._read_subscriptions()
        self._not_synced = set(self.members)
        if not self.members:
            self.state = GroupState.EMPTY
            return
        self.state = GroupState.COMPLETING_REBALANCE
        for member in self.members.values():
            self.members.answer_join(member, self._joined(member))
            member.is_new = False
            self._keep_alive(member, now)
        self._sync_deadline = now + self.members.rebalance_timeout

    def _joined(self, member: Member) -> JoinAnswer:
        leads = member.member_id == self.members.leader
        return JoinAnswer(
            ErrorCode.NONE,
            member.member_id,
            self.generation,
            self.members.protocol_type,
            self._protocol,
            self.members.leader or UNKNOWN_MEMBER,
            self.members.told(self._protocol) if leads else (),
        )

    def _assigned(self, member: Member) -> SyncAnswer:
        return SyncAnswer(ErrorCode.NONE, self.members.protocol_type, self._protocol, member.assignment)

    def _answer_syncs(self, answer: Callable[[Member], SyncAnswer], now: float) -> None:
        for member in self.members.values():
            if member.answer_sync(answer(member)):
                self._keep_alive(member, now)
