"""Copies of a real cluster's partitions that follow their leaders."""

import fnmatch
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from epoch.base.resource_limits import ResourceLimitError
from logstore import Log, LogDirectory, OfflineDirectoryError, TopicPartition
from logstore.errors import LogStoreError
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from replication.base.chosen_topics import is_pattern
from replication.base.clock import monotonic_ms
from replication.base.owned_by_process import OwnedByProcess
from replication.cluster.fetcher.decisions.fetch_state import FetchState, Phase
from replication.cluster.fetcher.fetcher_manager import FetcherManager
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.leader_changes import Recreated, Unknown
from replication.cluster.fetcher.leader_tracker import LeaderTracker
from replication.cluster.fetcher.requests.throttle import Throttle
from replication.cluster.mirror.errors import NoSuchPartitionsError, UnknownTopicError
from replication.cluster.mirror.events import Disconnected, Event, Failed, Waiting
from replication.cluster.mirror.mirror_directory import open_mirror_directory
from replication.cluster.mirror.mirror_observer import MirrorObserver
from replication.cluster.mirror.mirror_settings import MirrorSettings
from replication.cluster.mirror.standstills import Standstills
from replication.cluster.mirror.status import PartitionStatus
from replication.cluster.mirror.truncated_records import TruncatedRecords, ensure_apart
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.error_code import ErrorCode
from replication.wire.errors import raise_for
from replication.wire.messages.metadata import ClusterMetadata, TopicMetadata

_WAITING: Final = "waiting"
_FAILED: Final = Phase.FAILED.value


class Mirror(OwnedByProcess):
    """Copies topics into a log.dirs root of its own; call `look_after` about every second.

    >>> with Mirror.open(settings, print) as mirror:
    ...     while not mirror.has_caught_up():
    ...         mirror.look_after()
    ...         time.sleep(1)
    """

    def __init__(
        self,
        settings: MirrorSettings,
        tell: Callable[[Event], object],
        client: ClusterClient,
        directory: LogDirectory,
    ) -> None:
        """Use `open`: this follows nothing yet."""
        super().__init__()
        self._settings = settings
        self._tell = tell
        self._client = client
        self._directory = directory
        keeper = None if settings.keep_truncated is None else TruncatedRecords(settings.keep_truncated)
        self._observer = MirrorObserver(tell, keeper)
        self._manager = FetcherManager(
            settings.client,
            FetcherSettings(max_bytes=settings.max_bytes, max_partition_bytes=settings.max_partition_bytes),
            threads=settings.threads,
            observer=self._observer,
            throttle=None if settings.throttle is None else Throttle(settings.throttle),
        )
        self._tracker = LeaderTracker(client, self._manager)
        self._logs: dict[TopicPartition, Log] = {}
        self._failures: dict[TopicPartition, str] = {}
        """Partitions that could not be opened or followed."""
        self._pending: dict[TopicPartition, int | None] = {}
        """Partitions that have not yet reached the first high watermark that their leader returned, as far as known."""
        self._leaderless = Standstills[TopicPartition](settings.patience_ms)
        self._unreachable = Standstills[str](settings.patience_ms)
        self._since = monotonic_ms()
        self._refreshed = time.monotonic()

    @classmethod
    def open(cls, settings: MirrorSettings, tell: Callable[[Event], object] = lambda _: None) -> Self:
        """Ask the cluster for its topics, open the root, and begin to follow. `tell` gets events from several threads.

        Raises UnknownTopicError, NoSuchPartitionsError and ForeignDirectoryError, those of `ClusterClient.metadata`
        if no broker answers, and those of `LogDirectory.open`.
        """
        if settings.keep_truncated is not None:
            ensure_apart(settings.keep_truncated, settings.log_dir)
        on_failure = ExitStack()
        try:
            client = on_failure.enter_context(ClusterClient(settings.bootstrap, settings.client))
            metadata = client.metadata(_asked_for(settings.topics))
            settings = replace(settings, topics=_names(settings.topics, metadata))
            for topic in settings.topics:
                _ensure_there(topic, metadata, settings)
            directory = open_mirror_directory(
                settings.log_dir, metadata.cluster_id or "", settings.node_id, made=on_failure.push
            )
            mirror = cls(settings, tell, client, directory)
            on_failure.callback(mirror.close)
            mirror._follow_new(metadata)
            mirror._refresh()
            mirror._tracker.start()
            return mirror  # noqa: TRY300  here, as something may be raised until it returns
        except BaseException:
            on_failure.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop following, flush and close all logs. Raises OSError; the next start then recovers the logs.

        Takes some seconds plus the time of the disk, whether or not leaders answer. If it is interrupted, the next call
        continues. Does nothing in a forked process.
        """
        if self._is_inherited:
            return
        # The last of these first, and each of them, whatever comes of those before: an interrupt, say.
        with ExitStack() as steps:
            steps.callback(self._directory.close)
            steps.callback(self._manager.close)
            steps.callback(self._tracker.stop)
            steps.callback(self._client.close)  # first of all, as it may be waiting for an answer

    def _described(self) -> str:
        return f"the mirror in {self._directory.root}"

    # --- what is due from time to time

    def look_after(self) -> None:
        """Look for new partitions when it is time, and report partitions that have been waiting too long.

        Raises OfflineDirectoryError once the disk has failed, InheritedError in a forked process. Brokers that do not
        answer are reported as events, not raised.
        """
        self._ensure_own()
        if self._directory.failure is not None:
            raise OfflineDirectoryError(
                f"the copy can no longer be written: {self._directory.failure}",
                file=self._directory.root,
                advice="repair the disk and restart the mirror: it recovers the copy and continues",
            ) from self._directory.failure
        if (time.monotonic() - self._refreshed) * 1_000 >= self._settings.metadata_max_age_ms:
            self._refresh()
        self._settle_shortfalls()
        self._tell_of_standstills()

    def _settle_shortfalls(self) -> None:
        """Forget what copies have lost that hold by now what their leaders have; what they began with is not back."""
        for partition, short in list(self._directory.shortfalls.items()):
            if not short.lacks_start and self._manager.is_caught_up(partition, self._since):
                self._directory.settle(partition)

    def _tell_of_standstills(self) -> None:
        now = monotonic_ms()
        trouble = self._tracker.trouble
        unreachable = {self._settings.bootstrap: trouble} if trouble else {}
        for bootstrap in self._unreachable.due(unreachable, now):
            self._tell(Disconnected(bootstrap, trouble))
        # While nobody answers, what was said of leaders is old.
        problems = {} if trouble else self._tracker.problems
        waiting = {each: problem.reason for each, problem in problems.items() if isinstance(problem, Unknown)}
        for partition in self._leaderless.due(waiting, now):
            self._tell(Waiting(partition, waiting[partition]))

    def _refresh(self) -> None:
        self._refreshed = time.monotonic()
        metadata = self._tracker.try_refresh()
        if metadata is None:
            return
        self._follow_new(metadata)
        for partition, problem in self._tracker.problems.items():
            # Of one that was followed until then its fetcher has told.
            if isinstance(problem, Recreated) and self._manager.state(partition) is None:
                self._fail(partition, problem.reason)

    def _follow_new(self, metadata: ClusterMetadata) -> None:
        for name in self._settings.topics:
            topic = metadata.topics.get(name)
            for number in sorted(topic.partitions) if topic is not None else ():
                partition = TopicPartition(name, number)
                is_wanted = not self._settings.partitions or number in self._settings.partitions
                if topic is not None and is_wanted and partition not in self._logs and partition not in self._failures:
                    self._follow(partition, topic)

    def _follow(self, partition: TopicPartition, topic: TopicMetadata) -> None:
        try:
            log = self._open_log(partition, topic)
            known = PartitionMetadata.of(log.directory)
        except ResourceLimitError:
            raise
        except LogStoreError as error:
            self._fail(partition, str(error))
            return
        if known is None and topic.topic_id is not None:
            PartitionMetadata(topic.topic_id).write(log.directory / PARTITION_METADATA_NAME)
        # All that a mirror holds was committed. After a crash the checkpointed high watermark says less, and it would
        # not be told that records below it go.
        log.update_high_watermark(log.log_end_offset)
        self._pending[partition] = None
        self._tracker.track(partition, log, known.topic_id if known else topic.topic_id)
        # Last: where this is broken off, it is followed the next time.
        self._logs[partition] = log

    def _open_log(self, partition: TopicPartition, topic: TopicMetadata) -> Log:
        if partition in self._directory.partitions or partition in self._directory.unreadable:
            return self._directory.log(partition)
        return self._directory.create(partition, topic_id=topic.topic_id)

    def _fail(self, partition: TopicPartition, reason: str) -> None:
        if partition not in self._failures:
            self._failures[partition] = reason
            self._tell(Failed(partition, reason))

    # --- how it stands

    def statuses(self) -> list[PartitionStatus]:
        """Return the current state of all partitions. Thread-safe. Raises InheritedError in a forked process."""
        self._ensure_own()
        states = self._manager.states
        return [self._status(each, log, states.get(each)) for each, log in list(self._logs.items())]

    @property
    def failed(self) -> dict[TopicPartition, str]:
        """The partitions that have failed, and why."""
        return self._manager.failed | self._failures

    def has_caught_up(self) -> bool:
        """Whether each partition holds what its leader had committed when the mirror was opened, or has failed.

        Raises InheritedError in a forked process.
        """
        self._ensure_own()
        for partition in list(self._pending):
            if self._is_done(partition):
                del self._pending[partition]
        return not self._pending

    def has_nothing_left(self) -> bool:
        """Whether all partitions have failed. Raises InheritedError in a forked process."""
        self._ensure_own()
        # Looking at all of them takes a while, and most often nothing has failed.
        if self._observer.failures + len(self._failures) < len(self._logs):
            return False
        return len(self.failed) >= len(self._logs | self._failures)

    def _is_done(self, partition: TopicPartition) -> bool:
        state = self._manager.state(partition)
        if partition in self._failures or (state is not None and state.phase is Phase.FAILED):
            return True
        if self._manager.is_caught_up(partition, self._since):
            return True
        if state is None or state.phase is not Phase.FETCHING or state.lag is None:
            return False
        target = self._pending[partition]
        if target is None:
            target = self._pending[partition] = state.fetch_offset + state.lag
        return state.fetch_offset >= target

    def _status(self, partition: TopicPartition, log: Log, state: FetchState | None) -> PartitionStatus:
        reason = self._failures.get(partition, "")
        phase = _FAILED if reason else _WAITING
        if state is not None and not reason:
            phase, reason = state.phase.value, state.reason
        if state is None and not reason:
            problem = self._tracker.problems.get(partition)
            reason = problem.reason if problem is not None else self._tracker.trouble
        return PartitionStatus(
            partition=partition,
            phase=phase,
            reason=reason,
            leader_epoch=-1 if state is None else state.leader_epoch,
            log_start_offset=log.log_start_offset,
            log_end_offset=log.log_end_offset,
            high_watermark=log.high_watermark,
            lag=None if state is None else state.lag,
            tally=self._observer.tally(partition),
            failed=phase == _FAILED,
        )


def _asked_for(topics: Sequence[str]) -> Sequence[str] | None:
    """Return of which topics the metadata is needed; None: of all, as a pattern may match any."""
    return None if any(map(is_pattern, topics)) else topics


def _names(topics: Sequence[str], metadata: ClusterMetadata) -> tuple[str, ...]:
    """Return the names of topics, in the place of patterns of those that match; one that matches none stays."""
    found = (fnmatch.filter(sorted(metadata.topics), topic) or [topic] for topic in topics)
    return tuple(dict.fromkeys(name for names in found for name in names))


def _ensure_there(name: str, metadata: ClusterMetadata, settings: MirrorSettings) -> None:
    topic = metadata.topics.get(name)
    if topic is None or topic.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise UnknownTopicError(name, settings.bootstrap)
    raise_for(topic.error, f"topic {name!r}")
    missing = sorted(settings.partitions - topic.partitions.keys())
    if missing:
        raise NoSuchPartitionsError(name, missing, len(topic.partitions))
