r"""Records as lines of text or JSON: the format, in plain Python. The kernel `render` writes the same lines, fast.

A line of text shows printable ASCII as it is, a backslash doubled, and every other byte as \xNN, so that a record is
one line whatever is in it. Sizes distinguish an absent key or value (-1, null) from the text "null". In JSON, bytes are
a string where they are valid UTF-8, else base64 under a name that says so.
"""

import base64
import json
import re
from typing import TYPE_CHECKING, Final

from logstore.batch.record import Record

if TYPE_CHECKING:
    from logstore.text.record_mask import RecordMask

TEXT_LINE: Final = b"%b%d timestamp: %d sequence: %d key_size: %d value_size: %d headers: [%b] key: %b value: %b\n"
TEXT_HEADER: Final = b"%b: %b"
TEXT_NULL: Final = b"null"

JSON_LINE: Final = b'%b%d, "timestamp": %d, "sequence": %d, %b, %b, "headers": [%b]}\n'
JSON_HEADER: Final = b"{%b, %b}"
JSON_NULL: Final = b'"%b": null'
JSON_TEXT: Final = b'"%b": "%b"'
JSON_BASE64: Final = b'"%b_base64": "%b"'

HEADER_SEPARATOR: Final = b", "

_PRINTABLE: Final = frozenset(range(0x20, 0x7F)) - {ord("\\")}
_ALL_PRINTABLE: Final = re.compile(rb"[ -\[\]-~]*")
TEXT_ESCAPES: Final = tuple(
    "\\\\" if byte == ord("\\") else chr(byte) if byte in _PRINTABLE else f"\\x{byte:02x}" for byte in range(256)
)
"""How a line of text shows each byte."""


def text_line(prefix: bytes, record: Record, sequence: int, mask: "RecordMask | None" = None) -> bytes:
    r"""Write a record as a line of text. `prefix` goes before the offset; `sequence` is the producer's, -1 for none.

    Where its contents are masked the sizes are still theirs.

    >>> text_line(b"offset: ", Record(7, 1000, b"k", b"caf\xc3\xa9"), -1)
    b'offset: 7 timestamp: 1000 sequence: -1 key_size: 1 value_size: 5 headers: [] key: k value: caf\\xc3\\xa9\n'
    """
    seen = record if mask is None else mask.record(record)
    headers = [TEXT_HEADER % (escape(key.encode()), _text(value)) for key, value in seen.headers]
    return TEXT_LINE % (
        prefix,
        record.offset,
        record.timestamp,
        sequence,
        _size(record.key),
        _size(record.value),
        HEADER_SEPARATOR.join(headers),
        _text(seen.key),
        _text(seen.value),
    )


def json_line(prefix: bytes, record: Record, sequence: int, mask: "RecordMask | None" = None) -> bytes:
    r"""Write a record as a line of JSON. `prefix` opens the object and goes before the offset.

    >>> json_line(b'{"offset": ', Record(7, 1000, None, b"\xff"), -1)
    b'{"offset": 7, "timestamp": 1000, "sequence": -1, "key": null, "value_base64": "/w==", "headers": []}\n'
    """
    seen = record if mask is None else mask.record(record)
    headers = [
        JSON_HEADER % (json_field(b"key", key.encode()), json_field(b"value", value)) for key, value in seen.headers
    ]
    return JSON_LINE % (
        prefix,
        record.offset,
        record.timestamp,
        sequence,
        json_field(b"key", seen.key),
        json_field(b"value", seen.value),
        HEADER_SEPARATOR.join(headers),
    )


def escape(data: bytes) -> bytes:
    r"""Show bytes in a line of text: a\b, newline as a\\b, \x0a."""
    if _ALL_PRINTABLE.fullmatch(data):
        return data
    return data.decode("latin-1").translate(TEXT_ESCAPES).encode()


def json_field(name: bytes, data: bytes | None) -> bytes:
    """Name and value of a JSON object's member that holds bytes."""
    if data is None:
        return JSON_NULL % name
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return JSON_BASE64 % (name, base64.b64encode(data))
    return JSON_TEXT % (name, json_escape(text))


def json_escape(text: str) -> bytes:
    """Show text inside a JSON string, in UTF-8."""
    return json.dumps(text, ensure_ascii=False)[1:-1].encode()


def _text(data: bytes | None) -> bytes:
    return TEXT_NULL if data is None else escape(data)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)
