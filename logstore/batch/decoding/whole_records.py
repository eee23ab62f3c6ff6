"""Whole records out of pieces of bytes, which end anywhere."""

from collections.abc import Iterable, Iterator

from logstore.batch.decoding.record_decoder import record_end
from logstore.errors import CorruptRecordError


def whole_records(pieces: Iterable[bytes], count: int) -> Iterator[tuple[bytes, int]]:
    """Yield runs of the `count` records that the pieces hold, each with the number of its records.

    A run has about as many bytes as a piece, or is one record. Only the records' lengths are looked at. Raises
    CorruptRecordError where they do not fit, and what getting the pieces raises.
    """
    waiting = bytearray()
    needed = left = 0
    found = count
    for piece in pieces:
        waiting += piece
        if len(waiting) < needed:
            continue
        data = bytes(waiting)
        position = left = 0
        while found and (end := record_end(data, position)) <= len(data):
            position, left, found = end, left + 1, found - 1
        needed = end - position if found else 0
        if left:
            yield data[:position], left
            del waiting[:position]
        if waiting and not found:
            raise CorruptRecordError(f"bytes follow the last of {count} records")
    if found:
        raise CorruptRecordError(f"record {count - found} of {count} ends beyond its batch")
