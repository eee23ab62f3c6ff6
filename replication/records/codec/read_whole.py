"""Reading a value that must take up all the bytes that are left."""

from typing import TypeVar

from replication.records.codec.codec import Codec
from replication.records.codec.fields import Data

T = TypeVar("T")


def read_whole(codec: Codec[T], data: Data, position: int = 0) -> T:
    """Read a value from a position to the end of the data. Raises one of CODEC_ERRORS, also where bytes are left."""
    value, end = codec.read(data, position)
    if end != len(data):
        raise ValueError(f"{len(data) - end:,} extra bytes follow it")
    return value
