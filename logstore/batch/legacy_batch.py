"""Messages of magic 0 and 1, the formats before Kafka 0.11, presented as batches.

An uncompressed message is a batch of one record. A compressed one wraps a whole message set: its offset is that of the
last inner message; inner offsets are absolute in magic 0 and relative to the first in magic 1 (KIP-31).
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
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
from logstore.batch.compression.decompressed_pieces import decompressed_pieces
from logstore.batch.layout import LENGTH_AT, LOG_OVERHEAD, MAGIC_AT, SMALLEST_MESSAGE
from logstore.batch.record import Record
from logstore.errors import (
    CorruptBatchError,
    CorruptRecordError,
    DecompressionError,
    DecompressionLimitError,
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
_CODECS: Final = frozenset({Codec.GZIP, Codec.SNAPPY, Codec.LZ4})


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
        fields = self._fields
        if fields is None or self.size < fields + 8 or self.last_offset < 0:
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
        """The first message's offset; the last one's where that is unknown, as the wrapped set cannot be read."""
        if not self.attributes & CODEC_BITS:
            return self.last_offset
        try:
            return self._wrapped().first_offset
        except (DecompressionError, CorruptRecordError):
            return self.last_offset

    @property
    def record_count(self) -> int:
        """How many messages are wrapped. Raises what `records` raises."""
        return self._wrapped().size if self.attributes & CODEC_BITS else 1

    @property
    def _fields(self) -> int | None:
        """Where the key's length stands; None: there is no such magic."""
        return _FIELDS.get(self.magic)

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
        """Give the record, or those of the wrapped message set: of at most `limit` bytes, else however many.

        More than `decompression_limit` are decompressed in pieces, as the records are asked for. Raises
        DecompressionError, DecompressionLimitError and CorruptRecordError.
        """
        try:
            yield from self._wrapped_records(limit) if self.attributes & CODEC_BITS else [self._record(0)]
        except (DecompressionError, CorruptRecordError) as error:
            raise self._placed(error) from error

    def record_at(self, offset: int) -> Record | None:
        """Return the record at an offset, or None. Raises what `records` raises."""
        return next((record for record in self.records() if record.offset == offset), None)

    def _record(self, shift: int, append_timestamp: int | None = None) -> Record:
        offset = _possible(self.last_offset + shift)
        timestamp = self.max_timestamp if append_timestamp is None or self.magic == 0 else append_timestamp
        return Record(offset, timestamp, *self._key_and_value())

    def _wrapped_records(self, limit: int | None) -> Iterator[Record]:
        pieces = self._unwrap(limit)
        shift = self._shift(_summarise(pieces()).last_offset)
        append_time = self.timestamp_type is TimestampType.LOG_APPEND_TIME
        for message in _inner_messages(pieces()):
            yield message._record(shift, self.max_timestamp if append_time else None)  # noqa: SLF001  of this class

    def _wrapped(self) -> "_WrappedSet":
        """Summarise the wrapped set, with absolute offsets, and remember the answer."""
        if self._summary is None:
            try:
                summary = _summarise(self._unwrap(None)())
                first = _possible(summary.first_offset + self._shift(summary.last_offset))
                self._summary = _WrappedSet(first, self.last_offset, summary.size)
            except (DecompressionError, CorruptRecordError) as error:
                raise self._placed(error) from error
        return self._summary

    def _unwrap(self, limit: int | None) -> Callable[[], Iterable[bytes]]:
        """Return what gives the wrapped bytes, each time anew: at once where they are no more than the limit."""
        codec = self.attributes & CODEC_BITS
        if codec not in _CODECS:
            raise DecompressionError(f"codec {codec} is not defined for magic {self.magic}")
        _, value = self._key_and_value()
        if value is None:
            raise CorruptRecordError("a compressed message wraps nothing")
        view = memoryview(value)
        try:
            whole = decompress(codec, view, limit=limit, magic=self.magic)
        except DecompressionLimitError:
            if limit is not None:
                raise
            return partial(decompressed_pieces, codec, view, magic=self.magic)
        return lambda: (whole,)

    def _shift(self, last_inner_offset: int) -> int:
        """Return what to add to inner offsets: magic 1 counts them from the set's first message."""
        return self.last_offset - last_inner_offset if self.magic else 0

    def _placed(self, error: DecompressionError | CorruptRecordError) -> LogStoreError:
        return error.with_position(file=self.file, position=self.position, offset=self.last_offset)

    def _key_and_value(self) -> tuple[bytes | None, bytes | None]:
        end = self.position + self.size
        key, position = _read_nullable(self.data, self.position + (self._fields or 0), end)
        value, _ = _read_nullable(self.data, position, end)  # what follows it means nothing to Java's reader
        return key, value


class _WrappedSet(NamedTuple):
    first_offset: int
    last_offset: int
    size: int


def _possible(offset: int) -> int:
    if not 0 <= offset <= MAX_OFFSET:
        raise CorruptRecordError(f"a wrapped message has offset {offset}")
    return offset


def _summarise(pieces: Iterable[bytes]) -> _WrappedSet:
    """Return the offsets of the wrapped messages as they stand there, and how many they are."""
    first = last = count = 0
    for message in _inner_messages(pieces):
        last = message.last_offset
        first = first if count else last
        count += 1
    if not count:
        raise CorruptRecordError("a compressed message wraps nothing")
    return _WrappedSet(first, last, count)


class _WrappedMessage(LegacyBatch):
    """A message in a wrapped set, where Java's reader takes every magic but 0 for 1."""

    __slots__ = ()

    @property
    def _fields(self) -> int:
        return _FIELDS[min(self.magic & 0xFF, 1)]


def _inner_messages(pieces: Iterable[bytes]) -> Iterator[LegacyBatch]:
    """Read wrapped messages, of either magic: the cleaner of Kafka 0.10.0 wrapped those of another.

    One that the end cuts short is passed over, as Java's reader does.
    """
    waiting = bytearray()
    needed = done = 0
    for piece in pieces:
        waiting += piece
        if len(waiting) < needed:
            continue
        data = memoryview(bytes(waiting))
        position = 0
        while (needed := _size_at(data, position)) <= len(data) - position:
            yield _inner_message(data, position, done + position)
            position += needed
        del waiting[:position]
        done += position


def _size_at(data: memoryview, position: int) -> int:
    """Return the size of the wrapped message there: more than is there where it is not known, 0 where it cannot be."""
    if len(data) - position < LOG_OVERHEAD:
        return LOG_OVERHEAD
    size = int(_INT32.unpack_from(data, position + LENGTH_AT)[0]) + LOG_OVERHEAD
    return size if size >= SMALLEST_MESSAGE else 0


def _inner_message(data: memoryview, position: int, place: int) -> LegacyBatch:
    try:
        message = _WrappedMessage(data, position)
    except LogStoreError as error:
        raise CorruptRecordError(f"no wrapped message begins {place:,} bytes in: {error.what}") from error
    if message.attributes & CODEC_BITS:
        raise CorruptRecordError(f"a wrapped message is compressed itself, {place:,} bytes in")
    if not message.is_valid():
        raise CorruptRecordError(f"the checksum of a wrapped message does not match, {place:,} bytes in")
    return message


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
