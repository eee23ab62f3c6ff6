"""A copy as its broker would load it, by its examination: what `plan` and `advise` decide on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, Self

from epoch import EpochEntry, EpochHistory
from logstore.errors import LogStoreError
from logstore.file_name import FileKind, file_name
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.offline.directory_listing import DirectoryListing
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog, RemovedBatches
from logstore.offline.segment import Segment
from replication.copies.audit.comparison.examined_copy import ExaminedCopy


class LogState(NamedTuple):
    """A log by its offsets and epochs."""

    log_start_offset: int
    log_end_offset: int
    high_watermark: int | None
    history: tuple[EpochEntry, ...]
    lineage: tuple[EpochEntry, ...]


@dataclass(frozen=True, slots=True)
class ExaminedLog(RecoveredLog):
    """Reads nothing but the headers of what a truncation removes."""

    copy: ExaminedCopy
    known_lineage: EpochHistory

    @classmethod
    def of_copy(cls, copy: ExaminedCopy) -> Self:
        """Create it from a copy."""
        summary = copy.summary
        place = Path(summary.replica, str(summary.topic_partition))
        history = EpochHistory(summary.history)
        return cls(
            PartitionDirectory(
                place, summary.topic_partition, DirectoryListing({}, {}, {}, {}), PartitionCheckpoints()
            ),
            summary.log_start_offset,
            summary.log_end_offset,
            summary.high_watermark,
            history,
            tuple(_segment(extent.base_offset) for extent in summary.segments[: summary.kept_segments]),
            summary.valid_bytes,
            None if summary.damage is None else LogStoreError(summary.damage),
            copy,
            history if summary.lineage == summary.history else EpochHistory(summary.lineage),
        )

    @property
    def state(self) -> LogState:
        """What a plan depends on, other than the batches that it removes."""
        copy = self.copy.summary
        return LogState(self.log_start_offset, self.log_end_offset, self.high_watermark, copy.history, copy.lineage)

    def lineage(self) -> EpochHistory:
        """Return who led when: the history, or where that was lost what the batches show."""
        return self.known_lineage

    def removed_by_truncation(self, offset: int) -> RemovedBatches:
        """Count what `truncate_to(offset)` removes. Raises CopyUnreadableError."""
        segments = self._segments_from(offset)
        if not segments:
            return RemovedBatches(0, 0)
        with self.copy.logs([segment.log_path.name for segment in segments]) as directory:
            there = replace(self, segments=_within(segments, directory))
            return RecoveredLog.removed_by_truncation(there, offset)


@lru_cache(4096)  # the copies of a partition have segments of the same names
def _segment(base_offset: int) -> Segment:
    """Name a segment, wherever it is."""
    return Segment(base_offset, {FileKind.LOG: Path(file_name(FileKind.LOG, base_offset))})


def _within(segments: Sequence[Segment], directory: Path) -> tuple[Segment, ...]:
    return tuple(Segment(segment.base_offset, {FileKind.LOG: directory / segment.log_path}) for segment in segments)
