"""Where a closed segment's offsets end, by its last batches alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final, NamedTuple

from logstore import offline
from logstore.batch.layout import LOG_OVERHEAD, MAGIC, SMALLEST_LENGTH, SMALLEST_MESSAGE, header_of
from logstore.errors import InvalidBatchHeaderError, TornBatchError
from logstore.file_name import FileKind, file_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEADER: Final = header_of("base_offset", "length", "leader_epoch", "magic", "last_offset_delta")
_PIECE: Final = 8 << 10
"""Bytes that hold the batches behind the last index entry, unless batches are large."""


class LastBatch(NamedTuple):
    """What a log's last batch says of itself."""

    base_offset: int
    epoch: int


def end_of_segment(directory: Path, base_offset: int, position: int) -> tuple[int, LastBatch | None] | None:
    """Return one beyond the last offset, and the last batch, if any; None where batches are of before Kafka 0.11.

    Only headers are looked at, from the one at `position` on. Raises TornBatchError and InvalidBatchHeaderError where
    they do not lead to the file's end, and OSError.
    """
    path = f"{directory}/{file_name(FileKind.LOG, base_offset)}"  # of many segments, and a Path takes longer
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _walk(descriptor, path, base_offset, position)
    finally:
        os.close(descriptor)


def _walk(descriptor: int, path: str, end: int, position: int) -> tuple[int, LastBatch | None] | None:
    size, last = os.fstat(descriptor).st_size, None
    data, begin = b"", position
    while position < size:
        if position + _HEADER.size > begin + len(data):
            data, begin = os.pread(descriptor, _PIECE, position), position
        if len(data) - (position - begin) < _HEADER.size:
            raise TornBatchError("the file ends inside a batch", file=path, position=position, offset=end)
        base_offset, length, epoch, magic, delta = _HEADER.unpack_from(data, position - begin)
        if 0 <= magic < MAGIC and SMALLEST_MESSAGE <= length + LOG_OVERHEAD <= size - position:
            return None
        if magic != MAGIC or length < SMALLEST_LENGTH or base_offset < 0 or delta < 0:
            raise InvalidBatchHeaderError("no batch begins here", file=path, position=position, offset=end)
        position += length + LOG_OVERHEAD
        if position > size:
            raise TornBatchError("the file ends inside a batch", file=path, position=position, offset=end)
        end, last = base_offset + delta + 1, LastBatch(base_offset, epoch)
    return end, last


def skips_offsets(path: Path) -> bool:
    """Whether a segment lacks offsets between its batches or in them, as compaction leaves it. Raises OSError.

    Only sound batches show it.
    """
    return any(skips_of(path))


def skips_of(path: Path) -> Iterator[int]:
    """Count, piece by piece, where a segment lacks offsets, as far as sound batches tell. Raises OSError."""
    end = None
    with offline.log_file.LogFile.open(path) as log:
        for columns in log.scan():
            sound = columns.crc_valid
            ends = columns.last_offset + 1
            gaps = (columns.base_offset[1:] > ends[:-1]) & sound[1:] & sound[:-1]
            within = (ends - columns.base_offset > columns.record_count) & sound
            between = end is not None and len(columns) > 0 and sound[0] and columns.base_offset[0] > end
            yield int(gaps.sum() + within.sum() + between)
            end = int(ends[-1]) if len(columns) and sound[-1] else None
