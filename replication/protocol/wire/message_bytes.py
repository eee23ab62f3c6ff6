"""Messages as bytes, with the errors that a peer's bytes and our own values can cause."""

import struct
from typing import Final, TypeVar

from replication.codec.codec import Codec
from replication.codec.fields import Data
from replication.protocol.errors import InvalidMessageError, MalformedRequestError, MalformedResponseError

T = TypeVar("T")

_REFUSALS: Final = (struct.error, ValueError, LookupError, OverflowError)
"""What codecs raise for bytes that they cannot read."""
_UNFIT: Final = (*_REFUSALS, TypeError, AttributeError)
"""What they raise for values that do not fit."""


def write_message(codec: Codec[T], message: T, name: str) -> bytes:
    """Return a message as bytes; InvalidMessageError if it holds what does not fit its fields."""
    out = bytearray()
    try:
        codec.write(out, message)
    except _UNFIT as error:
        raise InvalidMessageError(f"{name} cannot be written: {error}") from error
    return bytes(out)


def read_message(codec: Codec[T], data: Data, name: str) -> T:
    """Read a message that takes up all the bytes; MalformedRequestError or MalformedResponseError if it does not."""
    message, end = read_part(codec, data, name)
    if end != len(data):
        raise malformed(name)(f"{name} is followed by {len(data) - end:,} extra bytes")
    return message


def read_part(codec: Codec[T], data: Data, name: str) -> tuple[T, int]:
    """Read a message that bytes begin with, and tell where it ends; errors as those of `read_message`."""
    try:
        return codec.read(data, 0)
    except (LookupError, struct.error) as error:
        raise malformed(name)(f"{name} ends after {len(data):,} bytes, in the middle of a field") from error
    except _REFUSALS as error:
        raise malformed(name)(f"{name} of {len(data):,} bytes cannot be read: {error}") from error


def malformed(name: str) -> type[MalformedRequestError | MalformedResponseError]:
    """Return the error for a message of this name that cannot be read."""
    return MalformedRequestError if "Request" in name else MalformedResponseError
