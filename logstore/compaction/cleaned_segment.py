"""The segment that compaction makes of a group of segments, in files beside theirs until it takes their place."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem
from logstore.batch.batch import RecordBatch
from logstore.compaction.batch_cleaner import BatchCleaner, LastBatch
from logstore.compaction.segment_batches import batches_of
from logstore.file_name import INDEX_KINDS, FileFate, FileKind, file_name
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment

_CHUNK: Final = 1 << 20
"""Bytes that are written at once."""
KINDS: Final = (FileKind.LOG, *INDEX_KINDS)


class CleanedSegment:
    """`.cleaned` files, which the next start removes (Kafka: createNewCleanedSegment)."""

    def __init__(self, directory: Path, base_offset: int, config: LogConfig, filesystem: FileSystem) -> None:
        """Make the files, empty; `base_offset` is that of the first segment of the group. Raises OSError."""
        self.base_offset = base_offset
        self.end_offset: int = base_offset
        """One beyond the last offset that is kept."""
        self._directory = directory
        self._filesystem = filesystem
        self._data = bytearray()
        self._noted: list[tuple[int, int, int]] = []
        """Of each batch in `_data`: size, last offset, largest timestamp."""
        self._is_complete = False
        self._segment = LiveSegment.create(directory, base_offset, config, filesystem, suffix=f".{FileFate.CLEANED}")

    def write(
        self,
        segment: LiveSegment,
        cleaner: BatchCleaner,
        last_batches: Mapping[int, LastBatch],
        before_each: Callable[[], object],
    ) -> None:
        """Add what is kept of a segment of the group; `before_each` is called for each batch, and may raise.

        Raises what `BatchCleaner.clean` and `batches_of` raise.
        """
        for batch in batches_of(segment, before_each=before_each):
            kept = cleaner.clean(batch, last_batches)
            if kept is not None:
                self._add(kept)
        self._write_out()

    def finish(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Note the transactions to index, complete the files, and return once all is on stable storage.

        Raises OSError.
        """
        for transaction in aborted:
            self._segment.transaction_index.append(transaction)
        self._segment.deactivate(sync=True)
        self._segment.flush()
        self._segment.abandon()

    def rename(self, before: FileFate, after: FileFate) -> None:
        """Bring the files from one fate to the next, the log first. Raises OSError, also where that is missing."""
        self._is_complete = True
        for kind in KINDS:
            path = self._path(kind, before)
            if kind is FileKind.LOG or path.exists():
                self._filesystem.rename(path, self._path(kind, after))

    def discard(self) -> None:
        """Remove the files that were begun in vain; what a failed disk leaves of them, the next start removes.

        Once they are complete, they show the next start what it has to do with those that were renamed already.
        """
        with suppress(OSError):
            self._segment.abandon()
            for path in (self._path(kind, FileFate.CLEANED) for kind in KINDS):
                if path.exists() and not self._is_complete:
                    self._filesystem.unlink(path)

    def _add(self, kept: bytearray | memoryview) -> None:
        batch = RecordBatch(memoryview(kept))
        self.end_offset = batch.last_offset + 1
        self._noted.append((batch.size, batch.last_offset, batch.max_timestamp))
        self._data += kept
        if len(self._data) >= _CHUNK:
            self._write_out()

    def _write_out(self) -> None:
        if self._noted:
            data, noted, self._data, self._noted = self._data, self._noted, bytearray(), []
            self._segment.append(data, noted)

    def _path(self, kind: FileKind, fate: FileFate) -> Path:
        return self._directory / file_name(kind, self.base_offset, fate)
