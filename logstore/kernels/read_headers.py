"""Walk over the headers of a file that is in the page cache, and read nothing but them: a page costs more to map."""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, kernel
from logstore.batch.layout import HEADER_SIZE, LENGTH_AT, LOG_OVERHEAD, MAGIC
from logstore.kernels.bytes import Data, int32
from logstore.kernels.read_cached import read_cached
from logstore.kernels.scan import COMPLETE, MORE, fill_row, what_follows

NOT_CACHED = -2
"""Instead of a reason to stop: the next header is not in the page cache, or cannot be read."""


@kernel
def read_headers(
    descriptor: int,
    header: Data,
    start: int,
    end: int,
    limit: int,
    rows: int,
    position: NDArray[np.int64],
    size: NDArray[np.int64],
    base_offset: NDArray[np.int64],
    last_offset: NDArray[np.int64],
    leader_epoch: NDArray[np.int32],
    magic: NDArray[np.int8],
    attributes: NDArray[np.int16],
    base_timestamp: NDArray[np.int64],
    max_timestamp: NDArray[np.int64],
    producer_id: NDArray[np.int64],
    producer_epoch: NDArray[np.int16],
    base_sequence: NDArray[np.int32],
    record_count: NDArray[np.int32],
    crc: NDArray[np.uint32],
    crc_valid: NDArray[np.bool_],
) -> tuple[int, int, int]:
    """Fill the columns as `scan_batches` does, from a file of `end` bytes; `header` has room for one.

    Checksums are not looked at. A file that is shorter by now ends where it does. Rows filled, next position, reason.
    """
    header = borrowed(header)
    at, row = start, 0
    while True:
        wanted, there = min(HEADER_SIZE, end - at), 0
        while there < wanted:
            read = read_cached(descriptor, header, there, wanted - there, at + there)
            if read < 0:
                return row, at, NOT_CACHED
            if read == 0:
                end = at + there
                break
            there += read
        stop = what_follows(header, 0, end - at)
        if stop != COMPLETE:
            return row, at, stop
        if row == rows or at >= limit:
            return row, at, MORE
        fill_row(
            header,
            0,
            row,
            base_offset,
            last_offset,
            leader_epoch,
            attributes,
            base_timestamp,
            max_timestamp,
            producer_id,
            producer_epoch,
            base_sequence,
            record_count,
            crc,
        )
        position[row] = at
        size[row] = LOG_OVERHEAD + int32(header, LENGTH_AT)
        magic[row] = MAGIC
        crc_valid[row] = True
        at += size[row]
        row += 1
