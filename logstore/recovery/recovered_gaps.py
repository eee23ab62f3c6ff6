"""Which offsets a log that is the only copy may lack, as it is recovered: what it noted, and what is found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from epoch.base.resource_limits import ignoring_full_disk
from logstore import recovery
from logstore.errors import CorruptMetadataError
from logstore.file_name import FileKind, file_name
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME, Hole, OffsetGaps

if TYPE_CHECKING:
    from pathlib import Path

    from epoch.filesystem import FileSystem
    from logstore.files.only_copy.promised_offsets import Promise
    from logstore.recovery.recovery_report import RecoveryReport

Ends = Mapping[int, int]
"""Where the offsets of segments end, by their base offsets, as far as that is known."""


class RecoveredGaps:
    """The list of a log's gaps, which is believed, known again if it is lost, and brought up to date."""

    def __init__(
        self,
        directory: Path,
        filesystem: FileSystem,
        promise: Promise | None,
        cleaner_offset: int | None,
        report: RecoveryReport,
        *,
        is_compacted: bool,
    ) -> None:
        """Read the list of a log of which so much is known; `is_compacted` is what its configuration says of it."""
        self._directory = directory
        self._filesystem = filesystem
        self._promise = promise
        self._cleaner_offset = cleaner_offset
        self._report = report
        self._is_compacted = is_compacted
        self._is_lost = False
        """Whether the log noted which offsets it lacks, and that cannot be read any more."""
        self._may_be_found = True
        """Whether it has not been compared yet what the log lacks with what it noted."""
        self.known: OffsetGaps = self._read()

    def _read(self) -> OffsetGaps:
        """Read the list; where it cannot be read, or is not the last one, nothing is known of gaps."""
        noted = 0 if self._promise is None else self._promise.files.gaps_number
        try:
            gaps = OffsetGaps.read(self._directory)
            problem = f"it has been lost, or is an older one than list {noted}" if gaps.number < noted else ""
        except CorruptMetadataError as error:
            problem = str(error)
        if not problem:
            return gaps
        self._report.damaged_offset_gaps = problem
        self._is_lost = self._promise is not None
        return OffsetGaps(number=noted)

    def may_lack(self, start: int, end: int, *neighbours: int) -> bool:
        """Whether a cleaner may have left a log without these offsets, between the segments that are its `neighbours`.

        The log has noted each such gap before it was made. Who replicated it noted none: then all that shows
        compaction counts, by a cleaner that was interrupted, too, or by that of the leader.
        """
        if self.known.covers(start, end):
            return True
        if self._is_lost:
            return self._may_be_found
        if self._promise is not None:
            return not self.known.is_kept and end <= (self._cleaner_offset or 0)
        if self._cleaner_offset is not None or self._is_compacted:
            return True
        return any(
            recovery.segment_ends.skips_offsets(self._directory / file_name(FileKind.LOG, each)) for each in neighbours
        )

    def may_skip(self, base_offset: int) -> bool:
        """Whether batches of a segment may lack offsets between them, as it was compacted, here or by another leader.

        A batch whose base offset is wrong leaves one place that looks like that, too.
        """
        promise = self._promise
        if promise is None or promise.files.is_followed or self._is_compacted or self._cleaner_offset is not None:
            return True
        return sum(recovery.segment_ends.skips_of(self._directory / file_name(FileKind.LOG, base_offset))) > 1

    def find_lost(self, base_offsets: Sequence[int], ends: Ends) -> None:
        """Restore the noted gaps from those that the log has, if their checksum is the same."""
        if not self._is_lost or self._promise is None:
            return
        found = replace(self.known, skipped=tuple(_between(base_offsets, ends)))
        self._may_be_found = False
        if found.checksum_of_list == self._promise.files.gaps_checksum:
            self.known, self._is_lost = found, False

    def or_was_compacted(self) -> str:
        """Add to what is said of a missing segment that nobody knows whether it is one."""
        if not self._is_lost:
            return ""
        return f", or was compacted, which is unknown without {OFFSET_GAPS_NAME} ({self._report.damaged_offset_gaps})"

    def add_hole(self, hole: Hole) -> None:
        """Note a hole durably, before anything is changed: without that a segment would seem to be missing."""
        if hole.start_offset < hole.end_offset:
            self.known = self.known.with_hole(hole).write(self._directory, self._filesystem)

    def settle(self, base_offsets: Sequence[int], ends: Ends, end: int) -> None:
        """Note durably what was found to be missing between segments, and forget what is not missing any more."""
        before, first = self.known, base_offsets[0] if base_offsets else end
        self.known = before.between(_between(base_offsets, ends)).within(first, end)
        if self.known != before or (self._cleaner_offset is not None and not before.is_kept):
            with ignoring_full_disk():
                self.known = self.known.write(self._directory, self._filesystem)


def _between(base_offsets: Sequence[int], ends: Ends) -> Iterator[Hole]:
    """Give the offsets that no batch has between two segments."""
    for before, following in pairwise(base_offsets):
        end = ends.get(before, following)
        if end < following:
            yield Hole(end, following)
