"""Collect the first bytes of batches: what stands before the checksum's bytes, and the checksum itself."""

import numpy as np

from epoch.compiling.kernel import borrowed, kernel
from logstore.batch.layout import CRC_START, LENGTH_AT, LOG_OVERHEAD, SMALLEST_MESSAGE
from logstore.kernels.bytes import Data, int32
from logstore.kernels.copy import copy


@kernel
def gather_heads(log: memoryview, start: int, limit: int, heads: Data) -> tuple[int, int]:
    """Copy the first 21 bytes of each batch that begins from `start` to before `limit` to `heads`, as many as fit.

    Batches are of any magic, and whole in `log`. Returns how many there are, and where the last one ends.
    """
    data = borrowed(np.frombuffer(log, np.uint8))
    heads = borrowed(heads)
    rows, at = 0, start
    limit, room = min(limit, data.size), heads.size // CRC_START
    while at < limit and rows < room and data.size - at >= SMALLEST_MESSAGE:
        length = int32(data, at + LENGTH_AT)
        if length < SMALLEST_MESSAGE - LOG_OVERHEAD or length > data.size - at - LOG_OVERHEAD:
            break
        copy(heads, rows * CRC_START, data, at, CRC_START)
        at += LOG_OVERHEAD + length
        rows += 1
    return rows, at
