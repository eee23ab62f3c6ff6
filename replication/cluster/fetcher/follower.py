"""Follow partitions of a real cluster into logs, from a Python program."""

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Final, Self

from logstore import Log, TopicPartition
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from replication.base.clock import monotonic_ms
from replication.base.owned_by_process import OwnedByProcess
from replication.base.stop_request import StopRequest
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.errors import (
    FollowingFailedError,
    NotCaughtUpError,
    OtherPartitionError,
    PartitionNotFoundError,
)
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher_manager import FetcherManager
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.leader_changes import Recreated, Unknown
from replication.cluster.fetcher.leader_tracker import LeaderTracker
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.error_code import ErrorCode
from replication.wire.errors import raise_for
from replication.wire.messages.metadata import ClusterMetadata

_DEFAULT: Final = ClientSettings()
_LOOK_SECONDS: Final = 0.01
_TRIES: Final = 5
_TRY_SECONDS: Final = 0.2
"""A topic that was just created is not known to all brokers at once."""


class Follower(OwnedByProcess):
    """Keeps logs identical to their leaders', batch by batch, and truncates them where leader epochs diverge.

    >>> with (
    ...     Log.open("orders-0", replicated=True) as log,
    ...     Follower("localhost:9092", TopicPartition("orders", 0), log) as follower,
    ... ):
    ...     follower.catch_up(timeout=10)

    It fetches as a consumer does, so it is no member of the cluster, and gets what is below the high watermark. It
    finds the leaders and follows their changes. An observer is called for each event. The logs remain the
    caller's to close, after the follower.
    """

    def __init__(
        self,
        bootstrap: str,
        partition: TopicPartition,
        log: Log,
        *,
        client_settings: ClientSettings = _DEFAULT,
        settings: FetcherSettings | None = None,
        threads: int = 1,
        observer: FetchObserver | None = None,
        throttle: Throttle | None = None,
    ) -> None:
        """Connect later: `bootstrap` is a comma-separated list of brokers, each `host:port`.

        Raises InvalidAddressError, and the errors of `follow`.
        """
        super().__init__()
        self._bootstrap = bootstrap
        self._client = ClusterClient(bootstrap, client_settings)
        self._manager = FetcherManager(client_settings, settings, threads=threads, observer=observer, throttle=throttle)
        self._tracker = LeaderTracker(self._client, self._manager)
        self._logs: dict[TopicPartition, Log] = {}
        self._stop_request = StopRequest()
        self.follow(partition, log)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._bootstrap}, {len(self._logs):,} partitions)"

    def follow(self, partition: TopicPartition, log: Log) -> None:
        """Follow one more partition, of the topic whose id is in the log's partition.metadata, if it has one.

        Raises OtherPartitionError if the log's directory has another name; CorruptMetadataError and OSError if
        that file cannot be read; InheritedError in a forked process.
        """
        self._ensure_own()
        if log.directory.name != str(partition):
            raise OtherPartitionError(partition, log.directory)
        known = PartitionMetadata.of(log.directory)
        self._logs[partition] = log
        self._tracker.track(partition, log, known.topic_id if known else None)

    def start(self) -> None:
        """Find the leaders and begin to follow; `with` calls this. Writes the topics' ids to partition.metadata.

        Raises PartitionNotFoundError, KafkaError if brokers refuse permanently, the errors of
        `ClusterClient.metadata` if no broker answers, and OSError if an id cannot be written; InheritedError in a
        forked process.
        """
        self._ensure_own()
        metadata = self._tracker.refresh()
        for _ in range(_TRIES):
            if not self._missing():
                break
            self._stop_request.wait(_TRY_SECONDS)
            metadata = self._tracker.refresh()
        for partition in self._missing():
            raise PartitionNotFoundError(partition, self._bootstrap)
        for partition, problem in self._tracker.problems.items():
            if isinstance(problem, Unknown) and not problem.error.retriable:
                raise_for(problem.error, str(partition))
        self._remember_topics(metadata)
        self._tracker.start()

    def catch_up(self, timeout: float | None = None) -> None:
        """Wait until the logs hold everything that was below the leaders' high watermarks when this was called.

        Raises FollowingFailedError if a partition has failed, NotCaughtUpError after `timeout` seconds;
        InheritedError in a forked process.
        """
        self._ensure_own()
        since = monotonic_ms()
        deadline = None if timeout is None else time.monotonic() + timeout
        for partition in [*self._logs]:
            while not self._manager.is_caught_up(partition, since):
                self._raise_failure(partition)
                if timeout is not None and deadline is not None and time.monotonic() >= deadline:
                    raise NotCaughtUpError(partition, timeout, self._standing(partition))
                self._stop_request.wait(_LOOK_SECONDS)

    def run(self) -> None:
        """Follow until another thread or a signal handler calls `stop`.

        Raises FollowingFailedError once all partitions have failed, InheritedError in a forked process.
        """
        self._ensure_own()
        while not self._stop_request.wait(_TRY_SECONDS):
            if all(self._failure(partition) for partition in self._logs):
                self._raise_failure(next(iter(self._logs)))

    def stop(self) -> None:
        """Make `run` and `catch_up` return; `close` stops the rest. A signal handler may call it at any moment."""
        self._stop_request.make()

    def close(self) -> None:
        """Stop following: the logs are not touched after this.

        Returns within some seconds, even if a leader does not answer; only a write in progress may end later.
        If it is interrupted, the next call continues. Does nothing in a forked process.
        """
        if self._is_inherited:
            return
        self._stop_request.make()
        # The last of these first, and each of them, whatever comes of those before.
        with ExitStack() as steps:
            steps.callback(self._manager.close)
            steps.callback(self._tracker.stop)
            steps.callback(self._client.close)  # first of all, as it may be waiting for an answer

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def states(self) -> dict[TopicPartition, FetchState]:
        """The fetch states of the partitions whose leaders are known."""
        return self._manager.states

    @property
    def state(self) -> FetchState | None:
        """The fetch state of the (first) partition; None until its leader is known."""
        return self._manager.state(next(iter(self._logs)))

    @property
    def lag(self) -> int | None:
        """How many offsets the logs are behind their leaders' high watermarks; None while unknown."""
        total = 0
        for partition in self._logs:
            state = self._manager.state(partition)
            if state is None or state.lag is None:
                return None
            total += state.lag
        return total

    def _described(self) -> str:
        return f"the follower of {next(iter(self._logs))}"

    def _remember_topics(self, metadata: ClusterMetadata) -> None:
        """Note topic ids, so that the next follower of these logs detects a topic that was recreated."""
        for partition, log in self._logs.items():
            path = log.directory / PARTITION_METADATA_NAME
            topic = metadata.topics.get(partition.topic)
            if topic is not None and topic.topic_id is not None and not path.exists():
                PartitionMetadata(topic.topic_id).write(path)

    def _missing(self) -> list[TopicPartition]:
        return [
            partition
            for partition, problem in self._tracker.problems.items()
            if isinstance(problem, Unknown) and problem.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]

    def _failure(self, partition: TopicPartition) -> str:
        """Return why a partition is followed no more; "" where it is."""
        problem = self._tracker.problems.get(partition)
        if isinstance(problem, Recreated):
            return problem.reason
        state = self._manager.state(partition)
        return state.reason if state is not None and state.phase is Phase.FAILED else ""

    def _raise_failure(self, partition: TopicPartition) -> None:
        if self._stop_request.is_made:
            raise FollowingFailedError(partition, "the follower was stopped")
        reason = self._failure(partition)
        if reason:
            raise FollowingFailedError(partition, reason)

    def _standing(self, partition: TopicPartition) -> str:
        """Describe the state of a partition."""
        problem = self._tracker.problems.get(partition)
        state = self._manager.state(partition)
        if problem is not None:
            return problem.reason
        if state is None:
            return self._tracker.trouble or "its leader is not known yet"
        told = f"{state.phase.value} at offset {state.fetch_offset:,}"
        lag = "" if state.lag is None else f", {state.lag:,} behind"
        return f"{told}{lag}{f', {state.reason}' if state.reason else ''}"
