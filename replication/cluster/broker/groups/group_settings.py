"""What holds for all groups of a coordinator."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Times are in seconds; the names in brackets are Kafka's."""

    min_session_timeout: float = 6.0
    """The shortest session that a member may ask for (group.min.session.timeout.ms)."""
    max_session_timeout: float = 1_800.0
    """The longest one (group.max.session.timeout.ms)."""
    initial_rebalance_delay: float = 3.0
    """How long a group without members waits for others after the first (group.initial.rebalance.delay.ms)."""
    max_size: int = 10_000
    """The most members of a group (group.max.size, which Kafka does not limit by default)."""
    new_member_join_timeout: float = 300.0
    """How long a new member waits to have joined; it knows no member id yet and sends no heartbeats."""
    max_metadata_bytes: int = 4_096
    """The longest metadata of a committed offset (offset.metadata.max.bytes)."""
    max_bytes: int = 256 << 20
    """About how much memory all groups together may take; what would be more gets COORDINATOR_NOT_AVAILABLE."""
