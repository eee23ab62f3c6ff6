"""The keys of the records from one offset up to another, in the order of their checksums.

A file of them is of no use to Kafka, which leaves it alone, and can be made again from the log: it is trusted only as
long as its own checksum matches and the log still has the records that it was made from.
"""

import struct
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from epoch.filesystem import FileSystem
from logstore.checksum import crc32c
from logstore.file_name import FileKind, file_name
from logstore.files.mapped_files import map_whole_file
from logstore.log.cursors.committed_position import CommittedPosition

_HEADER: Final = struct.Struct("<8sqqqqqq")
"""What it is, how many records, the first offset, `CommittedPosition` of the one behind the last, the last batch."""
_MAGIC: Final = b"keys-1\r\n"
_CHECKSUM: Final = struct.Struct("<I")
_ENTRY_BYTES: Final = 12
Offsets = NDArray[np.int64]
Checksums = NDArray[np.uint32]


class KeyRun:
    """Where keys are: of records from `first` up to `end.offset`, all that have one."""

    __slots__ = ("checksums", "end", "first", "last_batch", "offsets")

    def __init__(
        self, first: int, end: CommittedPosition, last_batch: int, checksums: memoryview, offsets: memoryview
    ) -> None:
        """Create a run of what is sorted by checksum, and by offset where checksums are equal."""
        self.first: int = first
        self.end: CommittedPosition = end
        self.last_batch: int = last_batch
        """What tells the batch before the end from any other that a log may have there; -1 where there is none."""
        self.checksums: memoryview = checksums
        """CRC-32C of each key."""
        self.offsets: memoryview = offsets

    def __len__(self) -> int:
        return len(self.checksums)

    @classmethod
    def of(cls, first: int, end: CommittedPosition, last_batch: int, checksums: Checksums, offsets: Offsets) -> Self:
        """Make a run of records in the order of their offsets."""
        order = np.argsort(checksums, kind="stable")
        return cls(first, end, last_batch, checksums[order].data, offsets[order].data)

    @classmethod
    def joined(cls, runs: Sequence[Self], log_start_offset: int) -> Self:
        """Make one of runs that follow each other, without what lies below the log's start."""
        checksums = np.concatenate([np.asarray(run.checksums) for run in runs])
        offsets = np.concatenate([np.asarray(run.offsets) for run in runs])
        kept = offsets >= log_start_offset
        return cls.of(runs[0].first, runs[-1].end, runs[-1].last_batch, checksums[kept], offsets[kept])

    def offsets_of(self, checksum: int) -> Iterator[int]:
        """Yield where keys with this checksum are, the latest first."""
        row = bisect_right(self.checksums, checksum) - 1
        while row >= 0 and self.checksums[row] == checksum:
            yield self.offsets[row]
            row -= 1

    # --- files

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read a file; None where its content is not what was written. Raises OSError."""
        data = map_whole_file(path)
        if len(data) < _HEADER.size + _CHECKSUM.size:
            return None
        magic, count, first, *end, last_batch = _HEADER.unpack_from(data)
        at = _HEADER.size
        if magic != _MAGIC or len(data) != at + count * _ENTRY_BYTES + _CHECKSUM.size:
            return None
        if _CHECKSUM.unpack_from(data, len(data) - _CHECKSUM.size)[0] != crc32c(data[: -_CHECKSUM.size]):
            return None
        offsets, checksums = data[at : at + 8 * count], data[at + 8 * count : -_CHECKSUM.size]
        return cls(first, CommittedPosition(*end), last_batch, checksums.cast("I"), offsets.cast("q"))

    def write(self, directory: Path, filesystem: FileSystem) -> None:
        """Write it to `directory`, in place of one that ends at the same offset. Raises OSError."""
        path = path_of(directory, self.end.offset)
        header = _HEADER.pack(_MAGIC, len(self), self.first, *self.end, self.last_batch)
        data = b"".join((header, self.offsets, self.checksums))
        filesystem.replace(path, data + _CHECKSUM.pack(crc32c(data)), path.with_name(f"{path.name}.tmp"))


def path_of(directory: Path, end_offset: int) -> Path:
    """Name the file of a run."""
    return directory / file_name(FileKind.KEY_INDEX, end_offset)
