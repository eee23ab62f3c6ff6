"""What control batches say: which of them are markers of transactions, and how these ended."""

import crc32c
import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.batch.layout import CRC_START

_KEY_BYTES = 4


def control_types(
    data: memoryview, columns: BatchColumns, rows: NDArray[np.int64]
) -> tuple[RecordColumns, NDArray[np.int16]]:
    """Read the records of uncompressed control batches, and the type in the key of each; -1 where a key has none.

    `data` is the content of the log file. Raises CorruptRecordError.
    """
    from logstore.kernels.decode import decode  # noqa: PLC0415  numba loads on the first bulk operation

    records = decode(np.frombuffer(data, np.uint8), columns, rows)
    is_whole = records.key_length >= _KEY_BYTES
    at = np.where(is_whole, records.key_start, 0)
    types = records.data[at + 2].astype(np.int16) << 8 | records.data[at + 3]
    return records, np.where(is_whole, types, np.int16(-1))


def is_valid(data: memoryview, columns: BatchColumns, row: int) -> bool:
    """Whether the checksum of one batch is valid, whatever the scan was to check."""
    start, size = int(columns.position[row]), int(columns.size[row])
    return bool(crc32c.crc32c(data[start + CRC_START : start + size]) == int(columns.crc[row]))
