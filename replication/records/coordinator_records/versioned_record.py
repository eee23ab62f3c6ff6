"""Keys and values of Kafka's own topics, which begin with an int16, the version of what follows."""

from struct import Struct
from typing import Final, TypeVar

from replication.records.codec.codec import codec_of
from replication.records.codec.errors import CODEC_ERRORS

T = TypeVar("T")
_VERSION: Final = Struct(">h")


def read_versioned(kind: type[T], versions: int, data: bytes | None, *, flexible_from: int) -> T | None:
    """Read a key or a value of one of the first `versions`; None if it is of a later one, null, or cannot be read."""
    if data is None:
        return None
    try:
        (version,) = _VERSION.unpack_from(data)
        if not 0 <= version < versions:
            return None
        return codec_of(kind, version, flexible=version >= flexible_from).read(data, _VERSION.size)[0]
    except CODEC_ERRORS:
        return None
