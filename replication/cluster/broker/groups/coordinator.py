"""All groups of a broker, and what they have committed."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import inf
from threading import Lock
from typing import Final

from logstore import TopicPartition
from replication.cluster.broker.groups.awaited import Awaited
from replication.cluster.broker.groups.classic_group import ClassicGroup
from replication.cluster.broker.groups.committed_offsets import size_of
from replication.cluster.broker.groups.errors import GroupRefusedError
from replication.cluster.broker.groups.group_description import GroupDescription
from replication.cluster.broker.groups.group_settings import GroupSettings
from replication.cluster.broker.groups.group_state import GroupState
from replication.cluster.broker.groups.joining import UNKNOWN_MEMBER, JoinAnswer, JoinRequest
from replication.cluster.broker.groups.saved_groups import SavedGroups
from replication.cluster.broker.groups.syncing import SyncAnswer, SyncRequest
from replication.records.coordinator_records.offset_commit import OffsetCommit
from replication.wire.error_code import ErrorCode

_OVERHEAD: Final = 5_000
"""More than a group with a member takes beside what they have sent, in bytes."""


_SEARCH_SECONDS: Final = 1.0
"""After a look at all groups, which takes long, who finds no memory is refused without another one for that time."""


class GroupCoordinator:
    """Keeps groups in memory, and nowhere else (Kafka: GroupCoordinator, for the classic protocol).

    Any thread may call. There is none of its own: time passes for a group as anyone asks for it, and as those that wait
    call `expire` at `deadline`.
    """

    def __init__(
        self,
        settings: GroupSettings | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        coordinates: Callable[[str], bool] = lambda _: True,
    ) -> None:
        """Create it without groups. `clock` returns seconds; `coordinates`, whether a group id belongs here."""
        self._settings = settings or GroupSettings()
        self._clock = clock
        self._coordinates = coordinates
        self._lock = Lock()
        self._groups: dict[str, ClassicGroup] = {}
        self._size = 0
        self._search_at = -inf
        """When groups that nobody misses are looked for again, where memory is short."""

    @property
    def size(self) -> int:
        """About how much memory the groups take, in bytes."""
        return self._size

    def load(self, saved: SavedGroups) -> None:
        """Load the groups that a broker has kept, in place of those of the same names."""
        with self._lock:
            for group_id, offsets in saved.offsets.items():
                group = ClassicGroup(group_id, self._settings)
                for partition, commit in offsets.items():
                    group.offsets.put(partition, commit)
                metadata = saved.groups.get(group_id)
                if metadata is not None:
                    group.restore(metadata, self._clock())
                self._groups[group_id] = group
            self._size = sum(group.size for group in self._groups.values())

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Remove groups, by their ids; their members are answered to look for another coordinator."""
        with self._lock:
            for group_id in list(filter(is_gone, self._groups)):
                group = self._groups.pop(group_id)
                self._size -= group.size
                group.hand_over()

    # --- members

    def join(self, request: JoinRequest) -> Awaited[JoinAnswer]:
        """Add a member to its group's next generation."""
        try:
            self._check_group(request.group_id)
            self._check_session_timeout(request.session_timeout)
            with self._changing(
                request.group_id, room=request.size, create=request.member_id == UNKNOWN_MEMBER
            ) as group:
                return group.join(request, self._clock())
        except GroupRefusedError as refused:
            member_id = request.member_id if refused.member_id is None else refused.member_id
            return Awaited(JoinAnswer(refused.code, member_id))

    def sync(self, request: SyncRequest) -> Awaited[SyncAnswer]:
        """Return a member's assignment; the leader's request assigns those of the group."""
        try:
            self._check_group(request.group_id)
            with self._changing(request.group_id, room=request.size) as group:
                return group.sync(request, self._clock())
        except GroupRefusedError as refused:
            return Awaited(SyncAnswer(refused.code))

    def heartbeat(self, group_id: str, generation: int, member_id: str, instance_id: str | None) -> ErrorCode:
        """Hear of a member; return what it should know."""
        try:
            self._check_group(group_id)
            with self._changing(group_id) as group:
                group.heartbeat(member_id, instance_id, generation, self._clock())
        except GroupRefusedError as refused:
            return refused.code
        return ErrorCode.NONE

    def leave(self, group_id: str, leaving: list[tuple[str, str | None]]) -> list[ErrorCode]:
        """Remove members by their ids and instance ids; return an error, or none, of each. GroupRefusedError."""
        self._check_group(group_id)
        try:
            with self._changing(group_id) as group:
                return group.leave(leaving, self._clock())
        except GroupRefusedError as refused:
            return [refused.code for _ in leaving]

    def deadline(self, group_id: str) -> float:
        """When `expire` may have something to do for a group, in seconds of the clock; infinity for never."""
        with self._lock:
            group = self._groups.get(group_id)
            return inf if group is None else group.deadline

    def expire(self, group_id: str) -> None:
        """Advance time for a group."""
        with suppress(GroupRefusedError), self._changing(group_id):  # it may be gone
            pass

    # --- offsets

    def commit(
        self,
        group_id: str,
        commits: Mapping[TopicPartition, OffsetCommit],
        *,
        generation: int = -1,
        member_id: str = UNKNOWN_MEMBER,
        instance_id: str | None = None,
    ) -> dict[TopicPartition, ErrorCode]:
        """Keep what a member, or anyone of a group without members, has read; return an error, or none, of each."""
        most = self._settings.max_metadata_bytes
        errors = {
            partition: ErrorCode.OFFSET_METADATA_TOO_LARGE if len(commit.metadata) > most else ErrorCode.NONE
            for partition, commit in commits.items()
        }
        kept = {partition: commits[partition] for partition, error in errors.items() if error is ErrorCode.NONE}
        try:
            self._check_is_its(group_id)
            with self._changing(group_id, room=sum(map(size_of, kept.values())), create=generation < 0) as group:
                group.allow_commit(member_id, instance_id, generation, self._clock())
                for partition, commit in kept.items():
                    group.offsets.put(partition, commit)
        except GroupRefusedError as refused:
            is_lost = refused.code is ErrorCode.UNKNOWN_MEMBER_ID and group_id not in self._groups
            return dict.fromkeys(commits, ErrorCode.GROUP_ID_NOT_FOUND if is_lost else refused.code)
        return errors

    def committed(self, group_id: str) -> Mapping[TopicPartition, OffsetCommit]:
        """Return what a group has committed; nothing of one that is not there. Raises GroupRefusedError."""
        self._check_is_its(group_id)
        with self._lock:
            group = self._groups.get(group_id)
            return {} if group is None else group.offsets.copy()

    def delete_offsets(self, group_id: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, ErrorCode]:
        """Forget what a group has committed for topics that it does not read; return an error, or none, of each.

        Raises GroupRefusedError where there is no such group, or its members are no consumers.
        """
        self._check_group(group_id)
        with self._deleting(group_id) as group:
            return group.delete_offsets(partitions)

    def delete(self, group_id: str) -> ErrorCode:
        """Forget a group that has no members, and what it has committed; return an error, or none."""
        try:
            self._check_is_its(group_id)
            with self._deleting(group_id) as group:
                if group.state is not GroupState.EMPTY:
                    return ErrorCode.NON_EMPTY_GROUP
                del self._groups[group_id]
        except GroupRefusedError as refused:
            return refused.code
        return ErrorCode.NONE

    # --- what there is

    def groups(self) -> list[GroupDescription]:
        """Return all groups, without their members."""
        with self._lock:
            for group in self._groups.values():
                self._advance(group)
            told = [
                GroupDescription(group.group_id, group.state, group.members.protocol_type or "")
                for group in self._groups.values()
            ]
        return [each for each in told if self._coordinates(each.group_id)]

    def describe(self, group_id: str) -> GroupDescription:
        """Return a group, which is dead where there is none. Raises GroupRefusedError."""
        self._check_is_its(group_id)
        with self._lock:
            group = self._groups.get(group_id)
            if group is None:
                return GroupDescription(group_id, GroupState.DEAD)
            self._advance(group)
            return group.describe()

    def _check_group(self, group_id: str) -> None:
        if not group_id:
            raise GroupRefusedError(ErrorCode.INVALID_GROUP_ID)
        self._check_is_its(group_id)

    def _check_is_its(self, group_id: str) -> None:
        if not self._coordinates(group_id):
            raise GroupRefusedError(ErrorCode.NOT_COORDINATOR)

    def _check_session_timeout(self, timeout: float) -> None:
        if not self._settings.min_session_timeout <= timeout <= self._settings.max_session_timeout:
            raise GroupRefusedError(ErrorCode.INVALID_SESSION_TIMEOUT)

    @contextmanager
    def _changing(self, group_id: str, *, room: int = 0, create: bool = False) -> Iterator[ClassicGroup]:
        """Change a group, which gets up to `room` bytes larger.

        GroupRefusedError where it is not there, or there is no room.
        """
        with self._lock:
            group = self._groups.get(group_id)
            if group is None and not create:
                raise GroupRefusedError(ErrorCode.UNKNOWN_MEMBER_ID)
            if room or group is None:
                self._make_room(room + len(group_id) + _OVERHEAD, group)
            if group is None:
                group = self._groups[group_id] = ClassicGroup(group_id, self._settings)
                self._size += group.size
            self._advance(group)
            before, deadline = group.size, group.deadline
            try:
                yield group
            finally:
                group.advance(self._clock())
                self._size += group.size - before
                if group.deadline < deadline:
                    group.wake()

    @contextmanager
    def _deleting(self, group_id: str) -> Iterator[ClassicGroup]:
        """Give access to a group of which something is deleted. GroupRefusedError where it is not there."""
        with self._lock:
            group = self._groups.get(group_id)
            if group is None:
                raise GroupRefusedError(ErrorCode.GROUP_ID_NOT_FOUND)
            self._advance(group)
            before = group.size
            yield group
            self._size += (group.size if group_id in self._groups else 0) - before

    def _advance(self, group: ClassicGroup) -> None:
        before = group.size
        group.advance(self._clock())
        self._size += group.size - before

    def _make_room(self, room: int, wanted: ClassicGroup | None) -> None:
        """Forget groups that are empty and have committed nothing, where memory is short."""
        if self._size + room <= self._settings.max_bytes:
            return
        if self._clock() < self._search_at:
            raise GroupRefusedError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        self._search_at = self._clock() + _SEARCH_SECONDS
        for group in self._groups.values():
            self._advance(group)
        idle = [group for group in self._groups.values() if group.is_idle and group is not wanted]
        for group in idle:
            del self._groups[group.group_id]
            self._size -= group.size
        if self._size + room > self._settings.max_bytes:
            raise GroupRefusedError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
