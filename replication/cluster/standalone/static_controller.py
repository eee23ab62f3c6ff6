"""The only controller of a cluster, for brokers in its own process (Kafka: a quorum of one)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, RLock
from typing import Final, TypeVar

from logstore.log.state.waiters import Waiter, Waiters
from replication.base.clock import monotonic_ms
from replication.cluster.controller.controller import Controller, ControllerSettings
from replication.cluster.controller.decision import Decision
from replication.cluster.node.metadata_feed import MetadataFeed
from replication.cluster.standalone.errors import ControllerFailedError
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.image_publisher import ImagePublisher, PublishedImage
from replication.records.metadata.records.control import ControlMessage

T = TypeVar("T")
_DEFAULT: Final = ControllerSettings()


class StaticController:
    """Decides as `Controller` does, and writes each decision to the log before it counts. Thread-safe.

    >>> controller.decide(lambda deciding: deciding.create_topics([NewTopic("orders", partitions=3)]))
    """

    def __init__(
        self,
        cluster_id: str,
        metadata: StoredMetadata,
        settings: ControllerSettings = _DEFAULT,
        *,
        clock: Callable[[], int] = monotonic_ms,
    ) -> None:
        """Go on from what the metadata says. Raises MetadataError, OSError, and LogStoreError."""
        self.metadata: Final = metadata
        """The log of its decisions."""
        self._controller: Final = Controller(cluster_id, settings)
        self._publisher: Final = ImagePublisher()
        self._clock: Final = clock
        self._deciding: Final = RLock()
        self._taking_snapshot: Final = Lock()
        self._feeds: Final[list[MetadataFeed]] = []
        self._waiters: Final = Waiters()
        self._failure: BaseException | None = None
        metadata.replay(self._replay)
        self._controller.next_offset = metadata.next_offset
        self._controller.activate(clock())
        self._publisher.publish()

    @property
    def cluster_id(self) -> str:
        """The id of the cluster."""
        return self._controller.cluster_id

    @property
    def published(self) -> PublishedImage:
        """The cluster as of the last decision; any thread may read it."""
        return self._publisher.published

    @property
    def failure(self) -> BaseException | None:
        """Why it decides nothing more; None as long as it does."""
        return self._failure

    def fail(self, error: BaseException) -> None:
        """Decide nothing more."""
        self._failure = error

    def decide(self, make: Callable[[Controller], Decision[T]]) -> T:
        """Make the controller decide, and return its answer once the decision is on stable storage.

        Raises Refusal, what `make` raises, and ControllerFailedError once the log could not be written.
        """
        with self._deciding:
            self._ensure_deciding()
            return self._commit(make(self._controller))

    def announce(self, *messages: ControlMessage) -> None:
        """Append control records that describe the quorum. Raises ControllerFailedError."""
        with self._deciding:
            self._ensure_deciding()
            with self._failing():
                batch = self.metadata.append_control(messages)
                self._controller.next_offset = self.metadata.next_offset
                self._publish(batch)

    def tick(self) -> None:
        """Do what is due: sessions that have run out, leaders to balance. Raises ControllerFailedError."""
        with self._deciding:
            while (decision := self._controller.tick(self._clock())) is not None:
                self._ensure_deciding()
                self._commit(decision)

    def take_due_snapshot(self) -> None:
        """Write a snapshot of the metadata if one is due. Raises MetadataError, OSError, and LogStoreError."""
        with self._taking_snapshot:
            if not self.metadata.is_snapshot_due:
                return
            with self._deciding:
                published = self.published
                self.metadata.begin_segment()
            self.metadata.take_snapshot(published)

    def end_session(self, broker_id: int) -> None:
        """End a broker's session: the caller holds its directories, so its earlier start is over."""
        with self._deciding:
            self._controller.sessions.end(broker_id)

    def feed(self, waiter: Waiter) -> MetadataFeed:
        """Return the feed of all changes from now on for one broker; the waiter, held weakly, is woken by each."""
        with self._deciding:
            feed = MetadataFeed(self.published, self._drop)
            self._feeds.append(feed)
            self._waiters.add(waiter)
            return feed

    def _drop(self, feed: MetadataFeed) -> None:
        with self._deciding:
            self._feeds.remove(feed)

    def _ensure_deciding(self) -> None:
        if self._failure is not None:
            raise ControllerFailedError(self._failure) from self._failure

    def _commit(self, decision: Decision[T]) -> T:
        """Return the answer of a decision once its records, if it has any, are on stable storage."""
        if not decision.records:
            return self._controller.appended(decision)
        level = self._controller.cluster.image.metadata_version
        with self._failing():
            batch = self.metadata.append(decision.records, level)
            answer = self._controller.appended(decision)
            self._publish(batch)
        return answer

    @contextmanager
    def _failing(self) -> Iterator[None]:
        """Decide nothing more after an error: what is in memory and what is in the log may differ from here on."""
        try:
            yield
        except Exception as error:
            self._failure = error
            raise ControllerFailedError(error) from error

    def _publish(self, batch: MetadataBatch) -> None:
        self._publisher.replay([batch])
        published = self._publisher.publish()
        for feed in self._feeds:
            feed.put(published)
        self._waiters.wake()

    def _replay(self, batch: MetadataBatch) -> None:
        self._controller.next_offset = batch.base_offset
        self._controller.replay(batch.records)
        self._publisher.replay([batch])
