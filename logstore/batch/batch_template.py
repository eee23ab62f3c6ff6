"""What the header of a batch says besides what its records show, and the batch that is made of both."""

from dataclasses import dataclass, replace

from epoch.history import MAX_OFFSET
from logstore.arguments import whole_number
from logstore.batch.batch_attributes import (
    CONTROL_BIT,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    SEQUENCES,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
)
from logstore.batch.compression.codec import Codec, compress
from logstore.batch.layout import HEADER, HEADER_SIZE, LOG_OVERHEAD, MAGIC, seal
from logstore.text.brief_text import differing


@dataclass(frozen=True, slots=True)
class BatchTemplate:
    """The fields of a batch's header that its writer chooses; the defaults are a plain producer's.

    >>> encode_batch(records, BatchTemplate(codec=Codec.LZ4, producer_id=7, producer_epoch=0, base_sequence=0))
    """

    base_offset: int = 0
    """The leader assigns offsets: a producer leaves it at 0."""
    leader_epoch: int = NO_LEADER_EPOCH
    codec: Codec = Codec.NONE
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    base_sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    is_control: bool = False
    append_timestamp: int | None = None
    """The time of all records, in milliseconds since 1970 UTC, where the leader sets it (LogAppendTime)."""
    compression_level: int | None = None
    """Of the codec; None: Kafka's default."""

    def __repr__(self) -> str:
        return differing(self)

    @property
    def attributes(self) -> int:
        """As the header has them."""
        bits: int = self.codec
        bits |= TIMESTAMP_TYPE_BIT if self.append_timestamp is not None else 0
        bits |= TRANSACTIONAL_BIT if self.is_transactional else 0
        return bits | (CONTROL_BIT if self.is_control else 0)

    def after(self, records: int) -> "BatchTemplate":
        """Return the template of what follows so many records: the next offset, the next sequence number.

        Sequence numbers start over after 2^31 - 1. Raises OverflowError for offsets beyond 2^63 - 1.
        """
        self._ensure_offsets(records)
        sequence = self.base_sequence
        if sequence != NO_SEQUENCE:
            sequence = (sequence + records) % SEQUENCES
        return replace(self, base_offset=self.base_offset + records, base_sequence=sequence)

    def batch(self, section: bytes | memoryview, count: int, base_timestamp: int, max_timestamp: int) -> bytearray:
        """Compress `count` encoded records and put the header before them. Raises OverflowError as `after` does."""
        self._ensure_offsets(count)
        compressed = compress(self.codec, section, self.compression_level)
        data = bytearray(HEADER_SIZE + len(compressed))
        data[HEADER_SIZE:] = compressed
        HEADER.pack_into(
            data,
            0,
            self.base_offset,
            len(data) - LOG_OVERHEAD,
            self.leader_epoch,
            MAGIC,
            0,
            self.attributes,
            count - 1,
            base_timestamp,
            max_timestamp if self.append_timestamp is None else self.append_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            count,
        )
        seal(data)
        return data

    def _ensure_offsets(self, records: int) -> None:
        if records > MAX_OFFSET - whole_number(self.base_offset, "base_offset"):
            raise OverflowError(f"{records:,} records from offset {self.base_offset:,} on end beyond the last offset")
