"""Where epochs end, for many partitions or many epochs in one call: columns in, columns out."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from epoch.compiling.kernel import kernel
from epoch.entry import UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from epoch.history import EpochHistory


class EndOffsets(NamedTuple):
    """Many `EndOffset`s as two int64 columns."""

    epochs: NDArray[np.int64]
    end_offsets: NDArray[np.int64]


class EpochTable:
    """The histories of many partitions side by side, as they were when the table was made.

    >>> table = EpochTable([EpochHistory([(0, 0), (3, 50)]), EpochHistory([(1, 0)])])
    >>> table.end_offsets_for(partitions=[0, 1], epochs=[1, 1], log_end_offsets=[80, 20])
    EndOffsets(epochs=array([0, 1]), end_offsets=array([50, 20]))

    An epoch is found through its partition's buckets: equal ranges of epochs, about two for each entry, that know
    the entries they begin and end in. Where epochs are dense a bucket holds one epoch and the answer is one look-up;
    elsewhere the few entries of a bucket are searched.
    """

    def __init__(self, histories: Iterable[EpochHistory]) -> None:
        columns = [history.columns for history in histories]
        rows = sum(len(epochs) for epochs, _ in columns)
        # One flat array each: partition p has the rows from self._rows[p] up to self._rows[p + 1].
        self._rows = _ends([len(epochs) for epochs, _ in columns])
        self._epochs = np.fromiter((epoch for epochs, _ in columns for epoch in epochs), np.int32, rows)
        self._starts = np.fromiter((start for _, starts in columns for start in starts), np.int64, rows)
        self._shifts = np.zeros(len(columns), np.int64)
        sizes = np.zeros(len(columns), np.int64)
        size_buckets(self._rows, self._epochs, self._shifts, sizes)
        self._first_buckets = _ends(sizes)
        self._buckets = np.zeros(self._first_buckets[-1], np.int64)
        fill_buckets(self._rows, self._epochs, self._shifts, self._first_buckets, self._buckets)

    def __len__(self) -> int:
        """Count the partitions."""
        return len(self._rows) - 1

    def end_offsets_for(self, partitions: ArrayLike, epochs: ArrayLike, log_end_offsets: ArrayLike) -> EndOffsets:
        """Answer an OffsetForLeaderEpoch request: `EpochHistory.end_offset_for`, row by row.

        Each argument is a column or a single number, which then holds for every row: many epochs of one partition
        are `end_offsets_for(0, epochs, log_end_offset)`. `partitions` are positions in the list of histories.
        Raises IndexError if there is no history at a position.
        """
        asked = [np.asarray(column, np.int64) for column in (partitions, epochs, log_end_offsets)]
        shape = np.broadcast_shapes(*(column.shape for column in asked))
        asked_partitions, asked_epochs, ends = (_flat(column, shape) for column in asked)
        rows = prod(shape)
        answer = EndOffsets(np.empty(rows, np.int64), np.empty(rows, np.int64))
        bad = find_end_offsets(
            self._rows, self._epochs, self._starts, self._shifts, self._first_buckets, self._buckets,
            asked_partitions, asked_epochs, ends, answer.epochs, answer.end_offsets,
        )  # fmt: skip
        if bad >= 0:
            partition = np.broadcast_to(asked_partitions, rows)[bad]
            raise IndexError(f"row {bad} asks for partition {partition} of {len(self)}")
        return EndOffsets(*(column.reshape(shape) for column in answer))


def _flat(column: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Lay out a column row after row; a single number stays one."""
    return np.ascontiguousarray(column if column.size == 1 else np.broadcast_to(column, shape)).reshape(-1)


def _ends(sizes: ArrayLike) -> NDArray[np.int64]:
    """Return where each of consecutive runs starts, and where the last one ends."""
    ends: NDArray[np.int64] = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    return ends


@kernel
def size_buckets(
    rows: NDArray[np.int64], epochs: NDArray[np.int32], shifts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> None:
    """Choose, for each partition, the power of two of epochs in a bucket, and count its buckets."""
    for partition in range(len(shifts)):
        first, end = rows[partition], rows[partition + 1]
        if end - first < 2:
            continue
        span = np.int64(epochs[end - 1]) - np.int64(epochs[first])
        shift = 0
        while span >> shift > 2 * (end - first):
            shift += 1
        shifts[partition] = shift
        sizes[partition] = (span >> shift) + 2


@kernel
def fill_buckets(
    rows: NDArray[np.int64],
    epochs: NDArray[np.int32],
    shifts: NDArray[np.int64],
    first_buckets: NDArray[np.int64],
    buckets: NDArray[np.int64],
) -> None:
    """Note for each bucket the row that its first epoch belongs to; one bucket more marks the end."""
    for partition in range(len(shifts)):
        row, last = rows[partition], rows[partition + 1] - 1
        if last <= row:
            continue
        lowest = np.int64(epochs[row])
        first_bucket = first_buckets[partition]
        for bucket in range(first_buckets[partition + 1] - first_bucket):
            while row < last and np.int64(epochs[row + 1]) - lowest <= bucket << shifts[partition]:
                row += 1
            buckets[first_bucket + bucket] = row


@kernel
def find_end_offsets(
    rows: NDArray[np.int64],
    epochs: NDArray[np.int32],
    starts: NDArray[np.int64],
    shifts: NDArray[np.int64],
    first_buckets: NDArray[np.int64],
    buckets: NDArray[np.int64],
    asked_partitions: NDArray[np.int64],
    asked_epochs: NDArray[np.int64],
    log_end_offsets: NDArray[np.int64],
    answer_epochs: NDArray[np.int64],
    answer_ends: NDArray[np.int64],
) -> int:
    """Fill in the answers; return the row that names no partition of the table, or -1.

    What is asked in all rows is a column of one number.
    """
    next_partition, next_epoch, next_end = asked_partitions.size > 1, asked_epochs.size > 1, log_end_offsets.size > 1
    for ask in range(answer_epochs.size):
        partition, asked = asked_partitions[ask * next_partition], asked_epochs[ask * next_epoch]
        if partition < 0 or partition >= len(shifts):
            return ask
        first, last = rows[partition], rows[partition + 1] - 1
        if last < first or asked == UNDEFINED_EPOCH or asked > epochs[last]:
            answer_epochs[ask], answer_ends[ask] = UNDEFINED_EPOCH, UNDEFINED_EPOCH_OFFSET
        elif asked == epochs[last]:
            answer_epochs[ask], answer_ends[ask] = asked, log_end_offsets[ask * next_end]
        elif asked < epochs[first]:
            answer_epochs[ask], answer_ends[ask] = asked, starts[first]
        else:
            bucket = first_buckets[partition] + ((asked - epochs[first]) >> shifts[partition])
            low, high = buckets[bucket], buckets[bucket + 1]
            while low < high:
                middle = (low + high + 1) >> 1
                if epochs[middle] <= asked:
                    low = middle
                else:
                    high = middle - 1
            answer_epochs[ask], answer_ends[ask] = epochs[low], starts[low + 1]
    return -1
