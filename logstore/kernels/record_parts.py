"""Decode the records of one batch in parts: there may be millions, and as columns each takes 60 bytes."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import borrowed, kernel
from logstore.batch.batch_order import NO_OFFSET
from logstore.batch.columns import BatchColumns, RecordColumns
from logstore.kernels.bytes import Data
from logstore.kernels.data import read_only
from logstore.kernels.decode import (
    AHEAD,
    CHUNK_RECORDS,
    COUNT,
    FIELDS,
    LENGTH,
    OFFSET_ORDER,
    corrupt_record,
    decode_sections,
    fields,
    prefetch_record,
    record_bounds,
)
from logstore.kernels.record_checks import SOUND
from logstore.kernels.scan import SHORTEST_RECORD


def decode_parts(
    data: Data,
    batches: BatchColumns,
    row: int,
    start: int,
    end: int,
    *,
    records: int = CHUNK_RECORDS,
    in_order: bool = False,
) -> Iterator[RecordColumns]:
    """Decode the records of the batch in `row`, which lie in `data` from `start` to `end`, `records` of them at once.

    All are checked before the first are given, with `in_order` their offsets, too. Column `batch` and errors are as of
    `decode_sections`.
    """
    count = int(batches.record_count[row])
    parts = -(-min(count, (end - start) // SHORTEST_RECORD) // records)
    cuts = np.full(parts + 1, end, np.int64)
    reach = NO_OFFSET if batches.has_too_many[row] else int(batches.last_offset[row] - batches.base_offset[row])
    position, reason = cut_records(read_only(data), start, end, count, records, cuts, in_order, reach)
    if reason != SOUND:
        raise corrupt_record(batches, row, int(position), int(reason))
    for number, (first, last) in enumerate(pairwise(cuts)):
        some = np.array([min(records, count - number * records)], np.int32)
        yield decode_sections(data, batches, np.array([row]), np.array([first]), np.array([last]), some)


@kernel
def cut_records(
    data: Data,
    start: int,
    end: int,
    count: int,
    each: int,
    cuts: NDArray[np.int64],
    in_order: bool,
    reach: int,
) -> tuple[int, int]:
    """Walk over the `count` records from `start` to `end`, and note in `cuts` where each part of `each` begins.

    The position of the first faulty record, and the reason: with `in_order` also that an offset does not rise, or is
    more than `reach` from the batch's first. `cuts` must have as many rows as there are parts.
    """
    data = borrowed(data)
    if start < 0 or end > data.size or count < 0 or count > (end - start) // SHORTEST_RECORD:
        return start, COUNT
    position = start
    before = -1
    for number in range(count):
        if number % each == 0:
            cuts[number // each] = position
        prefetch_record(data, position + AHEAD)
        first, record_end = record_bounds(data, position, end)
        if record_end < 0:
            return position, COUNT if position == end else LENGTH
        _, offset_delta, _, _, _, _, _, _, sound = fields(data, first, record_end)
        if not sound:
            return position, FIELDS
        if in_order and (offset_delta <= before or offset_delta > reach):
            return position, OFFSET_ORDER
        before = offset_delta
        position = record_end
    return (position, SOUND) if position == end else (position, COUNT)
