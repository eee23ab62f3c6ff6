"""Record batches of magic 2, the format since Kafka 0.11 (KIP-98)."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NoReturn

from epoch.history import MAX_OFFSET
from logstore.batch import compression, decoding
from logstore.batch.batch_attributes import (
    CODEC_BITS,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LAST_SEQUENCE,
    NO_SEQUENCE,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    TimestampType,
)
from logstore.batch.compression.codec import Codec, decompress
from logstore.batch.decoding.record_decoder import decode_records, pass_over
from logstore.batch.layout import CRC_START, HEADER, HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD, MAGIC, SMALLEST_LENGTH
from logstore.checksum import crc32c
from logstore.errors import (
    CorruptBatchError,
    CorruptRecordError,
    DecompressionError,
    DecompressionLimitError,
    InvalidBatchHeaderError,
    TornBatchError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from logstore.batch.record import Record


class RecordBatch:
    """One batch at `position` of `data`: its header, checked and decoded; its records on demand.

    `size` counts all of the batch's bytes. Timestamps are milliseconds since 1970 UTC.

    >>> [record.value for batch in LogFile.open(path).batches() for record in batch.records()]
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "crc",
        "data",
        "file",
        "last_offset",
        "leader_epoch",
        "magic",
        "max_timestamp",
        "position",
        "producer_epoch",
        "producer_id",
        "record_count",
        "size",
    )

    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int
    size: int
    base_offset: int
    last_offset: int

    def __init__(self, data: memoryview, position: int = 0, file: str | None = None) -> None:
        """Read the header. Raises TornBatchError, or InvalidBatchHeaderError where no batch of magic 2 begins."""
        left = len(data) - position
        if left < HEADER_SIZE:
            _refuse_short(data, position, file)
        (
            base_offset,
            length,
            self.leader_epoch,
            self.magic,
            self.crc,
            self.attributes,
            last_offset_delta,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.record_count,
        ) = HEADER.unpack_from(data, position)
        self.size = size = length + LOG_OVERHEAD
        if size < HEADER_SIZE:
            _refuse_length(length, position, file)
        if self.magic != MAGIC:
            _refuse_magic(self.magic, position, file)
        if size > left:
            refuse_torn(left, size, position, file)
        self.base_offset = base_offset
        self.last_offset = base_offset + last_offset_delta
        if base_offset < 0 or not 0 <= last_offset_delta <= MAX_OFFSET - base_offset or self.record_count < 0:
            _refuse_header(base_offset, last_offset_delta, self.record_count, position, file)
        self.data: memoryview = data
        self.position: int = position
        self.file: str | None = file

    def __repr__(self) -> str:
        return (
            f"RecordBatch(position={self.position}, size={self.size}, offsets={self.base_offset}..{self.last_offset})"
        )

    @property
    def codec(self) -> Codec | int:
        """How the records are compressed; a plain int if the number is not a known codec."""
        codec = self.attributes & CODEC_BITS
        return Codec(codec) if codec <= Codec.ZSTD else codec

    @property
    def timestamp_type(self) -> TimestampType:
        """Whether the producer or the leader set the timestamps."""
        return TimestampType((self.attributes & TIMESTAMP_TYPE_BIT) >> 3)

    @property
    def is_transactional(self) -> bool:
        """Whether the records belong to a transaction."""
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Whether the records are Kafka's own, such as a transaction's end (`ControlRecord`)."""
        return bool(self.attributes & CONTROL_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        """Whether `base_timestamp` is the time from which compaction may drop the tombstones here (KIP-534)."""
        return bool(self.attributes & DELETE_HORIZON_BIT)

    @property
    def last_sequence(self) -> int:
        """The last record's sequence number, which starts over after 2^31 - 1; -1 without an idempotent producer."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset - self.base_offset) & LAST_SEQUENCE

    def is_valid(self) -> bool:
        """Whether the checksum is valid."""
        return crc32c(self.data[self.position + CRC_START : self.position + self.size]) == self.crc

    def ensure_valid(self) -> None:
        """Raise CorruptBatchError unless the checksum is valid."""
        if not self.is_valid():
            raise CorruptBatchError(
                f"the checksum of the batch of {self.size:,} bytes does not match",
                file=self.file,
                position=self.position,
                offset=self.base_offset,
                advice=f"take offsets {self.base_offset:,} to {self.last_offset:,} from another replica",
            )

    def records(self, *, limit: int | None = None) -> Iterator[Record]:
        """Decode the records, decompressed first: to at most `limit` bytes where that is given, else however many.

        More than `decompression_limit` are decompressed in pieces, as the records are asked for.

        The checksum is not verified (see `ensure_valid`). Raises DecompressionError, DecompressionLimitError, and
        CorruptRecordError after the records before it were yielded.
        """
        for run in self._runs(limit):  # a generator ends where it has raised, where `chain` would go on behind that
            yield from run

    def record_at(self, offset: int) -> Record | None:
        """Decode the record at an offset, or None: those before it are passed over, where compaction has left them all.

        The checksum is not verified. Raises what `records` raises.
        """
        if self.record_count == self.last_offset - self.base_offset + 1:
            try:
                section = bytes(self.section())
                found = next(self._decoded(section[pass_over(section, offset - self.base_offset) :], 1))
            except (DecompressionError, DecompressionLimitError, CorruptRecordError, IndexError):
                found = None  # what is wrong is found on the way there
            if found is not None and found.offset == offset:
                return found
        return next((record for record in self.records() if record.offset == offset), None)

    def _runs(self, limit: int | None) -> Iterator[Iterator[Record]]:
        """Yield the records in runs: many at once by a kernel, or one after the other."""
        try:
            section = self.section(limit=limit)
        except DecompressionLimitError as error:
            if limit is None:
                yield self._in_pieces()
                return
            raise error.with_position(file=self.file, position=self.position, offset=self.base_offset) from error
        except DecompressionError as error:
            raise error.with_position(file=self.file, position=self.position, offset=self.base_offset) from error
        if decoding.plain_records.PLAIN_RECORDS.covers(min(self.record_count, len(section))):
            yield self._one_by_one(section)
        else:
            yield from self._by_kernel(section)

    def _by_kernel(self, section: memoryview) -> Iterator[Iterator[Record]]:
        from logstore.batch.decoding.object_decoder import ObjectDecoder, Section  # noqa: PLC0415  it loads numpy

        append_time = self.timestamp_type is TimestampType.LOG_APPEND_TIME
        base_timestamp = self.max_timestamp if append_time else self.base_timestamp
        offsets = self.base_offset, MAX_OFFSET
        place = Section(0, len(section), self.record_count, *offsets, base_timestamp, append_time)
        fault = yield from ObjectDecoder().runs(section, [place])
        if fault is not None:  # or offsets out of order, which are given as they are
            yield islice(self._one_by_one(section), fault.record, None)

    def _in_pieces(self) -> Iterator[Record]:
        """Decode what is too much to be decompressed at once."""
        try:
            for run, count in decoding.whole_records.whole_records(self.pieces(), self.record_count):
                yield from self._decoded(run, count)
        except (CorruptRecordError, DecompressionError) as error:
            raise error.with_position(file=self.file, position=self.position, offset=self.base_offset) from error

    def pieces(self) -> Iterator[bytes]:
        """Decompress the records' bytes in pieces, however many they are. Raises DecompressionError."""
        view = self.data[self.position + HEADER_SIZE : self.position + self.size]
        return compression.decompressed_pieces.decompressed_pieces(self.attributes & CODEC_BITS, view)

    def _one_by_one(self, section: memoryview) -> Iterator[Record]:
        try:
            yield from self._decoded(bytes(section), self.record_count)
        except CorruptRecordError as error:
            raise error.with_position(file=self.file, position=self.position, offset=self.base_offset) from error

    def _decoded(self, data: bytes, count: int) -> Iterator[Record]:
        return decode_records(
            data,
            count=count,
            base_offset=self.base_offset,
            base_timestamp=self.base_timestamp,
            append_timestamp=self.max_timestamp if self.attributes & TIMESTAMP_TYPE_BIT else None,
        )

    def section(self, *, limit: int | None = None) -> memoryview:
        """Return the records' bytes, decompressed as by `records`, else where they are. Raises DecompressionError."""
        view = self.data[self.position + HEADER_SIZE : self.position + self.size]
        codec = self.attributes & CODEC_BITS
        return memoryview(decompress(codec, view, limit=limit)) if codec else view


REPLACE_ADVICE: Final = "Kafka truncates the log here when it recovers; what follows is only on other replicas"
TORN_ADVICE: Final = "normal while a broker writes: read again; otherwise Kafka truncates the log here when it recovers"


def _refuse_length(length: int, position: int, file: str | None) -> NoReturn:
    """Raise InvalidBatchHeaderError for a length that is too small for any batch."""
    raise InvalidBatchHeaderError(
        f"no batch has a length of {length:,}", file=file, position=position, advice=REPLACE_ADVICE
    )


def refuse_torn(left: int, size: int, position: int, file: str | None) -> NoReturn:
    """Raise TornBatchError for a batch that goes on beyond the end."""
    raise TornBatchError(
        f"the file ends {left:,} bytes into a batch of {size:,}", file=file, position=position, advice=TORN_ADVICE
    )


def _refuse_short(data: memoryview, position: int, file: str | None) -> NoReturn:
    """Raise for what is too short to hold a header; its length may be readable all the same."""
    left = len(data) - position
    size = HEADER_SIZE
    if left >= LOG_OVERHEAD:
        length = int.from_bytes(data[position + LENGTH_AT : position + LOG_OVERHEAD], "big", signed=True)
        if length < SMALLEST_LENGTH:
            _refuse_length(length, position, file)
        size = length + LOG_OVERHEAD
    refuse_torn(left, size, position, file)


def _refuse_magic(magic: int, position: int, file: str | None) -> NoReturn:
    raise InvalidBatchHeaderError(
        f"the magic byte is {magic}, not {MAGIC}", file=file, position=position, advice=REPLACE_ADVICE
    )


def _refuse_header(base_offset: int, last_offset_delta: int, count: int, position: int, file: str | None) -> NoReturn:
    raise InvalidBatchHeaderError(
        f"the header states base offset {base_offset}, offset delta {last_offset_delta} and {count} records",
        file=file,
        position=position,
        advice=REPLACE_ADVICE,
    )
