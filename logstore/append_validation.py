"""What an append must fulfil before the log takes it, and the bytes that it then writes (Kafka: LogValidator)."""

from collections.abc import Container
from dataclasses import dataclass
from typing import Protocol

from logstore.append_origin import AppendOrigin
from logstore.batch_attributes import TimestampType
from logstore.batches import Batch


class AppendRules(Protocol):
    """What validation asks of a log's configuration; `LogConfig` answers."""

    @property
    def max_message_bytes(self) -> int:
        """The largest batch, compressed, in bytes."""

    @property
    def message_timestamp_type(self) -> TimestampType:
        """Whether records keep the producer's time or get the leader's."""

    @property
    def message_timestamp_before_max_ms(self) -> int:
        """How far a record's time may lie in the past."""

    @property
    def message_timestamp_after_max_ms(self) -> int:
        """How far a record's time may lie in the future."""

    @property
    def compression_type(self) -> str:
        """`producer` to keep the producer's, `uncompressed`, or a codec's name."""

    @property
    def cleanup_policy(self) -> Container[str]:
        """Whether it contains `compact`, which makes keys a must."""


@dataclass(frozen=True, slots=True)
class ValidatedAppend:
    """What is to be written, batch by batch (Kafka: LogAppendInfo)."""

    data: memoryview
    batches: tuple[Batch, ...]
    """Headers as they will be on disk; their positions are bytes from the start of `data`. None: nothing to write."""
    max_timestamp: int
    """The largest of all records, in milliseconds since 1970 UTC; -1 without any."""

    @property
    def first_offset(self) -> int:
        """The first record's offset; of a message set of magic 0 or 1 the first message's last (Kafka does so)."""
        first = self.batches[0]
        return first.base_offset if first.magic == 2 else first.last_offset

    @property
    def last_offset(self) -> int:
        """The last record's offset: the log's end is one more."""
        last: int = self.batches[-1].last_offset
        return last


def validate_for_leader(
    data: bytes | bytearray | memoryview,
    *,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    config: AppendRules,
    origin: AppendOrigin = AppendOrigin.CLIENT,
) -> ValidatedAppend:
    """Check one batch as a producer sends it, and give it its offsets, epoch, times and codec; `data` stays as it is.

    Bytes of a second, incomplete batch are dropped. Raises CorruptBatchError, InvalidRecordError,
    InvalidTimestampError, RecordTooLargeError and DecompressionError.
    """
    raise NotImplementedError


def validate_for_follower(
    data: bytes | bytearray | memoryview, *, next_offset: int, leader_epoch: int
) -> ValidatedAppend:
    """Check batches as fetched from a leader of `leader_epoch`; they are written as they are.

    An incomplete batch at the end is dropped, and so is everything from the first batch of a higher epoch on
    (KAFKA-18723). Raises CorruptBatchError, OffsetsOutOfOrderError and UnexpectedAppendOffsetError.
    """
    raise NotImplementedError
