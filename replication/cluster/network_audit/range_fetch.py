"""Fetches a range of offsets of one replica, as a consumer does: requests and what follows from answers, no socket.

What a broker answers is believed only as far as it can be checked: it has to be about the partition, begin where it was
asked to, go on with each answer, and reach as far as the broker has said before.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

import numpy as np

from logstore.batch.columns import BatchColumns, StopReason
from logstore.offline.log_file import LogFile
from logstore.topic_partition import TopicPartition
from replication.cluster.network_audit.errors import ReplicaMovedError, ReplicaUnreadError, ThrottledError
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse

MAX_BYTES: Final = 4 << 20
"""Of one answer; a batch that is larger comes whole all the same."""
MOST_EMPTY: Final = 2
"""So many answers in a row that are empty although nobody is throttled: there is nothing up to the end."""
LONGEST_THROTTLED_MS: Final = 600_000
"""What a broker asks us to wait in a row without an answer, all together: it would go on."""
SHORTEST_THROTTLED_MS: Final = 1_000
"""What such an answer counts at least."""
MOVED: Final = frozenset(
    {
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Errors of partitions that are elected, moved, cut off, or made again: it may be different the next time."""
_WHOLE: Final = frozenset({StopReason.END, StopReason.TORN, StopReason.MORE, StopReason.LEGACY})


class FetchedPiece(NamedTuple):
    """Whole batches that follow one another, of one answer."""

    log: LogFile
    """Their bytes, and maybe others; the columns' positions are in it."""
    columns: BatchColumns

    @property
    def data(self) -> memoryview:
        """Their bytes alone."""
        position, size = self.columns.position, self.columns.size
        return self.log.data[int(position[0]) : int(position[-1] + size[-1])]


@dataclass(slots=True)
class RangeFetch:
    """A range that is being fetched.

    >>> fetch = RangeFetch(TopicPartition("orders", 0), start=0, end=100, leader_epoch=3)
    >>> while not fetch.is_done:
    ...     for piece in fetch.take(connection.ask(fetch.request)):
    ...         print(piece.columns)
    """

    partition: TopicPartition
    start: int
    """The first offset; a batch that holds it may begin before."""
    end: int
    """Batches that begin here or later do not count; the replica's high watermark is not below it."""
    leader_epoch: int
    """In which the partition is led: a broker that knows of another one refuses."""
    topic_id: UUID | None = None
    max_bytes: int = MAX_BYTES
    next_offset: int = field(init=False)
    """What is fetched next."""
    is_done: bool = field(init=False)
    log_start_offset: int = -1
    """As the last answer has it."""
    high_watermark: int = -1
    """As the last answer has it."""
    _empty: int = 0
    _throttled_ms: int = 0

    def __post_init__(self) -> None:
        self.next_offset = self.start
        self.is_done = self.start >= self.end

    @property
    def request(self) -> FetchRequest:
        """What to send next: a consumer's request, which followers answer too (KIP-392)."""
        return FetchRequest(
            partitions={self.partition: FetchPartition(self.next_offset, self.max_bytes, self.leader_epoch)},
            topic_ids={self.partition.topic: self.topic_id} if self.topic_id else {},
            max_wait_ms=0,  # what is below the high watermark is there
            min_bytes=0,
            max_bytes=self.max_bytes,
        )

    def take(self, response: FetchResponse) -> Iterator[FetchedPiece]:
        """Yield the batches of an answer, and go on behind them.

        Raises ReplicaMovedError where the replica has changed, and ReplicaUnreadError where the answer cannot be used.
        """
        answer = response.partitions.get(self.partition)
        if response.throttle_time_ms > 0 and not (answer and (answer.records or answer.error)):
            self._note_throttled(response.throttle_time_ms)
            return
        self._ensure_usable(response, answer)
        assert answer is not None  # noqa: S101  else it is not usable
        self.log_start_offset, self.high_watermark = answer.log_start_offset, answer.high_watermark
        self._throttled_ms = 0
        before = self.next_offset
        yield from self._pieces(memoryview(answer.records))
        if answer.records and self.next_offset == before:
            raise ReplicaUnreadError(f"the broker answers offset {before:,} with less than one batch")
        self._empty = 0 if answer.records else self._empty + 1
        self.is_done = self.is_done or self.next_offset >= self.end or self._empty >= MOST_EMPTY

    def _note_throttled(self, throttle_time_ms: int) -> None:
        self._throttled_ms += max(throttle_time_ms, SHORTEST_THROTTLED_MS)
        if self._throttled_ms >= LONGEST_THROTTLED_MS:
            raise ThrottledError(
                "the broker throttles all requests and answers none; raise this client's quota (consumer_byte_rate, "
                "request_percentage), or name a lower --rate"
            )

    def _ensure_usable(self, response: FetchResponse, answer: FetchedPartition | None) -> None:
        if response.error is not ErrorCode.NONE:
            raise ReplicaUnreadError(f"the broker answers Fetch with {response.error.name}")
        if answer is None:
            raise ReplicaUnreadError("the broker answers Fetch without the partition that it was asked for")
        if answer.error in MOVED:
            raise ReplicaMovedError(f"the broker answers {answer.error.name} to offset {self.next_offset:,}")
        if answer.error is not ErrorCode.NONE:
            advice = _ADVICE.get(answer.error, "its log says why")
            raise ReplicaUnreadError(f"the broker answers {answer.error.name} to offset {self.next_offset:,}; {advice}")
        if answer.preferred_read_replica >= 0 and not answer.records:
            raise ReplicaUnreadError(
                f"the broker sends its consumers to broker {answer.preferred_read_replica} (replica.selector.class)"
            )
        if answer.high_watermark < 0:
            raise ReplicaUnreadError("the broker does not say what its high watermark is")
        if answer.high_watermark < self.end:
            raise ReplicaMovedError(
                f"its high watermark was {self.end:,} or higher, and is {answer.high_watermark:,} now"
            )

    def _pieces(self, records: memoryview) -> Iterator[FetchedPiece]:
        log = LogFile(records)
        for columns in log.scan():
            if columns.stop not in _WHOLE:
                raise ReplicaUnreadError(
                    f"from offset {self._after(columns):,} on the broker answers with bytes that are no batch "
                    f"({columns.stop.name}): its file is damaged there, or the answer"
                )
            if not len(columns):
                continue
            self._ensure_in_order(columns)
            rows = (columns.last_offset >= self.start) & (columns.base_offset < self.end)
            self.next_offset = self._after(columns)
            self.is_done = self.is_done or bool(columns.base_offset[-1] >= self.end)
            if rows.any():
                yield FetchedPiece(log, columns.where(rows))

    def _after(self, columns: BatchColumns) -> int:
        return int(columns.last_offset[-1]) + 1 if len(columns) else self.next_offset

    def _ensure_in_order(self, columns: BatchColumns) -> None:
        firsts, lasts = columns.base_offset, columns.last_offset
        if int(lasts[0]) < self.next_offset:
            raise ReplicaUnreadError(
                f"asked for offset {self.next_offset:,} the broker answers with a batch of the offsets "
                f"{int(firsts[0]):,} to {int(lasts[0]):,}"
            )
        back = np.flatnonzero((firsts[1:] <= lasts[:-1]) | (lasts[1:] < firsts[1:]))
        if len(back):
            row = int(back[0])
            raise ReplicaUnreadError(
                f"behind offset {int(lasts[row]):,} the broker answers with a batch that begins at "
                f"{int(firsts[row + 1]):,}"
            )


_ADVICE: Final = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "allow this user READ on the topic",
    ErrorCode.KAFKA_STORAGE_ERROR: "a disk of the broker has failed",
    ErrorCode.CORRUPT_MESSAGE: "its file is damaged",
}
