"""Keys by number, and their last writes, as columns: thousands are compared at once."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.columns import RecordColumns
from logstore.kernels.gather import gather
from logstore.offline.columns.column_reader import Chunk
from replication.copies.salvage.conflict import MOST_OF_VALUE, KeyWrite

NOWHERE: Final = -1
"""The offset of a key that was not written, and the size of a value that is null."""

Numbers = NDArray[np.int64]
"""Of keys, a row a record."""
Rows = NDArray[np.int64]


class KeyNames:
    """Keys, each by its number."""

    def __init__(self, count: int) -> None:
        self._starts = np.zeros(count, np.int64)
        self._lengths = np.full(count, NOWHERE, np.int32)
        self._data = np.empty(0, np.uint8)
        self._size = 0

    def __getitem__(self, number: int) -> bytes:
        start = int(self._starts[number])
        return self._data[start : start + int(self._lengths[number])].tobytes()

    def agree(self, numbers: Numbers, records: RecordColumns) -> bool:
        """Learn the keys of numbers that are new, and return whether all records have the key of their number."""
        new = np.flatnonzero(self._lengths[numbers] == NOWHERE)
        if len(new):
            first = new[np.unique(numbers[new], return_index=True)[1]]
            self._learn(numbers[first], records.take(first))
        lengths = records.key_length
        if not np.array_equal(self._lengths[numbers], lengths):
            return False
        known = gather(self._data, self._starts[numbers], lengths).values
        return np.array_equal(gather(records.data, records.key_start, lengths).values, known)

    def _learn(self, numbers: Numbers, records: RecordColumns) -> None:
        ends, values = gather(records.data, records.key_start, records.key_length)
        if self._size + len(values) > len(self._data):
            larger = np.empty(max(2 * len(self._data), self._size + len(values)), np.uint8)
            larger[: self._size] = self._data[: self._size]
            self._data = larger
        self._data[self._size : self._size + len(values)] = values
        self._starts[numbers] = self._size + ends[:-1]
        self._lengths[numbers] = records.key_length
        self._size += len(values)


class KeyTable:
    """The last write of each key in one copy, by the key's number."""

    def __init__(self, source: str, count: int) -> None:
        self.source = source
        self.offset: NDArray[np.int64] = np.full(count, NOWHERE, np.int64)
        """NOWHERE without a write."""
        self.leader_epoch: NDArray[np.int32] = np.zeros(count, np.int32)
        self.timestamp: NDArray[np.int64] = np.zeros(count, np.int64)
        self._size = np.zeros(count, np.int32)
        self._heads = np.zeros((count, MOST_OF_VALUE), np.uint8)

    def note(self, numbers: Numbers, chunk: Chunk, rows: Rows) -> None:
        """Note the writes in some rows, each later than those before it."""
        last = len(numbers) - 1 - np.unique(numbers[::-1], return_index=True)[1]
        numbers, records = numbers[last], chunk.records.take(rows[last])
        self.offset[numbers] = records.offset
        self.leader_epoch[numbers] = chunk.batches.leader_epoch[records.batch]
        self.timestamp[numbers] = records.timestamp
        self._size[numbers] = records.value_length
        ends, values = gather(records.data, records.value_start, np.minimum(records.value_length, MOST_OF_VALUE))
        lengths = np.diff(ends)
        row = np.repeat(numbers, lengths)
        self._heads[row, np.arange(len(values)) - np.repeat(ends[:-1], lengths)] = values

    def write_of(self, number: int) -> KeyWrite:
        """Make an object of a key's last write."""
        size = int(self._size[number])
        head = None if size == NOWHERE else self._heads[number, : min(size, MOST_OF_VALUE)].tobytes()
        place = int(self.leader_epoch[number]), int(self.offset[number]), int(self.timestamp[number])
        return KeyWrite(self.source, *place, head, None if size == NOWHERE else size)
