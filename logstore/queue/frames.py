"""Messages between the owner of a work queue and its clients: fields as JSON, and values as they are."""

import json
import socket
from collections.abc import Sequence
from itertools import accumulate, pairwise
from struct import Struct
from typing import Any, Final

_HEAD: Final = Struct(">II")
_MOST_BYTES: Final = 1 << 30


def send(connection: socket.socket, fields: dict[str, Any], values: Sequence[bytes] = ()) -> None:
    """Send a message. Raises ConnectionError, OSError."""
    text = json.dumps(fields | {"sizes": [*map(len, values)]}, separators=(",", ":")).encode()
    connection.sendall(b"".join([_HEAD.pack(len(text), sum(map(len, values))), text, *values]))


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[bytes]]:
    """Wait for a message. Raises ConnectionError where the other side is gone, or sends what is none."""
    text_size, values_size = _HEAD.unpack(_exactly(connection, _HEAD.size))
    if text_size > _MOST_BYTES or values_size > _MOST_BYTES:
        raise ConnectionError(f"a message of {text_size:,} and {values_size:,} bytes is none of a work queue")
    text, data = _exactly(connection, text_size), _exactly(connection, values_size)
    try:
        fields = json.loads(text)
        ends = [*accumulate(fields.pop("sizes"), initial=0)]
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ConnectionError(f"a message that begins with {text[:20]!r} is none of a work queue") from error
    return fields, [data[start:end] for start, end in pairwise(ends)]


def _exactly(connection: socket.socket, size: int) -> bytes:
    if not size:
        return b""
    data = connection.recv(size)
    if len(data) == size:
        return data
    received = bytearray(data)
    while data and len(received) < size:
        data = connection.recv(size - len(received))
        received += data
    if len(received) < size:
        raise ConnectionError("the other side is gone")
    return bytes(received)
