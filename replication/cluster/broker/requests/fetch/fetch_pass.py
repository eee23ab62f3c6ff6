"""One look at the partitions of a fetch, from the first to the last."""

from collections.abc import Iterable
from typing import Any, Final
from uuid import UUID

from epoch import EndOffset, UnknownEpochError, diverging_epoch
from logstore import Isolation, LogStoreError, OffsetOutOfRangeError, TopicPartition
from logstore.log.readable_log import LogOffsets, ReadableLog
from replication.base.clock import monotonic_ms
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.hosted_partitions import Pair
from replication.cluster.broker.requests.fetch.fetch_terms import FetchTerms
from replication.cluster.broker.requests.fetch.watched_partition import WatchedPartition
from replication.cluster.broker.requests.partition_lookup import ANY_EPOCH, PartitionLookup, refusal
from replication.cluster.broker.requests.storage_error import is_damage, storage_error
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import AbortedTransaction, FetchedPartition, FetchPartition, LeaderIdAndEpoch

_NOT_LOOKED_FOR: Final = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
)
"""Errors of partitions for which Kafka does not look: they do not end the waiting for others."""
_LED_ELSEWHERE: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_SINCE_CURRENT_LEADER: Final = 16
_SINCE_STORAGE_ERROR: Final = 6
_NO_BYTES: Final = memoryview(b"")
_NONE: Final = ErrorCode.NONE
_LIMITS: Final = {Isolation.HIGH_WATERMARK: 1, Isolation.READ_COMMITTED: 2, Isolation.LOG_END: 3}
"""Which of a log's offsets ends what may be read."""
_READ_COMMITTED: Final = Isolation.READ_COMMITTED
# Half the cost of calling a NamedTuple's class.
_build: Final = tuple.__new__


class FetchPass:
    """Reads partitions in turn, each as far as those before have left room (Kafka: ReplicaManager.readFromLog)."""

    def __init__(self, lookup: PartitionLookup, terms: FetchTerms) -> None:
        """Begin with all the room that the fetch allows."""
        self._lookup = lookup
        self._terms = terms
        self._size = 0
        self._sent: list[tuple[HostedPartition, int]] = []
        self.is_anything_known: bool = False
        """Whether any partition is one of the cluster's: nothing happens to others, so nobody waits for them."""
        self.leaders: set[int] = set()
        """Of partitions that are led elsewhere."""
        self.throttled: list[tuple[TopicPartition, int]] = []
        """How many bytes of partitions that are throttled were read."""
        self._is_urgent = False
        self._has_doubts = terms.is_follower  # whether the follower is one
        self._limit = _LIMITS[terms.isolation]
        self._aborted: tuple[AbortedTransaction, ...] | None = () if terms.isolation is _READ_COMMITTED else None
        self.is_quiet: bool = False
        """Whether the partition that was read last has nothing to give until something happens to it."""

    @property
    def is_enough(self) -> bool:
        """Whether what was read can be answered now: no use in waiting, or nothing to wait for."""
        terms = self._terms
        return self._is_urgent or not terms.waits or not self.is_anything_known or self._size >= terms.min_bytes

    def read(
        self,
        partition: Pair | None,
        hosted: HostedPartition | None,
        topic_id: UUID | None,
        asked: FetchPartition,
    ) -> FetchedPartition:
        """Read one; `partition` is None where no topic has the id that the request names."""
        if hosted is None or partition is None:
            absence = self._lookup.unnamed if partition is None else self._lookup.absence(partition)
            return self._refuse(partition, hosted, absence)
        known_id = hosted.topic_id
        # Most are the same object, and UUIDs take four times as long to compare as their numbers.
        if known_id is not topic_id and topic_id is not None and known_id is not None and known_id.int != topic_id.int:
            return self._refuse(partition, hosted, ErrorCode.INCONSISTENT_TOPIC_ID)
        offset, _, current, last_fetched_epoch, _, _, _ = asked
        # Most are asked about as they are: nothing more to look at.
        if self._has_doubts or not hosted.is_leader or not (current < 0 or current == hosted.leader_epoch):
            error = self._refusal(partition, hosted, max(current, ANY_EPOCH))
            if error is not _NONE:
                return self._refuse(partition, hosted, error)
        self.is_anything_known = True
        log = hosted.log
        try:
            offsets = start, high_watermark, stable, end = log.offsets
        except LogStoreError as failure:  # nothing ever happens to a closed log
            return self._look_again(partition, hosted, asked, log, failure)
        # And most have nothing to give: what `_look` would answer too, in three times the time.
        if last_fetched_epoch < 0 and offsets[self._limit] <= offset <= end and start <= offset and not hosted.damage:
            self.is_quiet = True
            return _build(
                FetchedPartition,
                (_NONE, high_watermark, start, _NO_BYTES, None, None, None, stable, self._aborted, -1),
            )
        return self._look(partition, hosted, asked, offsets)

    def note_sent(self) -> None:
        """Count the bytes of records that were read: they are what is answered."""
        for hosted, size in self._sent:
            hosted.traffic.fetched(size, is_follower=self._terms.is_follower)

    def refused(self, _: Iterable[WatchedPartition]) -> list[WatchedPartition]:
        """Return which partitions of a session refuse the asker, though nothing has happened to them: none."""
        return []

    # --- who is refused

    def _refusal(self, partition: Pair, hosted: HostedPartition, current: int) -> ErrorCode:
        error = refusal(hosted, current, only_leader=self._terms.only_leader)
        if (
            error is _NONE
            and self._terms.is_follower
            and not self._lookup.is_follower(partition, self._terms.replica_id)
        ):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER if current == ANY_EPOCH else ErrorCode.UNKNOWN_LEADER_EPOCH
        return error

    def _refuse(self, partition: Pair | None, hosted: HostedPartition | None, error: ErrorCode) -> FetchedPartition:
        self.is_quiet = False
        if error not in _NOT_LOOKED_FOR:
            self.is_anything_known = self._is_urgent = True
        leader: LeaderIdAndEpoch | None = None
        if partition is not None and error in _LED_ELSEWHERE and self._terms.version >= _SINCE_CURRENT_LEADER:
            leader = self._lookup.leader(partition, hosted)
            self.leaders.add(leader.leader_id)
        if error is ErrorCode.KAFKA_STORAGE_ERROR and self._terms.version < _SINCE_STORAGE_ERROR:
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        # Kafka tells of no transactions where it never looked for the partition, and else of none known.
        aborted = () if error in _NOT_LOOKED_FOR else None
        return FetchedPartition(error, -1, records=_NO_BYTES, current_leader=leader, aborted_transactions=aborted)

    # --- what there is to read

    def _look(
        self, partition: Pair, hosted: HostedPartition, asked: FetchPartition, offsets: LogOffsets
    ) -> FetchedPartition:
        log = hosted.log
        try:
            answer = self._read(hosted, asked, offsets)
            if answer is not None:
                return answer
            error = ErrorCode.KAFKA_STORAGE_ERROR
        except (OffsetOutOfRangeError, UnknownEpochError):
            error = ErrorCode.OFFSET_OUT_OF_RANGE
        except (LogStoreError, OSError) as failure:
            return self._look_again(partition, hosted, asked, log, failure)
        except ValueError:  # such as a negative max_bytes
            error = ErrorCode.UNKNOWN_SERVER_ERROR
        return self._refuse(partition, hosted, error)

    def _look_again(
        self, partition: Pair, hosted: HostedPartition, asked: FetchPartition, log: ReadableLog, failure: Exception
    ) -> FetchedPartition:
        """Look at the log in whose place another one is, as the partition has moved to another directory; else refuse.

        `failure` is what became of the look at `log`.
        """
        if hosted.log is log:
            error = storage_error(hosted, failure)
            return self._refuse(partition, hosted, ErrorCode.CORRUPT_MESSAGE if is_damage(failure) else error)
        return FetchPass.read(self, partition, hosted, None, asked)

    def _read(self, hosted: HostedPartition, asked: FetchPartition, offsets: LogOffsets) -> FetchedPartition | None:
        """Return what there is; None at the damage that ends the log before its files do."""
        log, offset = hosted.log, asked.fetch_offset
        start, high_watermark, stable, end = offsets
        records, aborted = _NO_BYTES, self._aborted
        self.is_quiet = False
        diverging = _diverging(log, end, asked) if asked.last_fetched_epoch >= 0 else None
        if diverging is not None:
            self._is_urgent, aborted = True, None
        elif start <= offset <= end and offsets[self._limit] <= offset:
            if hosted.damage is not None and offset == end:
                return None
            self.is_quiet = True
        else:
            records, aborted = self._throttled(hosted, log, offset, asked.max_bytes)
            if records:
                self._sent.append((hosted, len(records)))
        return _build(
            FetchedPartition,
            (_NONE, high_watermark, start, records, diverging, None, None, stable, aborted, -1),
        )

    def _throttled(self, hosted: HostedPartition, log: ReadableLog, offset: int, max_bytes: int) -> tuple[Any, Any]:
        """Return what `_records` does; nothing to a follower that is not in sync while too much is fetched."""
        throttle, led = self._terms.throttle, hosted.led
        if throttle is None or led is None or not throttle.covers(led.partition):
            return self._records(hosted, log, offset, max_bytes)
        if self._terms.replica_id not in led.isr and throttle.is_exceeded(monotonic_ms()):
            return _NO_BYTES, None
        records, aborted = self._records(hosted, log, offset, max_bytes)
        self.throttled.append((led.partition, len(records)))
        return records, aborted

    def _records(
        self, hosted: HostedPartition, log: ReadableLog, offset: int, max_bytes: int
    ) -> tuple[memoryview, Any]:
        """Return whole batches and, of committed records, which to skip; the first of all comes however large it is.

        Raises CorruptBatchError where the first is damaged.
        """
        terms = self._terms
        room = min(max_bytes, max(0, terms.max_bytes - self._size))
        view = log.read(offset, room, isolation=terms.isolation, min_one_batch=not self._size)
        ranges = hosted.sound_ranges
        if ranges is not None and hosted.log is log:
            view = ranges.checked(view)
        self._size += len(view.data)
        if view.data and view.segment_base_offset != log.segments[-1].base_offset:
            self._is_urgent = True  # no later read gives more: one segment at a time
        # Kafka tells of none either where a batch is there that there is too little room for.
        if terms.isolation is not _READ_COMMITTED or view.first_batch_incomplete:
            return view.data, None
        aborted = tuple(AbortedTransaction(each.producer_id, each.first_offset) for each in view.aborted_transactions)
        return view.data, aborted


def _diverging(log: ReadableLog, end: int, asked: FetchPartition) -> EndOffset | None:
    """Return where this log departs from the asker's, if it does. Raises UnknownEpochError, OffsetOutOfRangeError."""
    departure = diverging_epoch(log.epochs.history, end, asked.fetch_offset, asked.last_fetched_epoch)
    if asked.fetch_offset < log.log_start_offset:
        raise OffsetOutOfRangeError("the log starts later", offset=asked.fetch_offset)
    return departure
