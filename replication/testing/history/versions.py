"""Which record each read saw, where records lie, and how far readers came: what all checks need."""

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.shown_text import shown
from replication.testing.errors import HistoryError
from replication.testing.history.history import FAILED, NONE, OK, Column, History

Mask = NDArray[np.bool_]


class Versions:
    """The records of a history as they were sent and read. Raises HistoryError where a value was sent twice."""

    def __init__(self, history: History) -> None:
        self.history: Final = history
        sent, polled = history.sent, history.polled
        row_by_value = first_rows(sent.value, len(history.values))
        self._ensure_distinct(row_by_value)
        self.sender: Final[Column] = row_by_value[polled.value]
        """By read: the row of what was sent, or -1."""
        self.reader: Final[Column] = first_rows(polled.value, len(history.values))[sent.value]
        """By sent record: the row of the first read that saw it, or -1."""
        self.may_count: Final[Mask] = history.outcome != FAILED
        """By operation: it did not fail."""
        self.acknowledged: Final[Mask] = (history.outcome[sent.operation] == OK) & (sent.offset >= 0)
        """By sent record."""

    def _ensure_distinct(self, row_by_value: Column) -> None:
        sent, values = self.history.sent, self.history.values
        again = np.flatnonzero(row_by_value[sent.value] != np.arange(len(sent)))
        if not len(again):
            return
        row = again[0]
        partition = shown(self.history.partitions[sent.partition[row]])
        first, second = (f"{sent.operation[each] + 1:,}" for each in (row_by_value[sent.value[row]], row))
        raise HistoryError(
            f"{values[sent.value[row]]!r} was sent to {partition} twice, by operations {first} and {second}: what is "
            "read must say which of them it is, so give each record a value of its own"
        )

    @cached_property
    def offset(self) -> Column:
        """By sent record: its offset as the answer said or as the first reader saw it, or -1."""
        sent = self.history.sent
        return np.where(sent.offset >= 0, sent.offset, entries(self.history.polled.offset, self.reader))

    @cached_property
    def furthest(self) -> Column:
        """By partition: the first read at the highest offset that was read, or -1."""
        polled = self.history.polled
        highest = np.full(len(self.history.partitions), NONE)
        if len(polled):
            np.maximum.at(highest, polled.run_partition, np.maximum.reduceat(polled.offset, polled.run_start))
        rows = np.flatnonzero(polled.offset == highest[polled.partition])
        return entries(rows, first_rows(polled.partition[rows], len(highest)))

    @cached_property
    def passed(self) -> Mask:
        """By sent record: nobody read it, and somebody read what lies behind it."""
        sent = self.history.sent
        highest = entries(self.history.polled.offset, self.furthest)[sent.partition]
        passed: Mask = (self.reader == NONE) & (sent.offset >= 0) & (sent.offset < highest)
        return passed

    def readers(self, rows: Column) -> Column:
        """Return the operations that reads belong to, -1 where there is none."""
        return entries(self.history.polled.operation, rows)


def entries(column: Column, rows: Column) -> Column:
    """Return the entries of some rows, -1 for the row -1."""
    return np.append(column, NONE)[rows]


def first_rows(numbers: Column, count: int) -> Column:
    """Return the first row of each number below `count`, or -1."""
    first = np.full(count, NONE)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    return first


def places(partition: Column, offset: Column) -> Column:
    """Return a number for each place in a partition, in the places' order: a small one where offsets are close."""
    if not len(offset):
        return np.empty(0, dtype=np.int64)
    count = int(partition.max()) + 1
    least, most = np.full(count, np.iinfo(np.int64).max), np.full(count, NONE)
    np.minimum.at(least, partition, offset)
    np.maximum.at(most, partition, offset)
    spans = np.where(most >= least, most - least, NONE)
    if (spans.astype(np.float64) + 1).sum() < 8 * len(offset) + 1_000:
        widths = spans + 1
        found: Column = (np.cumsum(widths) - widths - least)[partition] + offset
        return found
    order = np.lexsort((offset, partition))
    differs = np.diff(offset[order], prepend=NONE) != 0
    differs |= np.diff(partition[order], prepend=NONE) != 0
    ranks = np.empty(len(offset), dtype=np.int64)
    ranks[order] = np.cumsum(differs) - 1
    return ranks
