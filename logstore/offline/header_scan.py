"""The headers of a log file, for whoever needs nothing else of it."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from epoch.base.resource_limits import NamingLimits
from logstore.batch.columns import BatchColumns, StopReason
from logstore.files.mapped_files import map_open_file, open_regular
from logstore.offline.batch_scan import SMALL, scan_batches

LARGE: Final = 8 << 10
"""Bytes of a batch whose header is read by itself; where batches are smaller, mapping the file costs less."""
PROBED: Final = 64
"""Batches that show how large they are."""


def scan_headers(path: str | os.PathLike[str], position: int = 0, *, threads: int = 1) -> Iterator[BatchColumns]:
    """Read the headers of a log file as `LogFile.scan` does without checksums; of large batches in less time.

    As long as the file is in the page cache they are read without mapping it, and if another process truncates it
    meanwhile, it ends there. What is not cached, small batches, and those of older magics are read as by `LogFile`. Two
    `threads` read a large file in halves, as of `LogFile.scan`. Raises OSError, also for what is no regular file.

    >>> for columns in scan_headers(path):
    ...     print(columns.base_offset, columns.leader_epoch)
    """
    path = path if isinstance(path, Path) else Path(path)
    with NamingLimits(path), open_regular(path) as file:
        start, stop = position, StopReason.MORE
        with suppress(BlockingIOError):
            for columns in _unmapped(file.fileno(), position, threads):
                position, stop = columns.next_position, columns.stop
                # A chunk without batches only tells how the walk ends.
                if len(columns) or stop not in {StopReason.MORE, StopReason.LEGACY}:
                    yield columns
        if stop in {StopReason.MORE, StopReason.LEGACY}:
            data = map_open_file(file, path)
            position = max(start, min(position, len(data)))  # it may be shorter by now
            yield from scan_batches(data, position, check_crc=False, file=str(path), threads=threads)


def _unmapped(descriptor: int, position: int, threads: int) -> Iterator[BatchColumns]:
    """Read the headers of a large file one by one, as long as batches are large. Raises BlockingIOError."""
    if os.fstat(descriptor).st_size - position <= SMALL:
        return
    from logstore.kernels.column_scan import CHUNK_BYTES  # noqa: PLC0415  numba loads on the first bulk operation
    from logstore.offline.halved_scan import scan_source  # noqa: PLC0415  as above
    from logstore.offline.unmapped_headers import UnmappedHeaders  # noqa: PLC0415  as above

    headers = UnmappedHeaders(descriptor)
    first = headers.scan(position, CHUNK_BYTES, rows=PROBED)
    yield first
    if first.stop is not StopReason.MORE or not _are_large(first):
        return
    for columns in scan_source(headers, first.next_position, threads=threads):
        yield columns
        if not _are_large(columns):
            return


def _are_large(columns: BatchColumns) -> bool:
    """Whether reading their headers one by one paid."""
    return not len(columns) or int(columns.size.sum()) >= LARGE * len(columns)
