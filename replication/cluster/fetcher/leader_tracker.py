"""Finds out who leads partitions, and lets a manager's fetchers follow them."""

from collections.abc import Iterable
from dataclasses import replace
from threading import RLock
from typing import Final
from uuid import UUID

from logstore import Log, TopicPartition
from replication.base.errors import ReplicationError
from replication.cluster.fetcher.decisions.fetch_state import Phase
from replication.cluster.fetcher.errors import reason_of
from replication.cluster.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.cluster.fetcher.leader_changes import KnownLeader, Outdated, Recreated, Unknown, leader_of
from replication.cluster.worker_thread import WorkerThread
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.messages.metadata import ClusterMetadata

MAX_AGE_SECONDS: Final = 300.0
"""Kafka: metadata.max.age.ms."""
_PATIENCE: Final = 5
"""Refreshes in a row that resolve no doubt, before another broker is asked; if that one, too, reports an older leader
only than the one known, that one is believed."""
_NO_EPOCH: Final = -1


class _Tracked:
    __slots__ = ("known", "log", "outdated")

    def __init__(self, log: Log, topic_id: UUID | None) -> None:
        self.log = log
        self.known = KnownLeader(topic_id)
        self.outdated = 0
        """How many times in a row the cluster reported an older leader, while nothing came of the one known."""


class LeaderTracker(WorkerThread):
    """Keeps partitions with their leaders: asks the cluster at first, when a fetcher is in doubt, and now and then.

    `refresh` may be called instead of `start`, by who drives it alone. Any thread may call anything.
    """

    def __init__(self, client: ClusterClient, manager: FetcherManager) -> None:
        """Ask through `client`, and update `manager`. Both stay the caller's to close."""
        super().__init__("leader-tracker")
        self._client = client
        self._manager = manager
        self._tracked: dict[TopicPartition, _Tracked] = {}
        self._problems: dict[TopicPartition, Unknown | Recreated] = {}
        self._refreshing = RLock()
        self._fruitless = 0
        """How many refreshes in a row have resolved no doubt."""
        self.trouble = ""
        """Why the cluster could not be asked the last time; "" where it could."""

    def track(self, partition: TopicPartition, log: Log, topic_id: UUID | None = None) -> None:
        """Follow a partition into `log` from the next refresh on.

        `topic_id` is that of the topic that the log holds; None where that is not known yet.
        """
        with self._refreshing:
            self._tracked[partition] = _Tracked(log, topic_id)
        self._manager.doubts.add(partition)

    def forget(self, partition: TopicPartition) -> None:
        """Follow a partition no more; its log is not touched after this."""
        with self._refreshing:
            self._tracked.pop(partition, None)
            self._problems.pop(partition, None)
            self._manager.forget(partition)

    @property
    def problems(self) -> dict[TopicPartition, Unknown | Recreated]:
        """Partitions whose leader the last answer did not have, or that are no more what they were, and why."""
        return dict(self._problems)

    def refresh(self) -> ClusterMetadata:
        """Ask the cluster who leads what, and follow. Raises what `ClusterClient.metadata` raises."""
        with self._refreshing:
            tracked = dict(self._tracked)
        metadata = self._client.metadata(sorted({partition.topic for partition in tracked}))
        with self._refreshing:
            for partition, each in tracked.items():
                if self._tracked.get(partition) is each:
                    self._take(partition, each, metadata)
        return metadata

    def try_refresh(self) -> ClusterMetadata | None:
        """Refresh; None where nobody can be asked now, for the reason in `trouble`."""
        try:
            metadata = self.refresh()
        except (OSError, ReplicationError, MemoryError) as error:
            self.trouble = reason_of(error)
            for partition in [*self._tracked]:
                self._manager.doubts.add(partition)
            return None
        self.trouble = ""
        return metadata

    def _take(self, partition: TopicPartition, tracked: _Tracked, metadata: ClusterMetadata) -> None:
        found = leader_of(partition, tracked.known, metadata)
        if not isinstance(found, Outdated):
            tracked.outdated = 0
        elif self._is_disproved(partition, tracked, found.leader_epoch):
            known = replace(tracked.known, leader_epoch=_NO_EPOCH)
            found = leader_of(partition, known, metadata)
        if not isinstance(found, KnownLeader):
            self._problems[partition] = found
            if isinstance(found, Recreated):
                self._manager.fail(partition, found.reason)
            return
        self._problems.pop(partition, None)
        if found is not tracked.known:
            self._follow(partition, tracked, found)

    def _is_disproved(self, partition: TopicPartition, tracked: _Tracked, leader_epoch: int) -> bool:
        """Whether the leader known cannot be one: it was reported once, and the cluster keeps reporting an older one.

        Not while the leader known answers, nor where the log holds what a newer one wrote. Kafka's clients never go
        back to a lower epoch.
        """
        state = self._manager.state(partition)
        is_answering = state is not None and state.phase is Phase.FETCHING and state.lag is not None
        tracked.outdated = 0 if is_answering else tracked.outdated + 1
        return tracked.outdated > _PATIENCE and (tracked.log.epochs.history.latest_epoch or 0) <= leader_epoch

    def _follow(self, partition: TopicPartition, tracked: _Tracked, found: KnownLeader) -> None:
        if found.address is None or self._stopped.is_set():
            return
        leader = LeaderAddress(found.broker_id, found.address)
        self._manager.follow(partition, tracked.log, leader, found.leader_epoch, found.topic_id)
        tracked.known = found

    def _wake(self) -> None:
        self._manager.doubts.wake()

    def _round(self) -> None:
        doubted = self._manager.doubts.take(MAX_AGE_SECONDS)
        if self._stopped.is_set():
            return
        before = self._known(doubted)
        metadata = self.try_refresh()
        self._fruitless = self._fruitless + 1 if before and self._known(doubted) == before else 0
        if self._fruitless >= _PATIENCE:
            # A broker that is cut off from the controller goes on telling what it knew.
            self._client.ask_another()
            self._fruitless = 0
        if metadata is not None and not self._still_in_doubt():
            self._back_off.succeeded()
        # Also after a success: who is in doubt again at once waits a little longer each time.
        self._rest()

    def _known(self, partitions: Iterable[TopicPartition]) -> list[KnownLeader]:
        found = (self._tracked.get(each) for each in partitions)
        return [tracked.known for tracked in found if tracked is not None]

    def _still_in_doubt(self) -> bool:
        """Doubt again whatever waits for a newer leader than the cluster reported."""
        waiting = [each for each, state in self._manager.states.items() if state.phase is Phase.FENCED]
        unknown = [each for each, problem in self.problems.items() if isinstance(problem, Unknown)]
        for partition in (*unknown, *waiting):
            self._manager.doubts.add(partition)
        return bool(unknown or waiting)
