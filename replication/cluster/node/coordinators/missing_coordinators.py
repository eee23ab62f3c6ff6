"""Partitions by which clients find their coordinator, where that is a broker that is none."""

from collections.abc import Mapping
from threading import Lock
from typing import Final

from logstore import TopicPartition
from replication.cluster.broker.events.event_log import log_event
from replication.cluster.broker.events.partition_events import PartitionEvent, Role, RoleChanged
from replication.cluster.broker.events.trouble import TellTrouble, Trouble
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.node.coordinators.coordinator_topic import SHARE_GROUPS
from replication.cluster.node.coordinators.other_coordinators import GROUPS, TRANSACTIONS

_WITH_IT: Final[Mapping[str, str]] = {
    GROUPS: "groups",
    TRANSACTIONS: "transactional ids",
    SHARE_GROUPS: "share groups",
}


class MissingCoordinators:
    """Reports once that this broker leads such partitions, for each topic, and once that it leads none any more."""

    def __init__(self, *, coordinates_groups: bool, tell: TellTrouble = log_event) -> None:
        """Begin where it leads nothing."""
        self._topics: Final = _WITH_IT.keys() - ({GROUPS} if coordinates_groups else ())
        self._lock: Final = Lock()
        self._led: Final[set[TopicPartition]] = set()
        self._trouble: Final = Trouble(TroubleKind.COORDINATOR, tell=tell)

    def note(self, event: PartitionEvent) -> None:
        """Note what has happened to a partition; any thread may."""
        if not isinstance(event, RoleChanged) or event.partition.topic not in self._topics:
            return
        with self._lock:
            if event.after is Role.LEADER:
                self._led.add(event.partition)
                self._trouble.begin(_reason(event.partition), cause=event.partition.topic)
                return
            self._led.discard(event.partition)
            if not self._led:
                self._trouble.end()


def _reason(led: TopicPartition) -> str:
    """Return who is left without, by the first such partition."""
    return (
        f"this broker leads {led}, and coordinates nothing: clients with {_WITH_IT[led.topic]} that belong there find "
        "no coordinator (COORDINATOR_NOT_AVAILABLE)"
    )
