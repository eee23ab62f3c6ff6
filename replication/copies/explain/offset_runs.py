"""Runs of offsets that follow each other and are of one kind: what is kept of a log's headers."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.columns import BatchColumns
from logstore.batch.layout import MAGIC
from replication.copies.explain.table_rows import chosen, stacked, taken

PLAIN: Final = 0
TRANSACTIONAL: Final = 1
CONTROL: Final = 2

RUN: Final = np.dtype(
    [
        ("first", np.int64),
        ("last", np.int64),
        ("kind", np.int8),
        ("producer", np.int64),  # of transactions; -1 otherwise
        ("epoch", np.int32),
        ("file", np.int32),
        ("position", np.int64),  # of the first batch
        ("is_unreadable", np.bool_),
    ]
)
Runs = NDArray[np.void]
"""Rows of RUN, by offset; none overlaps another."""


def kinds_of(columns: BatchColumns) -> NDArray[np.int8]:
    """Return of each batch what kind of run it belongs to."""
    is_new = columns.magic == MAGIC
    kinds = np.where(is_new & (columns.attributes & TRANSACTIONAL_BIT != 0), TRANSACTIONAL, PLAIN).astype(np.int8)
    kinds[is_new & (columns.attributes & CONTROL_BIT != 0)] = CONTROL
    return kinds


def runs_of(columns: BatchColumns, file: int, cuts: NDArray[np.int64]) -> Runs:
    """Put batches without holes together, which are in order; a run begins with each batch that holds one of `cuts`."""
    kinds = kinds_of(columns)
    producers = np.where(kinds == TRANSACTIONAL, columns.producer_id, -1)
    rows = np.arange(len(columns))
    return _grouped(columns.base_offset, columns.last_offset, kinds, producers, columns, rows, file, cuts)


def runs_of_unreadable(first: NDArray[np.int64], columns: BatchColumns, file: int) -> Runs:
    """Make a run of each batch, which begins at `first`."""
    runs = np.empty(len(columns), RUN)
    kinds = kinds_of(columns)
    runs["first"], runs["last"], runs["kind"] = first, columns.last_offset, kinds
    runs["producer"] = np.where(kinds == TRANSACTIONAL, columns.producer_id, -1)
    runs["epoch"], runs["position"], runs["file"] = columns.leader_epoch, columns.position, file
    runs["is_unreadable"] = True
    return runs


def runs_of_records(
    offsets: NDArray[np.int64],
    batch: NDArray[np.int64],
    columns: BatchColumns,
    file: int,
    cuts: NDArray[np.int64],
) -> Runs:
    """Put records together, of batches that have holes; `batch` is each one's row in `columns`."""
    kinds = kinds_of(columns)[batch]
    producers = np.where(kinds == TRANSACTIONAL, columns.producer_id[batch], -1)
    return _grouped(offsets, offsets, kinds, producers, columns, batch, file, cuts)


def joined(parts: Sequence[Runs]) -> Runs:
    """Return all runs, by offset."""
    runs = stacked(parts, RUN)
    if (runs["first"][1:] >= runs["first"][:-1]).all():
        return runs
    return taken(runs, np.argsort(runs["first"], kind="stable"))


def clipped(runs: Runs, start: int, end: int) -> Runs:
    """Return what of the runs is at `start` or beyond, and below `end`."""
    inside = chosen(runs, (runs["last"] >= start) & (runs["first"] < end) & (start < end))
    inside["first"] = np.maximum(inside["first"], start)
    inside["last"] = np.minimum(inside["last"], end - 1)
    return inside


def _grouped(
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    kinds: NDArray[np.int8],
    producers: NDArray[np.int64],
    columns: BatchColumns,
    rows: NDArray[np.int64],
    file: int,
    cuts: NDArray[np.int64],
) -> Runs:
    if not len(first):
        return np.empty(0, RUN)
    begins = np.ones(len(first), np.bool_)
    begins[1:] = (first[1:] != last[:-1] + 1) | (kinds[1:] != kinds[:-1]) | (producers[1:] != producers[:-1])
    epochs = columns.leader_epoch[rows]
    begins[1:] |= epochs[1:] != epochs[:-1]
    inside = slice(*np.searchsorted(cuts, (first[0] + 1, last[-1] + 1)))
    begins[np.searchsorted(last, cuts[inside])] = True
    starts = np.flatnonzero(begins)
    ends = np.append(starts[1:], len(first)) - 1
    runs = np.empty(len(starts), RUN)
    runs["first"], runs["last"] = first[starts], last[ends]
    runs["kind"], runs["producer"] = kinds[starts], producers[starts]
    runs["epoch"], runs["position"] = epochs[starts], columns.position[rows[starts]]
    runs["file"], runs["is_unreadable"] = file, False
    return runs
