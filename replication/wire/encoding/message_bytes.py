"""Messages as bytes, with the errors that a peer's bytes and our own values can cause."""

import struct
from typing import TypeVar

from replication.records.codec.codec import Codec
from replication.records.codec.errors import CODEC_ERRORS, UNFIT_ERRORS
from replication.records.codec.fields import Data
from replication.records.codec.gathered import Gathered, Part
from replication.records.codec.read_whole import read_whole
from replication.wire.errors import InvalidMessageError, MalformedRequestError, MalformedResponseError

T = TypeVar("T")


def write_message(codec: Codec[T], message: T, name: str) -> bytes:
    """Return a message as bytes; InvalidMessageError if it holds what does not fit its fields."""
    out = bytearray()
    _write(codec, out, message, name)
    return bytes(out)


def write_message_parts(codec: Codec[T], message: T, name: str) -> list[Part]:
    """Return what makes up a message, with views of records as they are; errors as those of `write_message`."""
    out = Gathered()
    _write(codec, out, message, name)
    return out.parts()


def read_message(codec: Codec[T], data: Data, name: str) -> T:
    """Read a message that takes up all the bytes; MalformedRequestError or MalformedResponseError if it does not.

    After a request more may follow: librdkafka 2.16 sends three bytes too many where it asks for all topics, and Kafka
    passes over them.
    """
    try:
        return codec.read(data, 0)[0] if _is_request(name) else read_whole(codec, data)
    except CODEC_ERRORS as error:
        raise _refusal(error, data, name) from error


def read_part(codec: Codec[T], data: Data, name: str) -> tuple[T, int]:
    """Read a message that bytes begin with, and return where it ends; errors as those of `read_message`."""
    try:
        return codec.read(data, 0)
    except CODEC_ERRORS as error:
        raise _refusal(error, data, name) from error


def _write(codec: Codec[T], out: bytearray, message: T, name: str) -> None:
    try:
        codec.write(out, message)
    except UNFIT_ERRORS as error:
        raise InvalidMessageError(f"{name} cannot be written: {error}") from error


def malformed(name: str) -> type[MalformedRequestError | MalformedResponseError]:
    """Return the error for a message of this name that cannot be read."""
    return MalformedRequestError if _is_request(name) else MalformedResponseError


def _is_request(name: str) -> bool:
    return "Request" in name


def _refusal(error: Exception, data: Data, name: str) -> MalformedRequestError | MalformedResponseError:
    if isinstance(error, LookupError | struct.error):
        return malformed(name)(f"{name} ends after {len(data):,} bytes, in the middle of a field")
    return malformed(name)(f"{name} of {len(data):,} bytes cannot be read: {error}")
