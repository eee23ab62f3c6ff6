"""A copy as its broker would load it, told by its examination: what `plan` and `advise` decide on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from epoch import EpochHistory
from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.offline.directory_listing import DirectoryListing
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog, RemovedBatches
from logstore.offline.segment import Segment
from replication.audit.comparison.examined_copy import ExaminedCopy


@dataclass(frozen=True, slots=True)
class ExaminedLog(RecoveredLog):
    """Reads nothing but the headers of what a truncation removes."""

    copy: ExaminedCopy

    @classmethod
    def of_copy(cls, copy: ExaminedCopy) -> Self:
        """Take the log of a copy."""
        summary = copy.summary
        place = Path(summary.replica) / str(summary.topic_partition)
        return cls(
            PartitionDirectory(
                place, summary.topic_partition, DirectoryListing({}, {}, {}, {}), PartitionCheckpoints()
            ),
            summary.log_start_offset,
            summary.log_end_offset,
            summary.high_watermark,
            EpochHistory(summary.history),
            tuple(
                Segment(extent.base_offset, {FileKind.LOG: Path(extent.file)})
                for extent in summary.segments[: summary.kept_segments]
            ),
            summary.valid_bytes,
            None if summary.damage is None else LogStoreError(summary.damage),
            copy,
        )

    def lineage(self) -> EpochHistory:
        """Return who led when: the history, or where that was lost what the batches tell."""
        return EpochHistory(self.copy.summary.lineage)

    def removed_by_truncation(self, offset: int) -> RemovedBatches:
        """Count what `truncate_to(offset)` removes. Raises CopyUnreadableError."""
        segments = self._segments_from(offset)
        if not segments:
            return RemovedBatches(0, 0)
        with self.copy.logs([segment.log_path.name for segment in segments]) as directory:
            there = replace(self, segments=_within(segments, directory))
            return RecoveredLog.removed_by_truncation(there, offset)


def _within(segments: Sequence[Segment], directory: Path) -> tuple[Segment, ...]:
    return tuple(Segment(segment.base_offset, {FileKind.LOG: directory / segment.log_path}) for segment in segments)
