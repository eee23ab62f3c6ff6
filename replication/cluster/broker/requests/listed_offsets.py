"""Answers ListOffsets: a log's ends, and the first record from a time on (KIP-79)."""

from typing import Final

from logstore import LogStoreError, TopicPartition
from replication.cluster.broker.partitions.hosted_partition import HostedPartition
from replication.cluster.broker.requests.partition_lookup import PartitionLookup
from replication.cluster.broker.requests.storage_error import storage_error
from replication.wire.error_code import ErrorCode
from replication.wire.messages.list_offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    SPECIAL_SINCE,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetQuestion,
)
from replication.wire.messages.replica_id import CONSUMER, DEBUGGER
from replication.wire.server.call import Call

_NO_SUCH_VERSION: Final = 1 << 15
_SINCE_NOT_AVAILABLE: Final = 5
_TIERED: Final = frozenset({LATEST_TIERED, EARLIEST_PENDING_UPLOAD})
_NOTHING: Final = ListedOffset(ErrorCode.NONE, -1)


class ListedOffsets:
    """Finds offsets as far as the asker may read (Kafka: ReplicaManager.fetchOffset)."""

    def __init__(self, lookup: PartitionLookup) -> None:
        """Look the partitions up here."""
        self._lookup = lookup

    def answer(self, request: ListOffsetsRequest, call: Call) -> ListOffsetsResponse:
        """Answer for each partition; one that is named twice is refused."""
        answers = {
            partition: self._offset(partition, asked, request, call.version)
            for partition, asked in request.partitions.items()
        }
        refused = ListedOffset(ErrorCode.INVALID_REQUEST, -1)
        return ListOffsetsResponse(partitions=answers | dict.fromkeys(request.repeated, refused))

    def _offset(
        self, partition: TopicPartition, asked: OffsetQuestion, request: ListOffsetsRequest, version: int
    ) -> ListedOffset:
        if asked.timestamp < 0 and version < SPECIAL_SINCE.get(asked.timestamp, _NO_SUCH_VERSION):
            return ListedOffset(ErrorCode.UNSUPPORTED_VERSION, -1)
        only_leader = request.replica_id != DEBUGGER
        found = self._lookup.find(partition, asked.current_leader_epoch, only_leader=only_leader)
        if not isinstance(found, HostedPartition):
            return ListedOffset(found, -1)
        try:
            answer = _find(found, asked.timestamp, _readable_end(found, request))
        except (LogStoreError, OSError) as error:
            return ListedOffset(storage_error(found, error), -1)
        is_at_end = asked.timestamp == LATEST or (answer is _NOTHING and asked.timestamp not in _TIERED)
        if not (is_at_end and request.replica_id == CONSUMER and _lags_behind(found)):
            return answer
        is_known = version >= _SINCE_NOT_AVAILABLE
        return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE, -1)


def _lags_behind(hosted: HostedPartition) -> bool:
    """Whether its new leader does not know yet how far consumers have read under the one before (KIP-207)."""
    return hosted.led is not None and hosted.led.epoch_start_offset > hosted.log.high_watermark


def _readable_end(hosted: HostedPartition, request: ListOffsetsRequest) -> int:
    if request.replica_id != CONSUMER:
        return hosted.log.log_end_offset
    return hosted.log.last_stable_offset if request.isolation_level else hosted.log.high_watermark


def _find(hosted: HostedPartition, timestamp: int, readable_end: int) -> ListedOffset:
    if timestamp == LATEST:
        return ListedOffset(ErrorCode.NONE, readable_end, hosted.leader_epoch)
    if timestamp in _TIERED:
        return _NOTHING  # nothing is tiered
    if timestamp in {EARLIEST, EARLIEST_LOCAL}:  # nothing is read from remote storage
        hosted.log.ensure_readable()
        start = hosted.log.local_log_start_offset
        return ListedOffset(ErrorCode.NONE, start, _number(hosted.log.epochs.epoch_for_offset(start)))
    found = hosted.log.offset_for_timestamp(timestamp)
    if found is None or found.offset >= readable_end:
        return _NOTHING
    return ListedOffset(ErrorCode.NONE, found.offset, _number(found.leader_epoch), found.timestamp)


def _number(leader_epoch: int | None) -> int:
    return -1 if leader_epoch is None else leader_epoch
