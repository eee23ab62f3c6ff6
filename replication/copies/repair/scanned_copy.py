"""One replica's copy of a partition: its sound batches, wherever damage lies between them, and what its names show."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np

from epoch import EpochError, EpochHistory
from epoch.history import MAX_OFFSET
from logstore.batch.columns import BatchColumns
from logstore.errors import LogStoreError
from logstore.file_name import INDEX_KINDS, FileKind
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import checkpointed_history
from logstore.offline.segment import Segment
from logstore.verify.compaction import is_compacted
from replication.copies.planning.known_end import live_bases
from replication.copies.repair.batch_rows import BatchRows


@dataclass(frozen=True)
class ScannedCopy:
    """What can be used of a copy. Rows are in order: offsets rise, leader epochs never fall, nothing comes twice."""

    partition: PartitionDirectory
    name: str
    """As reports call it."""
    segments: tuple[Segment, ...]
    logs: tuple[LogFile, ...]
    """Of the segments, mapped."""
    rows: BatchRows
    checkpoint: EpochHistory | None
    """The leader-epoch checkpoint; None where it cannot be read."""
    names: dict[FileKind, frozenset[int]] = field(default_factory=dict)
    """Base offsets of files by their kinds, of what is no regular file too."""

    @classmethod
    def read(cls, partition: PartitionDirectory, *, within_names: bool = False) -> Self:
        """Read all segments, and go on behind damage.

        `within_names` leaves out what does not belong into a segment by its file's name. Raises OSError.
        """
        segments = tuple(each for each in partition.segments if not each.log_path.is_symlink())
        logs = tuple(each.open_log() for each in segments)
        rows = BatchRows.of((number, columns) for number, log in enumerate(logs) for columns in _sound(log))
        if within_names and segments:
            bases = np.array([each.base_offset for each in segments] + [MAX_OFFSET])
            rows = rows.where((bases[rows.segment] <= rows.base_offset) & (rows.base_offset < bases[rows.segment + 1]))
        try:
            checkpoint = checkpointed_history(partition) if partition.epoch_checkpoint_path else None
        except (EpochError, OSError):
            checkpoint = None
        return cls(partition, _name(partition), segments, logs, rows.in_order(), checkpoint, live_bases(partition))

    @cached_property
    def history(self) -> EpochHistory:
        """Who led when: by the checkpoint, as far as no sound batch contradicts it, and by the batches."""
        rows = self.rows
        changes = np.flatnonzero(np.diff(rows.leader_epoch)) + 1
        ends = np.unique(np.concatenate([[0], changes - 1, changes, [len(rows) - 1]]))[: len(rows)]
        runs = zip(rows.leader_epoch[ends].tolist(), rows.base_offset[ends].tolist(), strict=True)
        return (self.checkpoint or EpochHistory()).reconcile(runs, log_start_offset=0, log_end_offset=MAX_OFFSET)

    @cached_property
    def is_compacted(self) -> bool:
        """Whether offsets may be missing that nobody has lost, because the cleaner has been there."""
        rows = self.rows
        spans = rows.last_offset - rows.base_offset + 1
        return is_compacted(self.partition) or bool((rows.record_count < spans).any())

    @property
    def bases(self) -> list[int]:
        """Base offsets of the segments."""
        return [each.base_offset for each in self.segments]

    @cached_property
    def starts(self) -> list[int]:
        """Where each segment begins if all are put end to end, and where the last one ends."""
        starts = [0]
        for log in self.logs:
            starts.append(starts[-1] + log.size)
        return starts

    def bases_without_log(self) -> set[int]:
        """Return the base offsets of segments of which something is left, but not the log."""
        named = {base for kind in (FileKind.LOG, *INDEX_KINDS) for base in self.names.get(kind, ())}
        return named - set(self.bases)

    def data(self, row: int) -> memoryview:
        """Return a batch's bytes."""
        position, size = int(self.rows.position[row]), int(self.rows.size[row])
        return self.logs[int(self.rows.segment[row])].data[position : position + size]

    def reached_by_index(self, number: int, start: int, end: int) -> bool:
        """Whether a segment's indexes have an offset from `start` to `end`: it was there when they were written.

        `end` is left out.
        """
        segment = self.segments[number]
        try:
            by_offset, by_time = segment.offset_index(), segment.time_index()
        except (LogStoreError, OSError):
            return False
        last = max(
            by_offset.last.last_offset if by_offset and by_offset.last else -1,
            by_time.last.offset if by_time and by_time.last else -1,
        )
        return start <= last < end

    def split(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Divide bytes of all segments end to end by segment: its number, and from where to where in its file."""
        for number, (begins, ends) in enumerate(pairwise(self.starts)):
            first, last = max(start, begins), min(end, ends)
            if first < last:
                yield number, first - begins, last - begins


def _sound(log: LogFile) -> Iterator[BatchColumns]:
    """Read the batches whose checksums match, and look for the next one behind whatever is none."""
    from logstore.offline.batch_search import BatchSearch  # noqa: PLC0415  numba loads on the first bulk operation

    search: BatchSearch | None = None
    position = 0
    while position < log.size:
        suspect = position
        """From where on no sound batch was seen."""
        for columns in log.scan(position, threads=2):
            sound = np.flatnonzero(columns.crc_valid)
            if len(sound):
                last = int(sound[-1])
                suspect = int(columns.position[last] + columns.size[last])
                yield columns.where(columns.crc_valid)
            position = columns.next_position
        if position >= log.size:
            return
        search = search or BatchSearch(log)
        # The length of a damaged batch may be what is wrong: sound ones may lie within it.
        position = search.find(suspect + 1)
        if position < 0:
            return


def _name(partition: PartitionDirectory) -> str:
    return f"{partition.path.parent.name}/{partition.path.name}"
