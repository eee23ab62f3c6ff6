"""Batches as rows of a table: read from a log, or made of stretches of offsets that stand for batches."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CONTROL_BIT, DELETE_HORIZON_BIT, NO_TIMESTAMP, TIMESTAMP_TYPE_BIT
from logstore.batch.columns import BatchColumns
from replication.copies.audit.copy_summary import OffsetRange, merged

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
        ("min_timestamp", np.int64),
        ("max_timestamp", np.int64),
        ("position", np.int64),
        ("segment", np.int32),
        ("is_control", np.bool_),
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
    for name in (*COMPARED, "max_timestamp", "position"):
        rows[name] = getattr(columns, name)[chosen]
    rows["min_timestamp"] = _min_timestamps(columns)[chosen]
    rows["is_control"] = (columns.attributes & CONTROL_BIT != 0)[chosen]
    rows["is_sound"] = columns.crc_valid[chosen]
    rows["is_corrupt"] = ~rows["is_sound"]
    return rows


def _min_timestamps(columns: BatchColumns) -> NDArray[np.int64]:
    """Return since when the records of each batch are, as far as its header shows.

    The base timestamp is that of the first record only where the producer's times hold and no delete horizon took its
    place (KIP-32, KIP-534).
    """
    elsewhere = columns.attributes & (TIMESTAMP_TYPE_BIT | DELETE_HORIZON_BIT) != 0
    return np.where(elsewhere, columns.max_timestamp, columns.base_timestamp)


def rows_of_ranges(epoch: int, ranges: Sequence[OffsetRange]) -> Batches:
    """Return rows of stretches of offsets, each of which counts for one record."""
    rows = np.zeros(len(ranges), ROW)
    rows["leader_epoch"] = epoch
    rows["base_offset"] = [each.first for each in ranges]
    rows["last_offset"] = [each.last for each in ranges]
    rows["record_count"] = np.minimum(rows["last_offset"] - rows["base_offset"] + 1, np.iinfo(np.int32).max)
    rows["min_timestamp"] = rows["max_timestamp"] = NO_TIMESTAMP
    return rows


def times_of(rows: Batches) -> list[int]:
    """Return the earliest and the latest time of the batches, in milliseconds since 1970 UTC; nothing without any."""
    times: NDArray[np.int64] = np.concatenate([rows["min_timestamp"], rows["max_timestamp"]])
    known = times[times > NO_TIMESTAMP]
    return [int(known.min()), int(known.max())] if len(known) else []


def ranges_of(rows: Batches) -> list[OffsetRange]:
    """Return the offsets that batches reach over."""
    ends = zip(rows["base_offset"].tolist(), rows["last_offset"].tolist(), strict=True)
    return merged([OffsetRange(first, last) for first, last in ends if first <= last])
