"""The sound batches of a log next to an offset, by their headers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from epoch.history import MAX_OFFSET
from logstore.batch.columns import BatchColumns
from logstore.errors import CorruptMetadataError
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata, format_uuid
from logstore.offline.log_file import LogFile
from logstore.verify.log_pieces import DamagedBytes, read_pieces
from replication.copies.audit.copy_summary import SegmentExtent
from replication.copies.audit.log_rows.conditions.condition import Compare
from replication.copies.audit.log_rows.index_bounds import byte_bounds, index_files
from replication.copies.audit.log_rows.selection import Selection
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy


class Head(NamedTuple):
    """What the header of a batch says of its place."""

    base_offset: int
    last_offset: int
    leader_epoch: int


@dataclass(frozen=True, slots=True)
class LogHeads:
    """A log's batches, as far as its files were listed."""

    directory: Path
    segments: Sequence[SegmentExtent]
    fetch: Callable[[Path, int], object]
    """Called with the file of a segment that is not there yet, and its size."""

    @property
    def begin(self) -> int | None:
        """The first offset that the log may have; None without a segment."""
        return self.segments[0].base_offset if self.segments else None

    @property
    def topic_id(self) -> str | None:
        """The topic's id as Kafka writes it; None where the copy has none that can be understood. Raises OSError."""
        with suppress(CorruptMetadataError):
            metadata = PartitionMetadata.of(self.directory)
            return format_uuid(metadata.topic_id) if metadata else None
        return None

    def before(self, offset: int) -> Head | None:
        """Return the last batch that begins below an offset. Raises OSError."""
        for segment in reversed(self.segments):
            if segment.base_offset >= offset:
                continue
            last = None
            for columns in self._pieces(segment, max(offset - 1, 0)):
                rows = np.flatnonzero(columns.base_offset < offset)
                last = _head(columns, int(rows[-1])) if len(rows) else last
            if last is not None:
                return last
        return None

    def after(self, offset: int) -> Head | None:
        """Return the first batch that begins at an offset or above. Raises OSError."""
        ends = [*(following.base_offset for _, following in pairwise(self.segments)), MAX_OFFSET]
        for segment, end in zip(self.segments, ends, strict=True):
            for columns in self._pieces(segment, offset) if end > offset else ():
                rows = np.flatnonzero(columns.base_offset >= offset)
                if len(rows):
                    return _head(columns, int(rows[0]))
        return None

    def downwards(self, offset: int) -> Iterator[Head]:
        """Give the batches that begin below an offset, the last one first. Raises OSError."""
        for segment in reversed(self.segments):
            for columns in reversed([*self._pieces(segment, 0)] if segment.base_offset < offset else ()):
                yield from (_head(columns, int(row)) for row in np.flatnonzero(columns.base_offset < offset)[::-1])

    def _pieces(self, segment: SegmentExtent, offset: int) -> Iterator[BatchColumns]:
        """Read batches with right checksums from the one on that may hold an offset, or from an earlier one."""
        path = self.directory / segment.file
        if segment.size and not path.exists():
            self.fetch(path, segment.size)
        if not segment.size or not path.exists():
            return
        with LogFile.open(path) as opened:
            log = LogFile(opened.data[: segment.size], path)
            start = byte_bounds(log, path, segment.base_offset, Selection(Compare("offset", ">=", offset))).start
            for piece in read_pieces(log, LogFile.scan, start):
                if not isinstance(piece, DamagedBytes):
                    yield piece.where(piece.crc_valid)


@contextmanager
def opened_heads(copy: Copy, offset: int | None) -> Iterator[LogHeads]:
    """Open the log of a copy; of a remote one the files next to an offset are fetched, or all. Raises OSError.

    Others of it are fetched once they are looked at: what is next to an offset may be damaged, or gone.
    """
    storage = Storage(copy.root)

    def fetch(path: Path, size: int) -> None:
        if not copy.is_local:
            storage.fetch_part(copy.directory, path, size, range(size))

    only = None if offset is None else {PARTITION_METADATA_NAME, *_files_beside(copy, offset)}
    with storage.local_copy(copy.directory, only=only) as directory:
        yield LogHeads(directory, copy.segments, fetch)


def _files_beside(copy: Copy, offset: int) -> Iterator[str]:
    """Name the files of the segments with what begins below an offset, and at it."""
    filled = [segment for segment in copy.segments if segment.size]
    for limit in (offset, offset + 1):
        for segment in [each for each in filled if each.base_offset < limit][-1:]:
            yield from (segment.file, *index_files(segment.file))


def _head(columns: BatchColumns, row: int) -> Head:
    return Head(*(int(values[row]) for values in (columns.base_offset, columns.last_offset, columns.leader_epoch)))
