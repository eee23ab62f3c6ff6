"""Many partitions of many leaders, spread over threads."""

import time
from contextlib import ExitStack
from threading import RLock
from typing import Final, NamedTuple
from uuid import UUID

from logstore import Log, TopicPartition
from replication.base.int32 import java_hash, wrapped_int32
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.errors import FetchersClosedError
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.fetcher_thread import FetcherThread
from replication.cluster.fetcher.leader_doubts import LeaderDoubts
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.cluster.worker_thread import STOP_SECONDS
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings

_DEFAULT: Final = ClientSettings()


class LeaderAddress(NamedTuple):
    """A leader's broker id and address."""

    broker_id: int
    address: Address


class ReplicaLag(NamedTuple):
    """How far a partition that is followed is behind its leader."""

    leader_id: int
    thread: int
    """Which of its leader's threads follows it."""
    partition: TopicPartition
    offsets: int | None
    """Up to the leader's high watermark, as the last answer had it; None: not known."""


class FetcherManager:
    """Follows partitions with some threads for each leader (Kafka: AbstractFetcherManager). Thread-safe.

    >>> manager.follow(partition, log, LeaderAddress(1, Address("broker1", 9092)), leader_epoch=4)
    """

    def __init__(
        self,
        client_settings: ClientSettings = _DEFAULT,
        settings: FetcherSettings | None = None,
        *,
        threads: int = 1,
        observer: FetchObserver | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        """`threads` is the number of fetchers for each leader (Kafka: num.replica.fetchers).

        Raises ValueError if it is below 1.
        """
        if threads < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self.doubts = LeaderDoubts()
        """Partitions that another broker may lead by now, for the code that looks for the leader."""
        self._client_settings = client_settings
        self._settings = settings or FetcherSettings()
        self._threads_per_leader = threads
        self._observer = observer or FetchObserver()
        self._throttle = throttle
        self._threads: dict[tuple[LeaderAddress, int], FetcherThread] = {}
        self._places: dict[TopicPartition, FetcherThread] = {}
        self._changing = RLock()
        self._closed = False

    def follow(
        self,
        partition: TopicPartition,
        log: Log,
        leader: LeaderAddress,
        leader_epoch: int,
        topic_id: UUID | None = None,
    ) -> None:
        """Follow a partition, or its new leader. Nothing else may append to `log` until `forget`.

        Raises FetchersClosedError after `close`.
        """
        is_known, log_end_offset = self.state(partition) is not None, log.log_end_offset
        with self._changing:
            if self._closed:
                raise FetchersClosedError(partition)
            thread = self._thread(leader, fetcher_number(partition, self._threads_per_leader))
            if self._places.get(partition) is not thread:
                self._leave(partition)
                # First of all, so that it is known who follows a partition, whatever breaks this off.
                self._places[partition] = thread
            with thread.fetching() as fetcher:
                fetcher.follow(partition, log, leader_epoch, topic_id)
            self._stop_idle()
        if is_known:
            self._observer.leader_changed(partition, leader.broker_id, leader_epoch, log_end_offset)

    def forget(self, partition: TopicPartition) -> None:
        """Stop following a partition; its log is not touched after this."""
        with self._changing:
            self._leave(partition)
            self._stop_idle()

    def look_again(self) -> None:
        """Resume partitions that the throttle has held up, after its rate has changed."""
        for thread in list(self._threads.values()):
            thread.look_again()

    def fail(self, partition: TopicPartition, reason: str) -> None:
        """Mark a partition as failed, for this reason."""
        thread = self._places.get(partition)
        if thread is not None:
            with thread.fetching() as fetcher:
                fetcher.fail(partition, reason)

    def state(self, partition: TopicPartition) -> FetchState | None:
        """Return the fetch state of a partition; None if it is not followed."""
        thread = self._places.get(partition)
        return thread.fetcher.state(partition) if thread else None

    @property
    def states(self) -> dict[TopicPartition, FetchState]:
        """The fetch states of all partitions."""
        states = {partition: self.state(partition) for partition in list(self._places)}
        return {partition: state for partition, state in states.items() if state is not None}

    @property
    def failed(self) -> dict[TopicPartition, str]:
        """Partitions that have failed, and why."""
        return {each: state.reason for each, state in self.states.items() if state.phase is Phase.FAILED}

    @property
    def lags(self) -> list[ReplicaLag]:
        """How far each partition is behind (Kafka: FetcherLagMetrics). Any thread may ask."""
        return [
            ReplicaLag(leader.broker_id, number, partition, state.lag)
            for (leader, number), thread in list(self._threads.items())
            for partition, state in thread.fetcher.states.items()
        ]

    @property
    def dead_threads(self) -> int:
        """How many threads have given up, with what they followed."""
        return sum(thread.failure is not None for thread in list(self._threads.values()))

    def is_caught_up(self, partition: TopicPartition, since: int) -> bool:
        """Whether all was fetched that was below the leader's high watermark at `since`, a time of `monotonic_ms`."""
        thread = self._places.get(partition)
        return thread is not None and thread.fetcher.is_caught_up(partition, since)

    def close(self) -> None:
        """Stop all threads, within some seconds; no log is touched after this, unless a write is under way by then."""
        with self._changing:
            self._closed = True
            threads = [*self._threads.values()]
        until = time.monotonic() + STOP_SECONDS
        # All are told before any is waited for, and each is, whatever comes of the others.
        with ExitStack() as steps:
            for wait in (True, False):
                for thread in threads:
                    steps.callback(thread.stop, wait=wait, until=until)

    def _thread(self, leader: LeaderAddress, number: int) -> FetcherThread:
        known = self._threads.get((leader, number))
        if known is not None and not known.stopped:
            return known
        fetcher = Fetcher(self._settings, observer=self._observer, throttle=self._throttle, in_doubt=self.doubts.add)
        name = f"fetcher-{leader.broker_id}-{number}"
        thread = FetcherThread(leader.address, fetcher, self._client_settings, self._observer, name)
        self._threads[leader, number] = thread
        try:
            thread.start()
        except BaseException:
            thread.stop(wait=False)
            raise
        return thread

    def _leave(self, partition: TopicPartition) -> None:
        thread = self._places.get(partition)
        if thread is not None:
            with thread.fetching() as fetcher:
                fetcher.forget(partition)
            del self._places[partition]

    def _stop_idle(self) -> None:
        """Stop threads that follow nothing any more (Kafka: shutdownIdleFetcherThreads)."""
        for (leader, number), thread in [*self._threads.items()]:
            if not len(thread.fetcher):
                thread.stop(wait=False)
                del self._threads[leader, number]
                self._observer.left(str(leader.address))


def fetcher_number(partition: TopicPartition, threads: int) -> int:
    """Return which of its leader's threads follows a partition (Kafka: AbstractFetcherManager.getFetcherId)."""
    return abs(wrapped_int32(31 * java_hash(partition.topic) + partition.partition)) % threads
