"""What offset and time indexes share: fixed slots, preallocated with zeros while a segment is active."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from epoch.base.resource_limits import NamingLimits, read_up_to
from logstore.errors import CorruptIndexError

if TYPE_CHECKING:
    from pathlib import Path

OFFSET_SLOT: Final = 8
"""Bytes of an entry of a `.index` file: an offset less its segment's first, and a position, each of four bytes."""
TIME_SLOT: Final = 12
"""Bytes of an entry of a `.timeindex` file: a timestamp of eight bytes, and such an offset."""
MAX_RELATIVE_OFFSET: Final = 2**31 - 1
"""What a slot can hold: an offset less its segment's first."""
MAX_INDEX_BYTES: Final = 512 << 20
"""More than any index takes: a segment of 2 GiB holds at most 35 million batches, with one entry of 12 bytes each."""


def read_index(path: Path) -> bytes:
    """Read an index file whole, not mapped: a broker trims the index of its active segment at any time."""
    with NamingLimits(path), open(path, "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        _check_size(size, path)
        return read_up_to(file, size)


def used_slots(data: bytes | memoryview, slot_bytes: int, path: Path | None) -> bytes:
    """Return an index file's bytes up to the last slot that is not all zeros: what follows was only preallocated.

    An offset index has no such entry: none is made for a segment's first batch, at position 0. In a time index it is
    that of timestamp 0 at the segment's first offset, made for a segment of one record. Among several slots it is not
    distinguished from a free one: to leave it out only makes a lookup begin at the segment's start, where it would lead
    as well. Raises CorruptIndexError.
    """
    _check_size(len(data), path)
    whole = bytes(data[: len(data) // slot_bytes * slot_bytes])
    return whole[: -(-len(whole.rstrip(b"\0")) // slot_bytes) * slot_bytes]


def used_time_slots(data: bytes | memoryview, path: Path | None) -> bytes:
    """Do as `used_slots` for a time index.

    Kafka preallocates more than one slot: a lone one is the entry of timestamp 0 at the segment's first offset.
    """
    return used_slots(data, TIME_SLOT, path) or bytes(data[:TIME_SLOT] if len(data) // TIME_SLOT == 1 else b"")


def _check_size(size: int, path: Path | None) -> None:
    if size > MAX_INDEX_BYTES:
        raise CorruptIndexError(
            f"more than {MAX_INDEX_BYTES:,} bytes are too many for an index",
            file=path,
            advice="remove it, and Kafka builds it again from the log",
        )
