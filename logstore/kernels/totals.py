"""What the batches of a chunk of columns amount to, in one look at each."""

import numpy as np
from numpy.typing import NDArray

from epoch.compiling.kernel import inlined, kernel
from logstore.batch.batch_attributes import CODEC_BITS, KNOWN_BITS, LAST_CODEC, TRANSACTIONAL_BIT
from logstore.batch.layout import MAGIC

Totals = tuple[int, int, int, int, int, int, int, int, int, int, int, int, int]


@kernel
def total_batches(
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
    crc_valid: NDArray[np.bool_],
) -> Totals:
    """Return the fields of `logstore.verify.batch_totals.BatchTotals`, in its order, of one row or more.

    The columns are equally long.
    """
    corrupt, records, breaks, epoch_changes, without_epoch = 0, 0, 0, 0, 0
    with_holes, contradictory, with_producer, transactional = 0, 0, 0, 0
    lowest_offset, highest_offset = base_offset[0], last_offset[0]
    earliest, latest = base_timestamp[0], max_timestamp[0]
    for row in range(base_offset.size):
        first, last, valid = base_offset[row], last_offset[row], crc_valid[row]
        offsets = last - first + 1
        corrupt += not valid
        records += int(np.int64(record_count[row]))
        lowest_offset, highest_offset = min(lowest_offset, first), max(highest_offset, last)
        earliest, latest = min(earliest, base_timestamp[row]), max(latest, max_timestamp[row])
        breaks += last < first or (row > 0 and first != last_offset[row - 1] + 1)
        epoch_changes += row > 0 and leader_epoch[row] != leader_epoch[row - 1]
        without_epoch += leader_epoch[row] < 0
        with_holes += valid and record_count[row] < offsets and not (magic[row] < MAGIC and record_count[row] == 0)
        with_producer += producer_id[row] >= 0
        transactional += (attributes[row] & TRANSACTIONAL_BIT) != 0
        if valid and magic[row] == MAGIC:
            contradictory += record_count[row] > offsets or is_contradictory(
                attributes[row], producer_id[row], producer_epoch[row], base_sequence[row]
            )
    return (
        corrupt,
        records,
        int(lowest_offset),
        int(highest_offset),
        int(earliest),
        int(latest),
        breaks,
        epoch_changes,
        without_epoch,
        with_holes,
        contradictory,
        with_producer,
        transactional,
    )


@inlined
def is_contradictory(attributes: int, producer_id: int, producer_epoch: int, base_sequence: int) -> bool:
    """Whether fields of a header of magic 2 contradict each other; `header_contradictions` says which and why."""
    if attributes & CODEC_BITS > LAST_CODEC or attributes & ~KNOWN_BITS:
        return True
    if producer_id >= 0:
        return producer_epoch < 0
    return attributes & TRANSACTIONAL_BIT != 0 or base_sequence > 0
