"""Batches as rows of a table: read from a log, or made of stretches of offsets that stand for batches."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.batch.columns import BatchColumns
from replication.audit.copy_summary import OffsetRange, merged

COMPARED: Final = ("base_offset", "last_offset", "leader_epoch", "size", "magic", "crc", "record_count")
"""What makes two batches the same, as the digests have it."""
ROW = np.dtype(
    [
        ("base_offset", np.int64),
        ("last_offset", np.int64),
        ("leader_epoch", np.int32),
        ("size", np.int64),
        ("magic", np.int8),
        ("crc", np.uint32),
        ("record_count", np.int32),
        ("base_timestamp", np.int64),
        ("max_timestamp", np.int64),
        ("position", np.int64),
        ("segment", np.int32),
        ("is_sound", np.bool_),
        ("is_corrupt", np.bool_),
    ]
)
"""One batch; `segment` is a number in the copy's list of segments. Sound is what its header can be believed to say.

Corrupt is what fails its checksum; the leader epoch, which no checksum covers, can be believed all the same.
"""

Batches = NDArray[np.void]


def rows_of_batches(columns: BatchColumns, chosen: slice | NDArray[np.int64] = slice(None)) -> Batches:
    """Return those batches that are chosen, all of segment 0; their checksums say what is sound."""
    rows = np.zeros(len(columns.crc_valid[chosen]), ROW)
    for name in (*COMPARED, "base_timestamp", "max_timestamp", "position"):
        rows[name] = getattr(columns, name)[chosen]
    rows["is_sound"] = columns.crc_valid[chosen]
    rows["is_corrupt"] = ~rows["is_sound"]
    return rows


def rows_of_ranges(epoch: int, ranges: Sequence[OffsetRange]) -> Batches:
    """Return rows of stretches of offsets, each of which counts for one record."""
    rows = np.zeros(len(ranges), ROW)
    rows["leader_epoch"] = epoch
    rows["base_offset"] = [each.first for each in ranges]
    rows["last_offset"] = [each.last for each in ranges]
    rows["record_count"] = np.minimum(rows["last_offset"] - rows["base_offset"] + 1, np.iinfo(np.int32).max)
    rows["base_timestamp"] = rows["max_timestamp"] = NO_TIMESTAMP
    return rows


def ranges_of(rows: Batches) -> list[OffsetRange]:
    """Return the offsets that batches reach over."""
    ends = zip(rows["base_offset"].tolist(), rows["last_offset"].tolist(), strict=True)
    return merged([OffsetRange(first, last) for first, last in ends if first <= last])
