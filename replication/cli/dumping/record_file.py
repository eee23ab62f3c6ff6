"""Writes the records of log files to a Parquet file, of which there is nothing until it is whole."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from epoch.base.resource_limits import ResourceLimitError
from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.offline.columns.arrow_records import RECORDS
from logstore.offline.columns.masked_rows import masked_rows
from logstore.offline.log_file import LogFile
from logstore.offline.offline_log_directory import OfflineLogDirectory, open_offline
from logstore.text.record_mask import RecordMask
from replication.base.new_target import new_target
from replication.cli.dumping.offset_range import END, OffsetRange
from replication.cli.output.failure import CommandError
from replication.cli.output.printing import Advance, complain, told

_BYTES_AT_ONCE: Final = 64 << 20
"""Of one row group, which is what readers of Parquet take at once."""
_LAST: Final = 2**63 - 1
_LOGS: Final = frozenset(f".{kind.value}" for kind in (FileKind.LOG, FileKind.METADATA_SNAPSHOT))


class RecordFileError(CommandError):
    """The file is not written, as what stands in its place or what is named is not fit for it."""


class RecordFile:
    """A file of records that is being written."""

    def __init__(self, writer: pq.ParquetWriter, offsets: OffsetRange, mask: RecordMask | None) -> None:
        self._writer = writer
        self._mask = mask
        self._start = min(max(offsets.start, 0), _LAST)
        self._end = None if offsets.stop == END else min(offsets.stop, _LAST)
        self.records = 0
        """Written so far."""
        self.found_damage = False
        """Whether records are missing."""

    def add(self, path: Path, progress: Advance = lambda _amount, /: None) -> None:
        """Write the records of a log file, or of all those of a partition, each up to the first damage in it.

        `progress` is called with the bytes of each file.
        """
        for file in log_files(path):
            try:
                with LogFile.open(file) as log:
                    self._write(log.arrow_batches(self._start, self._end))
            except ResourceLimitError:
                raise
            except LogStoreError as error:
                self.found_damage = True
                complain(told(error))
            else:
                progress(file.stat().st_size)

    def _write(self, batches: Iterable[pa.RecordBatch]) -> None:
        waiting: list[pa.RecordBatch] = []
        size = 0
        try:
            for batch in batches:
                waiting.append(batch if self._mask is None else masked_rows(batch, self._mask))
                size += batch.nbytes
                if size >= _BYTES_AT_ONCE:
                    self._write_group(waiting)
                    waiting, size = [], 0
        finally:
            self._write_group(waiting)  # what lies before damage

    def _write_group(self, batches: list[pa.RecordBatch]) -> None:
        table = pa.Table.from_batches(batches, RECORDS)
        if table.num_rows:
            self._writer.write_table(table, row_group_size=table.num_rows)
            self.records += table.num_rows


@contextmanager
def record_file(path: Path, offsets: OffsetRange, mask: RecordMask | None = None) -> Iterator[RecordFile]:
    """Begin a file that takes its name once all is written, with contents as the mask leaves them.

    Raises RecordFileError where it exists or the disk is full, and OSError.
    """
    ensure_new(path)
    with new_target(path, "a file", _refused) as part, open(part, "xb") as file:
        with pq.ParquetWriter(file, RECORDS, compression="zstd") as writer:
            yield RecordFile(writer, offsets, mask)
        file.flush()
        os.fsync(file.fileno())


def _refused(path: Path, reason: str) -> RecordFileError:
    return RecordFileError(f"{path}: {reason}")


def ensure_new(path: Path) -> None:
    """Raise RecordFileError where something has this name."""
    if os.path.lexists(path):
        raise RecordFileError(f"{path} exists; name a file that does not exist yet")


def log_files(path: Path) -> list[Path]:
    """Return a log file itself, or those of a partition's directory in order. Raises RecordFileError and OSError."""
    if not path.is_dir():
        if path.suffix not in _LOGS:
            raise RecordFileError(f"{path} is no log file; name one that ends with {' or '.join(sorted(_LOGS))}")
        return [path]
    directory = open_offline(path)
    if isinstance(directory, OfflineLogDirectory):
        raise RecordFileError(f"{path} has many partitions; name the directory of one, or log files")
    return [segment.log_path for segment in directory.segments]
