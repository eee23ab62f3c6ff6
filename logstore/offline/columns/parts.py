"""Divides records into parts whose bytes are gathered at once."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import RecordColumns
from logstore.kernels.gather import measure_headers

BYTES_AT_ONCE: Final = 16 << 20
"""Of keys, values and headers that are gathered at once, unless one record has more."""
A_HEADER: Final = 10
"""Bytes that a header takes beside those of its key and value."""


def parts_of(records: RecordColumns) -> Iterator[tuple[int, int]]:
    """Divide records so that the bytes of each part stay within bounds."""
    total = np.cumsum(_sizes(records))
    first = 0
    while first < len(records):
        before = int(total[first - 1]) if first else 0
        last = max(int(np.searchsorted(total, before + BYTES_AT_ONCE, "right")), first + 1)
        yield first, last
        first = last


def _sizes(records: RecordColumns) -> NDArray[np.int64]:
    sizes = np.maximum(records.key_length, 0).astype(np.int64) + np.maximum(records.value_length, 0)
    if records.header_count.any():
        sizes += sum(measure_headers(records.data, records.headers_start, records.header_count))
        sizes += A_HEADER * records.header_count.astype(np.int64)
    return sizes
