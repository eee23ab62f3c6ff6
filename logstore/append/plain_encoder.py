"""Encodes records of columns in plain Python: what the kernels of `encode` do, as long as they are not there."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from logstore.batch.decoding.record_decoder import skip_headers, wrapping
from logstore.batch.layout import HEADER_SIZE
from logstore.batch.record_encoder import encode_nullable, encode_varint, frame_record
from logstore.errors import CorruptRecordError

if TYPE_CHECKING:
    from logstore.batch.columns import RecordColumns

_MOST: Final = 0x7FFF_FFFF
"""Bytes of a record, and of its headers."""
_NUMBERS: Final = 36
"""Those of its numbers at most."""


class PlainEncoder:
    """Encodes the records of some columns, once, in sections of at most `batch_bytes` with a batch's header."""

    def __init__(self, records: "RecordColumns", batch_bytes: int) -> None:
        """Look at nothing yet."""
        self._data = records.data.tobytes()
        self._timestamps: list[int] = records.timestamp.tolist()
        self._rows = zip(
            records.key_start.tolist(),
            records.key_length.tolist(),
            records.value_start.tolist(),
            records.value_length.tolist(),
            records.headers_start.tolist(),
            records.header_count.tolist(),
            strict=True,
        )
        self._limit = batch_bytes - HEADER_SIZE

    def sections(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Encode section by section: bytes, how many records, the first's timestamp and the largest.

        Raises ValueError where a record does not lie within the data.
        """
        parts: list[bytes] = []
        size = first = 0
        for number, row in enumerate(self._rows):
            fields = self._fields(number, *row)
            record = self._framed(number, first, fields)
            if parts and size + len(record) > self._limit:
                yield self._section(parts, first)
                parts, size, first = [], 0, number
                record = self._framed(number, first, fields)
            parts.append(record)
            size += len(record)
        if parts:
            yield self._section(parts, first)

    def _section(self, parts: list[bytes], first: int) -> tuple[bytes, int, int, int]:
        timestamps = self._timestamps[first : first + len(parts)]
        return b"".join(parts), len(parts), timestamps[0], max(timestamps)

    def _framed(self, number: int, first: int, fields: bytes) -> bytes:
        return frame_record(number - first, wrapping(self._timestamps[number] - self._timestamps[first]), fields)

    def _fields(
        self,
        number: int,
        key_start: int,
        key_length: int,
        value_start: int,
        value_length: int,
        headers_start: int,
        header_count: int,
    ) -> bytes:
        """Encode all but the deltas."""
        headers = self._headers(number, headers_start, header_count) if header_count else b""
        key, value = self._content(number, key_start, key_length), self._content(number, value_start, value_length)
        if max(key_length, 0) + max(value_length, 0) + len(headers) + _NUMBERS > _MOST:
            raise not_within(number)
        return b"".join((encode_nullable(key), encode_nullable(value), encode_varint(header_count), headers))

    def _content(self, number: int, start: int, length: int) -> bytes | None:
        if length <= 0:
            return b"" if length == 0 else None
        if not 0 <= start <= len(self._data) - length:
            raise not_within(number)
        return self._data[start : start + length]

    def _headers(self, number: int, start: int, count: int) -> bytes:
        if not 0 <= start <= len(self._data):
            raise not_within(number)
        try:
            end = skip_headers(self._data, start, len(self._data), count)
        except (CorruptRecordError, IndexError):
            raise not_within(number) from None
        if end - start > _MOST:
            raise not_within(number)
        return self._data[start:end]


def not_within(number: int) -> ValueError:
    """Return the error for a record that does not lie within its columns' data."""
    return ValueError(f"record {number:,} does not lie within the data")
