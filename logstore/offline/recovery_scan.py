"""What a broker reads of a log when it opens it: the segments that may be damaged, up to the first damage."""

from dataclasses import dataclass, field

import numpy as np

from epoch.history import MAX_OFFSET
from logstore.base_offsets import first_unflushed
from logstore.batch.columns import BatchColumns
from logstore.errors import InvalidBatchHeaderError, LogStoreError
from logstore.offline.epoch_runs import EpochRuns
from logstore.offline.holes import end_of_zeros
from logstore.offline.log_file import LogFile
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.offline.tail_rereader import TailRereader


@dataclass(slots=True)
class RecoveryScan:
    """Takes over segments and their batches in order; once there is `damage`, nothing that follows counts."""

    log_start_offset: int
    log_end_offset: int = field(init=False)
    segments: list[Segment] = field(default_factory=list)
    valid_bytes: int = 0
    """Bytes of the last segment that hold valid batches."""
    epochs: EpochRuns = field(default_factory=EpochRuns)
    damage: LogStoreError | None = None

    def __post_init__(self) -> None:
        self.log_end_offset = self.log_start_offset

    @classmethod
    def read(cls, partition: PartitionDirectory) -> "RecoveryScan":
        """Read what opening the log reads: the last segment, or all from the recovery point on. Raises OSError."""
        tail = cls(partition.log_start_offset)
        first_read = first_segment_to_read(partition)
        for number, segment in enumerate(partition.segments):
            tail.begin(segment)
            if number >= first_read:
                is_last = segment is partition.segments[-1]
                tail.read_segment(check_crc=not partition.checkpoints.clean_shutdown, is_last=is_last)
            if tail.damage:
                break
        return tail

    def begin(self, segment: Segment) -> None:
        """Go on with the next segment."""
        self.segments.append(segment)
        self.valid_bytes = 0
        self.log_end_offset = max(self.log_start_offset, segment.base_offset)

    def read_segment(self, *, check_crc: bool, is_last: bool) -> None:
        """Read the last segment's batches up to the first damage."""
        growing = TailRereader(self.segments[-1].log_path)
        while True:
            with growing.open() as log:
                # What is known already is not read again, nor looked for where it was truncated since.
                for columns in log.scan(min(self.valid_bytes, log.size), check_crc=check_crc, threads=2):
                    if not self.take_over(columns):
                        break
                self.find_damage(log, is_last=is_last)
            if not (self.damage and is_last and growing.is_worth_another_read()):
                return

    def take_over(self, columns: BatchColumns) -> bool:
        """Add the next batches up to the first whose checksum does not match; return False where there is one."""
        valid = len(columns) if columns.crc_valid.all() else int(np.argmin(columns.crc_valid))
        if valid:
            good = columns.first(valid)
            self.epochs.add(good, self.segments[-1].log_path.name)
            # The last batch tells where a log ends, as in Kafka, even where those before it reach further.
            self.log_end_offset = max(self.log_start_offset, min(int(good.last_offset[-1]) + 1, MAX_OFFSET))
            self.valid_bytes = int(good.position[-1] + good.size[-1])
        return valid == len(columns)

    def find_damage(self, log: LogFile, *, is_last: bool) -> None:
        """See what stands behind the valid batches of the last segment, if anything does."""
        self.damage = _damage_at(log, self.valid_bytes, is_last=is_last)


def first_segment_to_read(partition: PartitionDirectory) -> int:
    """Return the number of the first segment that opening the log reads; those before it are taken as they are."""
    return min(first_segment_to_recover(partition), len(partition.segments) - 1)


def first_segment_to_recover(partition: PartitionDirectory) -> int:
    """Return the number of the first segment that may hold what was not flushed; how many there are if none does."""
    base_offsets = [segment.base_offset for segment in partition.segments]
    checkpoints = partition.checkpoints
    return first_unflushed(base_offsets, checkpoints.recovery_point or 0, clean_shutdown=checkpoints.clean_shutdown)


def _damage_at(log: LogFile, position: int, *, is_last: bool) -> LogStoreError | None:
    """Return what is wrong where no valid batch follows; zeros after the whole log are only preallocated."""
    if position >= log.size or (is_last and end_of_zeros(log.array, position, log.path) == log.size):
        return None
    try:
        next(log.batches(position)).ensure_valid()
    except LogStoreError as error:
        return error
    return InvalidBatchHeaderError("no valid batch begins here", file=log.path, position=position)
