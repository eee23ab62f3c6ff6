"""Read the headers of a log file's record batches into columns, with a kernel that needs no numba once it is kept."""

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns, StopReason
from logstore.batch.layout import HEADER_SIZE
from logstore.kernels.column_memory import ColumnMemory
from logstore.kernels.data import read_only
from logstore.kernels.standalone import scan_batches

CAPACITY = 8_192
"""Rows of one chunk of columns, unless more are asked for."""
CHUNK_BYTES = 1 << 26
"""Bytes after which a chunk of columns ends too, so that one can be worked on while the next is read."""

COLUMNS: dict[str, type[np.generic]] = {
    "position": np.int64,
    "size": np.int64,
    "base_offset": np.int64,
    "last_offset": np.int64,
    "leader_epoch": np.int32,
    "magic": np.int8,
    "attributes": np.int16,
    "base_timestamp": np.int64,
    "max_timestamp": np.int64,
    "producer_id": np.int64,
    "producer_epoch": np.int16,
    "base_sequence": np.int32,
    "record_count": np.int32,
    "crc": np.uint32,
    "crc_valid": np.bool_,
}
"""Columns of `BatchColumns` in the order in which the kernel takes them."""

MEMORY = ColumnMemory(COLUMNS, CAPACITY)


def scan(
    data: NDArray[np.uint8],
    position: int = 0,
    *,
    check_crc: bool,
    capacity: int = CAPACITY,
    chunk_bytes: int = CHUNK_BYTES,
) -> BatchColumns:
    """Read the headers of consecutive batches from `position` (bytes) on.

    At most `capacity` of them, and as many as begin within `chunk_bytes`.

    With `check_crc` each batch's bytes are checked against its checksum; one that fails is a row like any other, with
    `crc_valid` false. The scan stops at the first position where no batch of magic 2 can be, and says why in `stop`.

        columns = scan(np.frombuffer(mapping, np.uint8), check_crc=True)
    """
    if not 0 <= position <= len(data):
        raise ValueError(f"Position {position} is not within the {len(data)} bytes given")
    chunk_bytes = min(chunk_bytes, len(data) - position)
    rows = max(1, min(capacity, chunk_bytes // HEADER_SIZE + 1))
    memory = MEMORY if rows <= CAPACITY else ColumnMemory(COLUMNS, rows)
    columns = memory.take()
    count, next_position, stop = scan_batches(
        read_only(data), position, len(data), position + chunk_bytes, rows, check_crc, *columns.values()
    )
    filled = {name: column[:count] for name, column in columns.items()}
    return BatchColumns(**filled, next_position=next_position, stop=StopReason(stop))
