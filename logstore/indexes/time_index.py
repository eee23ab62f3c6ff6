"""A segment's `.timeindex` file: which offset to start at for a timestamp (KIP-33; Kafka: TimeIndex)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.batch.batch_attributes import NO_TIMESTAMP
from logstore.files.index_slots import TIME_SLOT, read_index, used_time_slots
from logstore.indexes.index_entry import TimeIndexEntry

TIME_COLUMNS: Final[np.dtype[np.void]] = np.dtype([("timestamp", ">i8"), ("relative_offset", ">i4")])
"""The fields of an entry in the file."""


@dataclass(frozen=True, slots=True, eq=False)
class TimeIndex:
    """The entries as columns, in the file's order: ascending in both, unless the file is damaged.

    >>> TimeIndex.parse(bytes.fromhex("0000018bcfe5688a" "0000008a"), 500).last
    TimeIndexEntry(timestamp=1700000000138, offset=638)
    """

    base_offset: int
    timestamp: NDArray[np.int64]
    offset: NDArray[np.int64]
    slots: int
    """Entries and the preallocated zeros after them."""
    odd_bytes: int
    """Bytes after the last whole slot; Kafka refuses an index that has any."""

    def __repr__(self) -> str:
        return f"TimeIndex({len(self):,} entries, base_offset={self.base_offset})"

    @classmethod
    def read(cls, path: Path, base_offset: int) -> "TimeIndex":
        """Read a whole index file. Raises OSError, and CorruptIndexError where it is larger than any index."""
        return cls.parse(read_index(path), base_offset, path)

    @classmethod
    def parse(cls, data: bytes | memoryview, base_offset: int, path: Path | None = None) -> "TimeIndex":
        """Read an index file's bytes."""
        slots, odd_bytes = divmod(len(data), TIME_SLOT)
        used = np.frombuffer(used_time_slots(data, path), TIME_COLUMNS)
        offset = used["relative_offset"].astype(np.int64) + base_offset
        return cls(base_offset, used["timestamp"].astype(np.int64), offset, slots, odd_bytes)

    def __len__(self) -> int:
        return len(self.timestamp)

    def __getitem__(self, number: int) -> TimeIndexEntry:
        return TimeIndexEntry(int(self.timestamp[number]), int(self.offset[number]))

    @property
    def entries(self) -> list[TimeIndexEntry]:
        """All entries."""
        return list(map(TimeIndexEntry, self.timestamp.tolist(), self.offset.tolist()))

    @property
    def zero_slots(self) -> int:
        """Slots after the last entry: preallocated, and trimmed when the segment is rolled or closed in order."""
        return self.slots - len(self)

    @property
    def first(self) -> TimeIndexEntry | None:
        """The first entry."""
        return self[0] if len(self) else None

    @property
    def last(self) -> TimeIndexEntry | None:
        """The last entry."""
        return self[-1] if len(self) else None

    def lookup(self, timestamp: int) -> TimeIndexEntry:
        """Return the last entry at or before `timestamp`: the first later record comes after it.

        Before the first entry that is the segment's beginning, with timestamp -1.
        """
        number = int(np.searchsorted(self.timestamp, timestamp, "right")) - 1
        return self[number] if number >= 0 else TimeIndexEntry(NO_TIMESTAMP, self.base_offset)
