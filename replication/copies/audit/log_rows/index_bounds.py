"""Where in a segment to begin and to end reading, by its indexes: each entry is used only where the log agrees with it.

An index that is missing, or that the log contradicts, spares nothing. `verify` finds out whether indexes are right.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from epoch.history import MAX_OFFSET
from logstore.batch.any_batch import Batch
from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.indexes.index_entry import OffsetIndexEntry
from logstore.indexes.offset_index import OffsetIndex
from logstore.indexes.time_index import TimeIndex
from logstore.offline.log_file import LogFile
from replication.copies.audit.log_rows.selection import Selection

Index = TypeVar("Index")


def index_files(log_file: str) -> tuple[str, ...]:
    """Name the indexes beside a `.log` file that are used here."""
    stem = log_file.removesuffix(f".{FileKind.LOG.value}")
    return tuple(f"{stem}.{kind.value}" for kind in (FileKind.OFFSET_INDEX, FileKind.TIME_INDEX))


class ByteBounds(NamedTuple):
    """The batches that begin from byte `start` on and before `end`."""

    start: int
    end: int


def byte_bounds(log: LogFile, path: Path, base_offset: int, selection: Selection) -> ByteBounds:
    """Return between which bytes of a segment lies all that is asked for; the whole of it where no index shows that."""
    whole = ByteBounds(0, log.size)
    index = _read(OffsetIndex.read, path, FileKind.OFFSET_INDEX, base_offset) if selection.has_bounds else None
    if index is None:
        return whole
    first = selection.first_offset
    if selection.first_timestamp is not None:
        first = max(first, _offset_from(log, path, index, selection.first_timestamp))
    entry = index.lookup(first - 1)
    start = entry.position if _is_confirmed(log, entry) else 0
    return ByteBounds(start, _end(log, index, selection.last_offset))


def index_reach(path: Path, size: int, base_offset: int, selection: Selection) -> ByteBounds:
    """Return between which bytes of a segment of a size its indexes alone place what is asked for, and whole batches.

    Whether they are right the log shows: then `byte_bounds` are within, and so are the batches.
    """
    whole = ByteBounds(0, size)
    index = _read(OffsetIndex.read, path, FileKind.OFFSET_INDEX, base_offset) if selection.has_bounds else None
    if index is None:
        return whole
    start = index.lookup(selection.first_offset - 1).position
    times = _read(TimeIndex.read, path, FileKind.TIME_INDEX, base_offset)
    if selection.first_timestamp is not None and times is not None:
        start = max(start, index.lookup(times.lookup(selection.first_timestamp - 1).offset - 1).position)
    following = int(np.searchsorted(index.last_offset, selection.last_offset, "right")) + 1
    end = index[following].position if following < len(index) else size
    return ByteBounds(start, end) if 0 <= start < end <= size else whole


def _end(log: LogFile, index: OffsetIndex, last_offset: int) -> int:
    """Return a byte behind the beginning of a batch that ends beyond the last offset, so that all others lie behind."""
    if last_offset == MAX_OFFSET:
        return log.size
    number = int(np.searchsorted(index.last_offset, last_offset, "right"))
    if number >= len(index):
        return log.size
    entry = index[number]
    return entry.position + 1 if _is_confirmed(log, entry) else log.size


def _offset_from(log: LogFile, path: Path, index: OffsetIndex, timestamp: int) -> int:
    """Return an offset below which all records are earlier than `timestamp`."""
    times = _read(TimeIndex.read, path, FileKind.TIME_INDEX, index.base_offset)
    if times is None or not (_ascends(times.timestamp) and _ascends(times.offset)):
        return 0
    entry = times.lookup(timestamp - 1)
    place = index.lookup(entry.offset - 1)
    for batch in _batches(log, place.position):
        if batch.last_offset >= entry.offset:
            return entry.offset + 1 if batch.max_timestamp == entry.timestamp else 0
    return 0


def _ascends(values: NDArray[np.int64]) -> bool:
    return bool((values[1:] > values[:-1]).all())


def _is_confirmed(log: LogFile, entry: OffsetIndexEntry) -> bool:
    """Return whether a batch stands at the entry's position, and ends with its offset."""
    batch = next(_batches(log, entry.position), None)
    return batch is not None and batch.last_offset == entry.last_offset


def _batches(log: LogFile, position: int) -> Iterator[Batch]:
    """Read the batches from a position on that an index gives, as far as there are any."""
    with suppress(LogStoreError):
        yield from log.batches(position) if 0 <= position < log.size else ()


def _read(read: Callable[[Path, int], Index], path: Path, kind: FileKind, base_offset: int) -> Index | None:
    try:
        return read(path.with_suffix(f".{kind.value}"), base_offset)
    except (LogStoreError, OSError):
        return None
