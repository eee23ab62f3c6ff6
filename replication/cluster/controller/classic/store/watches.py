"""The watches of a controller: each puts an event into its queue (Kafka: the ZNodeChangeHandlers)."""

from collections.abc import Callable
from dataclasses import dataclass

from logstore.topic_partition import TopicPartition
from replication.cluster.controller.classic import events
from replication.cluster.controller.classic.store.coordination_store import Watch


class Watches:
    """A store may call these in any thread; `put` must bear that."""

    def __init__(self, put: Callable[[events.Event], None]) -> None:
        self._put = put
        self.controller = self._on(events.ControllerChanged())
        self.brokers = self._on(events.BrokersChanged())
        self.topics = self._on(events.TopicsChanged())
        self.deletions = self._on(events.DeletionAsked())
        self.reassignments = self._on(events.ReassignmentAsked())
        self.preferred_election = self._on(events.PreferredElectionAsked())
        self.isr_changes = self._on(events.IsrChangeNoticed())

    def partitions(self, topic: str) -> Watch:
        """Return the watch of a topic's replicas."""
        return self._on(events.PartitionsChanged(topic))

    def reassigned_isr(self, partition: TopicPartition) -> Watch:
        """Return the watch of the state of a partition that moves."""
        return self._on(events.ReassignedIsrChanged(partition))

    def _on(self, event: events.Event) -> Watch:
        return _Put(self._put, event)


@dataclass(frozen=True)
class _Put:
    """A watch; equal ones are one to a store that asks again before the first was called."""

    put: Callable[[events.Event], None]
    event: events.Event

    def __call__(self, _: str) -> None:
        self.put(self.event)
