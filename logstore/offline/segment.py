"""One segment of a log: its `.log` file and the indexes beside it (Kafka: LogSegment)."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from logstore.file_name import FileKind
from logstore.indexes.transaction_index import TransactionIndex
from logstore.offline.log_file import LogFile

if TYPE_CHECKING:
    from logstore.indexes.offset_index import OffsetIndex
    from logstore.indexes.time_index import TimeIndex


@dataclass(frozen=True, slots=True)
class Segment:
    """The files of one segment, each opened on demand. Indexes are None where their file is missing."""

    base_offset: int
    files: dict[FileKind, Path]
    is_file: bool = True
    """Whether the `.log` is a regular file, or leads to one: what is not, such as a pipe, may not be opened."""

    @property
    def log_path(self) -> Path:
        """Where the records are."""
        return self.files[FileKind.LOG]

    @property
    def size(self) -> int:
        """Bytes of the `.log` file now."""
        return self.log_path.stat().st_size

    def open_log(self) -> LogFile:
        """Map the `.log` file."""
        return LogFile.open(self.log_path)

    def offset_index(self) -> "OffsetIndex | None":
        """Read the `.index` file."""
        from logstore.indexes.offset_index import OffsetIndex  # noqa: PLC0415  NumPy loads with the first index

        path = self.files.get(FileKind.OFFSET_INDEX)
        return OffsetIndex.read(path, self.base_offset) if path else None

    def time_index(self) -> "TimeIndex | None":
        """Read the `.timeindex` file."""
        from logstore.indexes.time_index import TimeIndex  # noqa: PLC0415  NumPy loads with the first index

        path = self.files.get(FileKind.TIME_INDEX)
        return TimeIndex.read(path, self.base_offset) if path else None

    def transaction_index(self) -> TransactionIndex | None:
        """Read the `.txnindex` file."""
        path = self.files.get(FileKind.TRANSACTION_INDEX)
        return TransactionIndex.read(path) if path else None
