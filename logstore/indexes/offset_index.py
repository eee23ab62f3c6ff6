"""A segment's `.index` file: where in the `.log` file to look for an offset (Kafka: OffsetIndex)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logstore.files.index_slots import OFFSET_SLOT, read_index, used_slots
from logstore.indexes.index_entry import OffsetIndexEntry

OFFSET_COLUMNS: Final[np.dtype[np.void]] = np.dtype([("relative_offset", ">i4"), ("position", ">i4")])
"""The fields of an entry in the file."""


@dataclass(frozen=True, slots=True, eq=False)
class OffsetIndex:
    """The entries as columns, in the file's order: ascending, unless the file is damaged.

    >>> OffsetIndex.parse(bytes.fromhex("000000630000100000000000" "00000000"), 500).entries
    [OffsetIndexEntry(last_offset=599, position=4096)]
    """

    base_offset: int
    last_offset: NDArray[np.int64]
    position: NDArray[np.int64]
    slots: int
    """Entries and the preallocated zeros after them."""
    odd_bytes: int
    """Bytes after the last whole slot; Kafka refuses an index that has any."""

    def __repr__(self) -> str:
        return f"OffsetIndex({len(self):,} entries, base_offset={self.base_offset})"

    @classmethod
    def read(cls, path: Path, base_offset: int) -> "OffsetIndex":
        """Read a whole index file. Raises OSError, and CorruptIndexError where it is larger than any index."""
        return cls.parse(read_index(path), base_offset, path)

    @classmethod
    def parse(cls, data: bytes | memoryview, base_offset: int, path: Path | None = None) -> "OffsetIndex":
        """Read an index file's bytes."""
        slots, odd_bytes = divmod(len(data), OFFSET_SLOT)
        used = np.frombuffer(used_slots(data, OFFSET_SLOT, path), OFFSET_COLUMNS)
        last_offset = used["relative_offset"].astype(np.int64) + base_offset
        return cls(base_offset, last_offset, used["position"].astype(np.int64), slots, odd_bytes)

    def __len__(self) -> int:
        return len(self.position)

    def __getitem__(self, number: int) -> OffsetIndexEntry:
        return OffsetIndexEntry(int(self.last_offset[number]), int(self.position[number]))

    @property
    def entries(self) -> list[OffsetIndexEntry]:
        """All entries."""
        return list(map(OffsetIndexEntry, self.last_offset.tolist(), self.position.tolist()))

    @property
    def zero_slots(self) -> int:
        """Slots after the last entry: preallocated, and trimmed when the segment is rolled or closed in order."""
        return self.slots - len(self)

    @property
    def first(self) -> OffsetIndexEntry | None:
        """The first entry."""
        return self[0] if len(self) else None

    @property
    def last(self) -> OffsetIndexEntry | None:
        """The last entry."""
        return self[-1] if len(self) else None

    def lookup(self, offset: int) -> OffsetIndexEntry:
        """Return the last entry at or below `offset`: reading from there finds it.

        Below the first entry that is the segment's beginning.
        """
        number = int(np.searchsorted(self.last_offset, offset, "right")) - 1
        return self[number] if number >= 0 else OffsetIndexEntry(self.base_offset, 0)
