"""Messages of magic 0 and 1, the formats before Kafka 0.11, presented as batches.

An uncompressed message is a batch of one record. A compressed one wraps a whole message set: its offset is that of the
last inner message; inner offsets are absolute in magic 0 and relative to the first in magic 1 (KIP-31).
"""

import zlib
from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from epoch.history import MAX_OFFSET
from logstore.batch.batch import REPLACE_ADVICE, refuse_torn
from logstore.batch.batch_attributes import (
    CODEC_BITS,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TimestampType,
)
from logstore.batch.compression.codec import Codec, decompress
from logstore.batch.layout import LOG_OVERHEAD, MAGIC_AT
from logstore.batch.record import Record
from logstore.errors import (
    CorruptBatchError,
    CorruptRecordError,
    DecompressionError,
    InvalidBatchHeaderError,
    LogStoreError,
)

_HEADER: Final = Struct(">qiIbb")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_CRC_START: Final = MAGIC_AT
_TIMESTAMP_AT: Final = _HEADER.size
"""Only in magic 1."""
_FIELDS: Final = {0: _TIMESTAMP_AT, 1: _TIMESTAMP_AT + _INT64.size}
"""Where the key's length stands, by magic."""
SMALLEST_MESSAGE: Final = 26
"""Bytes of a message of magic 0 with neither key nor value."""


class LegacyBatch:
    """A message of magic 0 or 1 with the attributes of `RecordBatch`; what these magics lack is -1 or false.

    `base_offset` and `record_count` of a compressed message are found by decompressing it, on first use.
    """

    __slots__ = (
        "_summary",
        "attributes",
        "base_timestamp",
        "crc",
        "data",
        "file",
        "last_offset",
        "magic",
        "max_timestamp",
        "position",
        "size",
    )

    last_offset: int
    crc: int
    magic: int
    attributes: int
    size: int
    base_timestamp: int
    max_timestamp: int
    leader_epoch: Final = NO_LEADER_EPOCH
    producer_id: Final = NO_PRODUCER_ID
    producer_epoch: Final = NO_PRODUCER_EPOCH
    base_sequence: Final = NO_SEQUENCE
    last_sequence: Final = NO_SEQUENCE
    is_transactional: Final = False
    is_control: Final = False
    has_delete_horizon: Final = False

    def __init__(self, data: memoryview, position: int = 0, file: str | None = None) -> None:
        """Read the header. Raises TornBatchError, or InvalidBatchHeaderError where no such message begins."""
        left = len(data) - position
        if left < _HEADER.size:
            refuse_torn(left, SMALLEST_MESSAGE, position, file)
        self.last_offset, length, self.crc, self.magic, self.attributes = _HEADER.unpack_from(data, position)
        self.size = length + LOG_OVERHEAD
        if self.magic not in _FIELDS or self.size < _FIELDS[self.magic] + 8 or self.last_offset < 0:
            raise InvalidBatchHeaderError(
                f"no batch has magic {self.magic}, length {length} and offset {self.last_offset}",
                file=file,
                position=position,
                advice=REPLACE_ADVICE,
            )
        if self.size > left:
            refuse_torn(left, self.size, position, file)
        self.base_timestamp = self.max_timestamp = (
            _INT64.unpack_from(data, position + _TIMESTAMP_AT)[0] if self.magic else NO_TIMESTAMP
        )
        self.data: memoryview = data
        self.position: int = position
        self.file: str | None = file
        self._summary: _WrappedSet | None = None

    def __repr__(self) -> str:
        return f"LegacyBatch(magic={self.magic}, position={self.position}, last_offset={self.last_offset})"

    @property
    def codec(self) -> Codec | int:
        """How the wrapped messages are compressed; a plain number where it is no codec."""
        codec = self.attributes & CODEC_BITS
        return Codec(codec) if codec <= Codec.ZSTD else codec

    @property
    def timestamp_type(self) -> TimestampType:
        """Whether the producer or the leader set the timestamps."""
        if self.magic == 0:
            return TimestampType.NONE
        return TimestampType((self.attributes & TIMESTAMP_TYPE_BIT) >> 3)

    @property
    def base_offset(self) -> int:
        """The first message's offset. Raises as `records` does."""
        return self._wrapped().first_offset if self.attributes & CODEC_BITS else self.last_offset

    @property
    def record_count(self) -> int:
        """How many messages are wrapped. Raises as `records` does."""
        return self._wrapped().size if self.attributes & CODEC_BITS else 1

    def is_valid(self) -> bool:
        """Whether the checksum (CRC-32, not CRC-32C) is valid."""
        return zlib.crc32(self.data[self.position + _CRC_START : self.position + self.size]) == self.crc

    def ensure_valid(self) -> None:
        """Raise CorruptBatchError unless the checksum is valid."""
        if not self.is_valid():
            raise CorruptBatchError(
                f"the checksum of the message of {self.size:,} bytes does not match",
                file=self.file,
                position=self.position,
                offset=self.last_offset,
                advice="take it from another replica",
            )

    def records(self, *, limit: int | None = None) -> Iterator[Record]:
        """Give the record, or those of the wrapped message set, decompressed to at most `limit` bytes.

        Raises DecompressionError, DecompressionLimitError and CorruptRecordError.
        """
        try:
            yield from self._wrapped_records(limit) if self.attributes & CODEC_BITS else [self._record(0)]
        except (DecompressionError, CorruptRecordError) as error:
            raise self._placed(error) from error

    def _record(self, shift: int, append_timestamp: int | None = None) -> Record:
        offset = _possible(self.last_offset + shift)
        timestamp = self.max_timestamp if append_timestamp is None or self.magic == 0 else append_timestamp
        return Record(offset, timestamp, *self._key_and_value())

    def _wrapped_records(self, limit: int | None) -> Iterator[Record]:
        messages = self._unwrap(limit)
        shift = self._shift(self._summarise(messages).last_offset)
        append_time = self.timestamp_type is TimestampType.LOG_APPEND_TIME
        for message in _inner_messages(messages):
            yield message._record(shift, self.max_timestamp if append_time else None)  # noqa: SLF001  of this class

    def _wrapped(self) -> "_WrappedSet":
        """Summarise the wrapped set, with absolute offsets, and remember the answer."""
        if self._summary is None:
            try:
                summary = self._summarise(self._unwrap(None))
                first = _possible(summary.first_offset + self._shift(summary.last_offset))
                self._summary = _WrappedSet(first, self.last_offset, summary.size)
            except (DecompressionError, CorruptRecordError) as error:
                raise self._placed(error) from error
        return self._summary

    def _unwrap(self, limit: int | None) -> memoryview:
        _, value = self._key_and_value()
        if value is None:
            raise CorruptRecordError("a compressed message wraps nothing")
        return memoryview(decompress(self.attributes & CODEC_BITS, value, limit=limit, magic=self.magic))

    def _summarise(self, messages: memoryview) -> "_WrappedSet":
        first = last = count = 0
        for message in _inner_messages(messages):
            last = message.last_offset
            first = first if count else last
            count += 1
        if not count:
            raise CorruptRecordError("a compressed message wraps nothing")
        return _WrappedSet(first, last, count)

    def _shift(self, last_inner_offset: int) -> int:
        """Return what to add to inner offsets: magic 1 counts them from the set's first message."""
        return self.last_offset - last_inner_offset if self.magic else 0

    def _placed(self, error: DecompressionError | CorruptRecordError) -> LogStoreError:
        return error.with_position(file=self.file, position=self.position, offset=self.last_offset)

    def _key_and_value(self) -> tuple[bytes | None, bytes | None]:
        end = self.position + self.size
        key, position = _read_nullable(self.data, self.position + _FIELDS[self.magic], end)
        value, position = _read_nullable(self.data, position, end)
        if position != end:
            raise CorruptRecordError(f"{end - position:,} bytes follow the message's value")
        return key, value


class _WrappedSet(NamedTuple):
    first_offset: int
    last_offset: int
    size: int


def _possible(offset: int) -> int:
    if not 0 <= offset <= MAX_OFFSET:
        raise CorruptRecordError(f"a wrapped message has offset {offset}")
    return offset


def _inner_messages(data: memoryview) -> Iterator[LegacyBatch]:
    """Read wrapped messages, of either magic: the cleaner of Kafka 0.10.0 wrapped those of another."""
    position = 0
    while position < len(data):
        try:
            message = LegacyBatch(data, position)
        except LogStoreError as error:
            raise CorruptRecordError(f"no wrapped message begins {position:,} bytes in: {error.what}") from error
        if message.attributes & CODEC_BITS or not message.is_valid():
            raise CorruptRecordError("a wrapped message is compressed, or its checksum fails")
        yield message
        position += message.size


def _read_nullable(data: memoryview, position: int, end: int) -> tuple[bytes | None, int]:
    if _INT32.size > end - position:
        raise CorruptRecordError("the message ends before its value")
    (length,) = _INT32.unpack_from(data, position)
    position += _INT32.size
    if length < 0:
        return None, position
    if length > end - position:
        raise CorruptRecordError(f"a field of {length:,} bytes does not fit the message")
    return bytes(data[position : position + length]), position + length
