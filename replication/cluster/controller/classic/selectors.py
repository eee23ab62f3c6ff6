"""The four ways to choose a leader (Kafka: Election, PartitionLeaderSelector before 1.1)."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from types import MappingProxyType
from typing import Final, NamedTuple

from replication.cluster.controller.classic.leader_and_isr import LeaderAndIsr
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.records.metadata.partition import LeaderRecoveryState


class Selector(Enum):
    """Why a partition needs a leader."""

    OFFLINE = "offline"
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"


class Brokers(NamedTuple):
    """Who is there to lead."""

    live_or_shutting_down: AbstractSet[int]
    shutting_down: AbstractSet[int] = frozenset()

    @property
    def live(self) -> AbstractSet[int]:
        """Those that stay."""
        return self.live_or_shutting_down - self.shutting_down


class Selection(NamedTuple):
    """What a selector found."""

    state: LeaderAndIsr | None
    """None where nobody can lead."""
    receivers: tuple[int, ...]
    """The brokers that get LeaderAndIsr."""


def select(
    selector: Selector,
    current: LeaderAndIsr,
    assignment: ReplicaAssignment,
    brokers: Brokers,
    *,
    unclean_enabled: bool = False,
) -> Selection:
    """Choose a leader; each success raises the leader epoch."""
    if selector is Selector.OFFLINE:
        return _offline(current, assignment, brokers, unclean_enabled=unclean_enabled)
    return _CLEAN[selector](current, assignment, brokers)


def _offline(
    current: LeaderAndIsr, assignment: ReplicaAssignment, brokers: Brokers, *, unclean_enabled: bool
) -> Selection:
    """Of the ISR if anyone is left, else whoever lives, where losing records is better than waiting."""
    receivers = tuple(each for each in assignment.replicas if each in brokers.live)
    for candidate in receivers:
        if candidate in current.isr:
            isr = tuple(each for each in current.isr if each in brokers.live)
            return Selection(current.led_by(candidate, isr), receivers)
    if not unclean_enabled or not receivers:
        return Selection(None, receivers)
    leader = receivers[0]
    state = current.led_by(leader, (leader,))._replace(recovery_state=LeaderRecoveryState.RECOVERING)
    return Selection(state, receivers)


def _reassign(current: LeaderAndIsr, assignment: ReplicaAssignment, brokers: Brokers) -> Selection:
    leader = next((each for each in assignment.target if each in brokers.live and each in current.isr), None)
    return Selection(None if leader is None else current.led_by(leader), assignment.target)


def _preferred(current: LeaderAndIsr, assignment: ReplicaAssignment, brokers: Brokers) -> Selection:
    preferred = next(iter(assignment.replicas), None)
    can_lead = preferred in brokers.live and preferred in current.isr
    return Selection(current.led_by(preferred) if preferred is not None and can_lead else None, assignment.replicas)


def _controlled_shutdown(current: LeaderAndIsr, assignment: ReplicaAssignment, brokers: Brokers) -> Selection:
    """Send to the broker that shuts down too: it still answers."""
    receivers = tuple(each for each in assignment.replicas if each in brokers.live_or_shutting_down)
    isr = tuple(each for each in current.isr if each not in brokers.shutting_down)
    leader = next((each for each in receivers if each in isr), None)
    return Selection(None if leader is None else current.led_by(leader, isr), receivers)


_CLEAN: Final[Mapping[Selector, Callable[[LeaderAndIsr, ReplicaAssignment, Brokers], Selection]]] = MappingProxyType(
    {
        Selector.REASSIGN: _reassign,
        Selector.PREFERRED: _preferred,
        Selector.CONTROLLED_SHUTDOWN: _controlled_shutdown,
    }
)
