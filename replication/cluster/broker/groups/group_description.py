"""A group as administrators see it."""

from typing import NamedTuple

from replication.cluster.broker.groups.group_state import GroupState


class MemberDescription(NamedTuple):
    """A member; its metadata is there only for a stable group."""

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
    """Only of a stable group."""
    members: tuple[MemberDescription, ...] = ()
