"""Answers Fetch of the metadata (KIP-595, KIP-630, KIP-1166; Kafka: KafkaRaftClient.handleFetchRequest)."""

import time
from typing import Final

from epoch import EndOffset
from logstore import Isolation, OffsetOutOfRangeError
from replication.base.metadata_partition import METADATA_PARTITION, METADATA_TOPIC_ID
from replication.cluster.standalone.quorum.fetch_decisions import departure
from replication.cluster.standalone.quorum.led_quorum import LedQuorum
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    SnapshotId,
)
from replication.wire.server.call import Call

_MAX_BYTES: Final = 8 << 20
"""Of an answer (Kafka: KafkaRaftClient.MAX_FETCH_SIZE_BYTES)."""


class MetadataFetches:
    """Answers at once where there is any news, else once there is. There are no sessions."""

    def __init__(self, quorum: LedQuorum) -> None:
        """Answer as its leader."""
        self._quorum: Final = quorum

    def answer(self, request: FetchRequest, _: Call) -> "FetchResponse | _PendingFetch":
        """Answer, or return what waits for the answer."""
        quorum = self._quorum
        if quorum.is_other(request.cluster_id):
            return FetchResponse(error=ErrorCode.INCONSISTENT_CLUSTER_ID, partitions={})
        if not _asks_for_metadata(request):
            return FetchResponse(error=ErrorCode.INVALID_REQUEST, partitions={})
        pending = _PendingFetch(quorum, request)
        answer = pending.answer()
        pending.note()
        return answer or pending


class _PendingFetch:
    """Looks again whenever the log has changed."""

    def __init__(self, quorum: LedQuorum, request: FetchRequest) -> None:
        self._quorum: Final = quorum
        self._request: Final = request
        (self._key, self._asked) = next(iter(request.partitions.items()))
        self.deadline: Final = time.monotonic() + request.max_wait_ms / 1_000
        self.attend: Final = quorum.log.attend
        self.leave: Final = quorum.log.leave

    def answer(self) -> FetchResponse | None:
        """Return the answer; None as long as there is no news."""
        fetched = self._fetched()
        is_late = self._request.max_wait_ms <= 0
        return self._response(fetched) if is_late or _is_news(fetched, self._asked) else None

    def expire(self) -> FetchResponse:
        """Return how things stand."""
        return self._response(self._fetched())

    def note(self) -> None:
        """Note in the quorum how far the node is, unless its copy diverges from the log."""
        asked, quorum = self._asked, self._quorum
        if self._request.replica_id >= 0 and self._refusal() is ErrorCode.NONE and self._departure() is None:
            quorum.observers.fetched(
                self._request.replica_id, asked.replica_directory_id, asked.fetch_offset, quorum.log.log_end_offset
            )

    def _refusal(self) -> ErrorCode:
        asked = self._asked
        if min(self._request.max_wait_ms, asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) < 0:
            return ErrorCode.INVALID_REQUEST
        return self._quorum.refusal(asked.current_leader_epoch)

    def _departure(self) -> SnapshotId | EndOffset | None:
        asked, quorum = self._asked, self._quorum
        return departure(quorum.state(), quorum.snapshot_ids, asked.fetch_offset, asked.last_fetched_epoch)

    def _fetched(self) -> FetchedPartition:
        log, leader = self._quorum.log, self._quorum.leader
        error = self._refusal()
        if error is not ErrorCode.NONE:
            return FetchedPartition(error, -1, current_leader=leader)
        found = self._departure()
        told = FetchedPartition(ErrorCode.NONE, log.high_watermark, log.log_start_offset, current_leader=leader)
        if isinstance(found, SnapshotId):
            return told._replace(snapshot_id=found)
        if found is not None:
            return told._replace(diverging_epoch=found)
        room = min(max(self._request.max_bytes, 0), _MAX_BYTES)
        try:
            # First: what has come meanwhile may be below a later high watermark, never above it.
            records = log.read(self._asked.fetch_offset, room, isolation=Isolation.HIGH_WATERMARK).data
        except OffsetOutOfRangeError:  # meanwhile a snapshot has taken the place of what is asked for
            return told._replace(log_start_offset=log.log_start_offset, snapshot_id=self._quorum.snapshot_id)
        return told._replace(records=records, high_watermark=log.high_watermark)

    def _response(self, fetched: FetchedPartition) -> FetchResponse:
        quorum = self._quorum
        return FetchResponse(partitions={self._key: fetched}, topic_ids=self._request.topic_ids, leaders=quorum.leaders)


def _asks_for_metadata(request: FetchRequest) -> bool:
    """Whether a request is about the metadata alone, by its topic's name or by its id."""
    if len(request.partitions) != 1:
        return False
    topic, number = next(iter(request.partitions))
    is_its = (
        request.topic_ids.get(topic) == METADATA_TOPIC_ID if request.topic_ids else topic == METADATA_PARTITION.topic
    )
    return is_its and number == METADATA_PARTITION.partition


def _is_news(fetched: FetchedPartition, asked: FetchPartition) -> bool:
    return (
        fetched.error is not ErrorCode.NONE
        or len(fetched.records) > 0
        or fetched.diverging_epoch is not None
        or fetched.snapshot_id is not None
        or asked.high_watermark < fetched.high_watermark
    )
