"""Answers DeleteRecords: logs begin later, once all replicas have heard of it (KIP-107)."""

import time
from typing import Any, Final, NamedTuple

from logstore import LogStoreError, OffsetOutOfRangeError, TopicPartition
from replication.cluster.broker.errors import NotLeaderError
from replication.cluster.broker.groups.requests.kio_answer import kio_answer
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.writing.append_refusal import append_error
from replication.cluster.broker.requests.writing.internal_topics import INTERNAL_TOPICS
from replication.cluster.broker.requests.writing.pending_outcomes import PendingOutcomes
from replication.wire.error_code import ErrorCode
from replication.wire.messages.by_topic import by_topic
from replication.wire.server.call import Call

API_KEY: Final = 21
HIGH_WATERMARK: Final = -1
"""Instead of an offset: delete all that consumers can read."""
_UNKNOWN: Final = -1


class DeletedRecords:
    """Deletes from what is led here (Kafka: ReplicaManager.deleteRecords)."""

    def __init__(self, lookup: PartitionLookup) -> None:
        """Look the partitions up here."""
        self._lookup = lookup

    def answer(self, request: Any, call: Call) -> Any:
        """Delete all; return the answer, in kio's terms, or what waits for the other replicas."""
        work = _DeletionWork(self._lookup, call.version)
        for topic in request.topics:
            for asked in topic.partitions:
                work.delete(TopicPartition(topic.name, asked.partition_index), asked.offset)
        if not work.awaited:
            return work.response()
        deadline = time.monotonic() + request.timeout.total_seconds()
        pending = PendingOutcomes(work, self._lookup, work.awaited, deadline)
        return pending.answer() or pending


class _AwaitedDeletion(NamedTuple):
    """A log that begins later here, and is to do so everywhere."""

    partition: TopicPartition
    hosted: HostedPartition
    led: LedPartition
    before: int

    def outcome(self, lookup: PartitionLookup) -> ErrorCode | None:
        """Return NONE once all replicas begin there, or why they will not; None until then."""
        hosted = lookup.copy(self.partition)
        if hosted is None:
            is_offline = lookup.absence(self.partition) is ErrorCode.KAFKA_STORAGE_ERROR
            return ErrorCode.KAFKA_STORAGE_ERROR if is_offline else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if hosted.led is not self.led:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.NONE if self.led.low_watermark >= self.before else None


class _DeletionWork:
    """One request's deletions."""

    def __init__(self, lookup: PartitionLookup, version: int) -> None:
        self.awaited: list[_AwaitedDeletion] = []
        self._lookup = lookup
        self._version = version
        self._told: dict[TopicPartition, tuple[ErrorCode, int]] = {}
        """The error and the low watermark of each."""

    def delete(self, partition: TopicPartition, offset: int) -> None:
        """Delete what lies below an offset."""
        hosted = self._lookup.copy(partition)
        error = self._refusal(partition, hosted)
        if error is ErrorCode.NONE and offset < HIGH_WATERMARK:
            error = ErrorCode.OFFSET_OUT_OF_RANGE
        if error is not ErrorCode.NONE or hosted is None or hosted.led is None:
            self._told[partition] = (error, _UNKNOWN)
            return
        before = hosted.log.high_watermark if offset == HIGH_WATERMARK else offset
        try:
            hosted.led.delete_records(before)
        except OffsetOutOfRangeError:
            self._told[partition] = (ErrorCode.OFFSET_OUT_OF_RANGE, _UNKNOWN)
        except (LogStoreError, NotLeaderError, OSError) as failure:
            self._told[partition] = (append_error(failure), _UNKNOWN)
        else:
            self._told[partition] = (ErrorCode.REQUEST_TIMED_OUT, hosted.led.low_watermark)
            self.awaited.append(_AwaitedDeletion(partition, hosted, hosted.led, before))

    def settle(self, awaited: _AwaitedDeletion, error: ErrorCode) -> None:
        """Note the result of a deletion that was waited for."""
        if error is ErrorCode.REQUEST_TIMED_OUT:
            return  # told with the low watermark from before it was waited for, as Kafka does
        low_watermark = awaited.led.low_watermark if error is ErrorCode.NONE else _UNKNOWN
        self._told[awaited.partition] = (error, low_watermark)

    def response(self) -> Any:
        """Return the answer as it is by now."""
        topics = [
            {
                "name": topic,
                "partitions": [
                    {"partition_index": index, "low_watermark": low_watermark, "error_code": error}
                    for index, (error, low_watermark) in told
                ],
            }
            for topic, told in by_topic(self._told.items()).items()
        ]
        return kio_answer(API_KEY, self._version, {"topics": topics})

    def _refusal(self, partition: TopicPartition, hosted: HostedPartition | None) -> ErrorCode:
        unknown = ErrorCode.NONE if hosted is not None else self._lookup.unknown(partition)
        if unknown is not ErrorCode.NONE:
            return unknown
        if partition.topic in INTERNAL_TOPICS:
            return ErrorCode.INVALID_TOPIC_EXCEPTION
        if hosted is None:
            return self._lookup.absence(partition)
        if hosted.led is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        config = hosted.log.config
        is_kept = config.is_compacted and not config.is_deleted_by_retention
        return ErrorCode.POLICY_VIOLATION if is_kept else ErrorCode.NONE
