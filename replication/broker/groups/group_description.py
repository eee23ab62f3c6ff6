"""A group as those are told of it that look after it."""

from typing import NamedTuple

from replication.broker.groups.group_state import GroupState


class MemberDescription(NamedTuple):
    """A member; its metadata is told only of a group that is stable."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes
    member_assignment: bytes


class GroupDescription(NamedTuple):
    """A group (Kafka: DescribedGroup)."""

    group_id: str
    state: GroupState
    protocol_type: str = ""
    protocol: str = ""
    """Told only of a group that is stable."""
    members: tuple[MemberDescription, ...] = ()
