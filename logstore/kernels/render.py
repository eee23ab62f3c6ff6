"""Render records as lines of text or JSON, straight from columns into one buffer: what `record_lines` defines.

The buffer is measured first, and never too small.
"""

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import inlined, kernel
from logstore.batch.batch_attributes import LAST_SEQUENCE, NO_SEQUENCE
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.record_lines import (
    HEADER_SEPARATOR,
    JSON_BASE64,
    JSON_HEADER,
    JSON_LINE,
    JSON_NULL,
    JSON_TEXT,
    TEXT_ESCAPES,
    TEXT_HEADER,
    TEXT_LINE,
    TEXT_NULL,
    json_escape,
)
from logstore.errors import CorruptRecordError
from logstore.kernels.bytes import Data, varint
from logstore.kernels.characters import (
    DIGITS,
    QUOTE,
    STORE,
    Buffer,
    is_utf8,
    put,
    put_base64,
    put_escaped,
    put_number,
)
from logstore.kernels.data import read_only

Positions = NDArray[np.int64]
Lengths = NDArray[np.int32]

TEXT_GROWTH, JSON_GROWTH = 4, 6
"""Characters that a byte takes at most."""


class Lines(NamedTuple):
    """Rendered lines, valid until the renderer renders again: line `i` of `data` ends before byte `ends[i]`."""

    data: memoryview
    ends: NDArray[np.int64]


class LineRenderer:
    """Renders records, all lines with the same prefix, into one buffer that is used again.

    renderer = LineRenderer(b"offset: ")
    for records in decode_chunks(data, batches):
        lines = renderer.render(records, sequences(records, batches))
    """

    def __init__(self, prefix: bytes, *, json: bool = False) -> None:
        """Create a renderer with the text before each offset, as in `text_line` or, with `json`, in `json_line`."""
        self._prefix = read_only(np.frombuffer(prefix, np.uint8))
        self._kernel = render_json if json else render_text
        self._growth = JSON_GROWTH if json else TEXT_GROWTH
        self._buffer = np.empty(0, np.uint8)

    def render(self, records: RecordColumns, sequence: NDArray[np.int64]) -> Lines:
        """Render records that may well take six times their size, and `sequence`, the producer's number of each.

        Raises CorruptRecordError where a record does not lie within the data, or a header's key is no UTF-8: what then
        stands for it is for `Record` to say.
        """
        data = read_only(records.data)
        fields = (
            records.key_start,
            records.key_length,
            records.value_start,
            records.value_length,
            records.headers_start,
            records.header_count,
        )
        room = measure(data, len(self._prefix) + LINE_ROOM, self._growth, *fields)
        if room < 0:
            raise CorruptRecordError("a record does not lie within the data, or the key of a header is not UTF-8")
        if room > len(self._buffer):
            self._buffer = np.empty(room, np.uint8)
        ends = np.empty(len(records), np.int64)
        self._kernel(data, self._prefix, records.offset, records.timestamp, sequence, *fields, self._buffer, ends)
        return Lines(self._buffer.data[: ends[-1] if len(ends) else 0], ends)


def sequences(records: RecordColumns, batches: BatchColumns) -> NDArray[np.int64]:
    """Give each record's sequence number, which starts over after 2^31 - 1; -1 without an idempotent producer."""
    base = batches.base_sequence[records.batch].astype(np.int64)
    delta = records.offset - batches.base_offset[records.batch]
    return np.where(base == NO_SEQUENCE, NO_SEQUENCE, base + delta & LAST_SEQUENCE)


def literals(template: bytes) -> list[Data]:
    """Split a template at its placeholders."""
    return [np.frombuffer(part, np.uint8) for part in re.split(rb"%[bd]", template)]


def openings(name: bytes) -> list[Data]:
    """Give what comes before the bytes of a JSON member: of a null one, of text, of base64."""
    return [literals(form % (name, *rest))[0] for form, rest in FORMS]


def escape_table(escapes: list[bytes]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Pack each byte's escape into a word, its first character lowest, and give their lengths."""
    words = np.array([int.from_bytes(escape, "little") for escape in escapes], np.uint64)
    return words, np.array([len(escape) for escape in escapes], np.int64)


FORMS: tuple[tuple[bytes, tuple[bytes, ...]], ...] = ((JSON_NULL, ()), (JSON_TEXT, (b"%b",)), (JSON_BASE64, (b"%b",)))
KEY_NULL, KEY_TEXT, KEY_BASE64 = openings(b"key")
VALUE_NULL, VALUE_TEXT, VALUE_BASE64 = openings(b"value")
SEPARATOR = np.frombuffer(HEADER_SEPARATOR, np.uint8)

_, _, T_TIMESTAMP, T_SEQUENCE, T_KEY_SIZE, T_VALUE_SIZE, T_HEADERS, T_KEY, T_VALUE, T_END = literals(TEXT_LINE)
_, T_HEADER_VALUE, _ = literals(TEXT_HEADER)
T_NULL = np.frombuffer(TEXT_NULL, np.uint8)
TEXT_WORDS, TEXT_LENGTHS = escape_table([escape.encode() for escape in TEXT_ESCAPES])

_, _, J_TIMESTAMP, J_SEQUENCE, J_KEY, J_VALUE, J_HEADERS, J_END = literals(JSON_LINE)
J_HEADER_KEY, J_HEADER_VALUE, J_HEADER_END = literals(JSON_HEADER)
# Bytes from 0x80 on occur only in UTF-8 that was validated, and stand for themselves.
JSON_WORDS, JSON_LENGTHS = escape_table(
    [json_escape(chr(value)) if value < 0x80 else bytes([value]) for value in range(256)]
)
HEADER_ROOM = len(JSON_HEADER + HEADER_SEPARATOR) + 2 * len(JSON_BASE64 + b"value")
LINE_ROOM = max(len(TEXT_LINE), len(JSON_LINE)) + 2 * len(JSON_BASE64 + b"value") + 5 * DIGITS
"""Characters that the constant parts and numbers of a header and of a line take at most."""


@kernel
def measure(
    data: Data,
    line_room: int,
    growth: int,
    key_start: Positions,
    key_length: Lengths,
    value_start: Positions,
    value_length: Lengths,
    headers_start: Positions,
    header_count: Lengths,
) -> int:
    """Return the bytes that a buffer needs for rendering, or -1 where a record cannot be rendered."""
    room = STORE
    for row in range(key_start.size):
        key_size = inside(data, key_start[row], key_length[row])
        value_size = inside(data, value_start[row], value_length[row])
        if key_size < 0 or value_size < 0:
            return -1
        room += line_room + growth * (key_size + value_size)
        if header_count[row] != 0:
            headers_room = measure_headers(data, growth, headers_start[row], header_count[row])
            if headers_room < 0:
                return -1
            room += headers_room
    return room


@inlined
def inside(data: Data, start: int, length: int) -> int:
    """Return how many bytes there are, none if null, or -1 where they do not lie within the data."""
    if length <= 0:
        return 0
    if start < 0 or start > data.size or length > data.size - start:
        return -1
    return int(np.int64(length))


@kernel
def measure_headers(data: Data, growth: int, position: int, count: int) -> int:
    """Return the bytes that headers need, or -1 where they do not lie within the data or a key is not UTF-8."""
    room = 0
    if count < 0 or position < 0:
        return -1
    for _ in range(count):
        length, start = varint(data, position, data.size)
        if start > data.size or length < 0 or length > data.size - start:
            return -1
        if not is_utf8(data, start, start + length):
            return -1
        room += HEADER_ROOM + growth * length
        length, start = varint(data, start + length, data.size)
        if start > data.size or length > data.size - start:
            return -1
        room += growth * max(length, 0)
        position = start + max(length, 0)
    return room


@kernel
def render_text(
    data: Data,
    prefix: Data,
    offset: Positions,
    timestamp: Positions,
    sequence: Positions,
    key_start: Positions,
    key_length: Lengths,
    value_start: Positions,
    value_length: Lengths,
    headers_start: Positions,
    header_count: Lengths,
    out: Buffer,
    ends: Positions,
) -> None:
    """Write the lines that `text_line` defines, into a buffer that `measure` found large enough."""
    at = 0
    for row in range(offset.size):
        at = put(out, at, prefix)
        at = put_number(out, at, offset[row])
        at = put_number(out, put(out, at, T_TIMESTAMP), timestamp[row])
        at = put_number(out, put(out, at, T_SEQUENCE), sequence[row])
        at = put_number(out, put(out, at, T_KEY_SIZE), key_length[row])
        at = put_number(out, put(out, at, T_VALUE_SIZE), value_length[row])
        at = put(out, at, T_HEADERS)
        if header_count[row] != 0:
            at = put_text_headers(out, at, data, headers_start[row], header_count[row])
        at = put_text(out, put(out, at, T_KEY), data, key_start[row], key_length[row])
        at = put_text(out, put(out, at, T_VALUE), data, value_start[row], value_length[row])
        at = put(out, at, T_END)
        ends[row] = at


@kernel
def render_json(
    data: Data,
    prefix: Data,
    offset: Positions,
    timestamp: Positions,
    sequence: Positions,
    key_start: Positions,
    key_length: Lengths,
    value_start: Positions,
    value_length: Lengths,
    headers_start: Positions,
    header_count: Lengths,
    out: Buffer,
    ends: Positions,
) -> None:
    """Write the lines that `json_line` defines, into a buffer that `measure` found large enough."""
    at = 0
    for row in range(offset.size):
        at = put(out, at, prefix)
        at = put_number(out, at, offset[row])
        at = put_number(out, put(out, at, J_TIMESTAMP), timestamp[row])
        at = put_number(out, put(out, at, J_SEQUENCE), sequence[row])
        at = put_key(out, put(out, at, J_KEY), data, key_start[row], key_length[row])
        at = put_value(out, put(out, at, J_VALUE), data, value_start[row], value_length[row])
        at = put(out, at, J_HEADERS)
        if header_count[row] != 0:
            at = put_json_headers(out, at, data, headers_start[row], header_count[row])
        at = put(out, at, J_END)
        ends[row] = at


@kernel
def put_text_headers(out: Buffer, at: int, data: Data, position: int, count: int) -> int:
    """Write headers in text, one after the other."""
    for number in range(count):
        if number:
            at = put(out, at, SEPARATOR)
        length, start = varint(data, position, data.size)
        at = put(out, put_text(out, at, data, start, length), T_HEADER_VALUE)
        length, start = varint(data, start + length, data.size)
        at = put_text(out, at, data, start, length)
        position = start + max(length, 0)
    return at


@kernel
def put_json_headers(out: Buffer, at: int, data: Data, position: int, count: int) -> int:
    """Write headers as JSON objects, one after the other."""
    for number in range(count):
        if number:
            at = put(out, at, SEPARATOR)
        length, start = varint(data, position, data.size)
        at = put_key(out, put(out, at, J_HEADER_KEY), data, start, length)
        length, start = varint(data, start + length, data.size)
        at = put_value(out, put(out, at, J_HEADER_VALUE), data, start, length)
        at = put(out, at, J_HEADER_END)
        position = start + max(length, 0)
    return at


@inlined
def put_text(out: Buffer, at: int, data: Data, start: int, length: int) -> int:
    """Write bytes in text."""
    if length < 0:
        return put(out, at, T_NULL)
    return put_escaped(out, at, data, start, start + length, TEXT_WORDS, TEXT_LENGTHS)


@kernel
def put_key(out: Buffer, at: int, data: Data, start: int, length: int) -> int:
    """Write a key as a member of a JSON object."""
    if length < 0:
        return put(out, at, KEY_NULL)
    if is_utf8(data, start, start + length):
        return put_quoted(out, put(out, at, KEY_TEXT), data, start, start + length)
    return put_base64(out, put(out, at, KEY_BASE64), data, start, start + length)


@kernel
def put_value(out: Buffer, at: int, data: Data, start: int, length: int) -> int:
    """Write a value as a member of a JSON object."""
    if length < 0:
        return put(out, at, VALUE_NULL)
    if is_utf8(data, start, start + length):
        return put_quoted(out, put(out, at, VALUE_TEXT), data, start, start + length)
    return put_base64(out, put(out, at, VALUE_BASE64), data, start, start + length)


@inlined
def put_quoted(out: Buffer, at: int, data: Data, start: int, end: int) -> int:
    """Write what follows the opening quote of a JSON string."""
    at = put_escaped(out, at, data, start, end, JSON_WORDS, JSON_LENGTHS)
    out[np.uint64(at)] = QUOTE
    return at + 1
