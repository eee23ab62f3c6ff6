"""The controller of a simulated cluster: the real one, with its log in memory."""

from bisect import bisect_right
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from random import Random
from typing import Any, Final, TypeVar
from uuid import UUID

from replication.cluster.controller.controller import Controller, ControllerSettings
from replication.cluster.controller.decision import Decision
from replication.cluster.node.metadata_feed import MetadataNews
from replication.cluster.standalone.requests.broker_requests import BrokerRequests
from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_changes import ImageChanges
from replication.records.metadata.image_publisher import ImagePublisher, PublishedImage
from replication.testing.simulated.metadata_poll import MetadataPoll
from replication.testing.simulated.network import Reply
from replication.testing.simulated.process import Alarm, Process
from replication.testing.simulated.timeline import Timeline

T = TypeVar("T")
POLL_MS: Final = 500
"""How long a broker waits for news of the metadata before it asks again."""


class ControllerProcess:
    """Decides as `Controller` does; what it has decided is safe at once, and it never fails."""

    def __init__(
        self,
        cluster_id: str,
        settings: ControllerSettings,
        timeline: Timeline,
        random: Random,
        *,
        ends_sessions: bool,
    ) -> None:
        """With `ends_sessions` a broker that starts anew may register before its last session has run out."""
        self.process: Final = Process(timeline)
        self.controller: Final = Controller(
            cluster_id, settings, random=random, new_topic_id=lambda: UUID(int=random.getrandbits(128))
        )
        self._ends_sessions: Final = ends_sessions
        self._requests: Final = BrokerRequests(self, lambda: self.process.now_ms)
        self._publisher: Final = ImagePublisher()
        self._changes: Final[list[tuple[int, ImageChanges]]] = []
        self._polls: Final[dict[int, tuple[MetadataPoll, Reply]]] = {}
        self._poll_count = 0
        self._tick: Final = Alarm(self.process, self._do_what_is_due)
        self.controller.activate(timeline.now_ms)

    @property
    def published(self) -> PublishedImage:
        """The cluster as of the last decision."""
        return self._publisher.published

    def decide(self, make: Callable[[Controller], Decision[T]]) -> T:
        """Make the controller decide, and return its answer. Raises Refusal."""
        try:
            decision = make(self.controller)
            return self._commit(decision)
        finally:
            self._tick_later()

    def serve(self, request: Any, reply: Reply) -> None:
        """Answer a broker."""
        if isinstance(request, MetadataPoll):
            self._poll(request, reply)
            return
        reply(self._requests.answer(request))

    def end_session(self, broker_id: int) -> None:
        """End a restarting broker's old session, if so configured: the caller holds the broker's directory."""
        if self._ends_sessions:
            self.controller.sessions.end(broker_id)

    # --- metadata

    def _poll(self, poll: MetadataPoll, reply: Reply) -> None:
        if poll.applied_offset < self.published.applied_offset:
            reply(self._news(poll))
            return
        self._poll_count += 1
        self._polls[self._poll_count] = (poll, reply)
        self.process.after(POLL_MS, partial(self._answer, self._poll_count))

    def _answer(self, number: int) -> None:
        waiting = self._polls.pop(number, None)
        if waiting is not None:
            poll, reply = waiting
            reply(self._news(poll))

    def _news(self, poll: MetadataPoll) -> MetadataNews:
        published, known = self.published, poll.applied_offset
        if known < 0:
            changes = ImageChanges.between(ClusterImage(), published.image)
        else:
            first = bisect_right(self._changes, known, key=itemgetter(0))
            changes = ImageChanges.union(each for _, each in self._changes[first:])
        return MetadataNews(published.image, changes, published.applied_offset)

    # --- decisions

    def _do_what_is_due(self) -> None:
        while (decision := self.controller.tick(self.process.now_ms)) is not None:
            self._commit(decision)
        self._tick_later()

    def _tick_later(self) -> None:
        """Look when something is due; a session lasts for the whole of its last millisecond."""
        wake_at = self.controller.wake_at
        self._tick.set(None if wake_at is None else max(wake_at, self.process.now_ms) + 1)

    def _commit(self, decision: Decision[T]) -> T:
        if not decision.records:
            return self.controller.appended(decision)
        first = self.controller.next_offset
        answer = self.controller.appended(decision)
        last = self.controller.next_offset - 1
        self._publisher.replay([MetadataBatch(first, last, 0, self.process.now_ms, tuple(decision.records))])
        self._changes.append((last, self._publisher.publish().changes))
        for number in tuple(self._polls):
            self._answer(number)
        return answer
