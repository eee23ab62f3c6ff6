"""Whether the cleaner has been over a log: what the checks share, since a cleaned log lacks batches and offsets."""

from collections.abc import Iterator
from typing import Final, Self

import numpy as np

from logstore.batch.batches import read_batch
from logstore.errors import LogStoreError
from logstore.file_name import FileFate, FileKind
from logstore.files.offset_checkpoint import CLEANER_OFFSET_CHECKPOINT
from logstore.offline.offline_log_directory import SIGNS_OF_A_ROOT
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.segment import Segment
from logstore.topic_partition import ALWAYS_COMPACTED
from logstore.verify.finding import Finding
from logstore.verify.log_pass import Chunk, SilentCheck

_LOOKED_INTO: Final = 100
"""Batches beside holes, at most."""


class Compaction(SilentCheck):
    """Whether a log was compacted: decided by names and checkpoints at first, then also by the batches that were read.

    It runs before the checks that use it. `found` may become true with any batch, so checks must hold back until the
    end what is normal in a compacted log.
    """

    def __init__(self, *, found: bool = False, is_untold: bool = False) -> None:
        """Begin with what is known; `is_untold` where the files that would show it are not there."""
        self.found: bool = found
        self.is_assumed: bool = False
        """Whether it was `found` only by holes that the cleaner may have made."""
        self._is_untold = is_untold
        self._next_offset: int | None = None

    @classmethod
    def of(cls, partition: PartitionDirectory) -> Self:
        """Begin with what names and checkpoints show about a partition."""
        return cls(found=is_compacted(partition), is_untold=_stands_alone(partition))

    def damage(self, segment: Segment, start: int, end: int) -> None:
        """Ignore a hole where bytes could not be read: the cleaner did not leave it."""
        del segment, start, end
        self._next_offset = None

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Look for the cleaner's traces."""
        self.found = self.found or chunk.totals.with_holes > 0
        if self._is_untold and not self.found and not chunk.totals.corrupt:
            self._look_for_holes(chunk)
        yield from ()

    def _look_for_holes(self, chunk: Chunk) -> None:
        """Assume compaction where offsets are missing between records that all have keys."""
        first, last = chunk.columns.base_offset, chunk.columns.last_offset
        start = chunk.segment.base_offset if self._next_offset is None else self._next_offset
        self._next_offset = int(last[-1]) + 1
        behind = np.flatnonzero(first > np.concatenate(([start], last[:-1] + 1)))
        if not len(behind):
            return
        beside = np.unique(np.concatenate((behind, np.maximum(behind - 1, 0))))[:_LOOKED_INTO]
        if all(_has_key(chunk, row) for row in beside.tolist()):
            self.found = self.is_assumed = True
        else:
            self._is_untold = False


def _has_key(chunk: Chunk, row: int) -> bool:
    """Whether a batch's first record has a key, without which a broker refuses it where it compacts."""
    try:
        record = next(read_batch(chunk.log.data, int(chunk.columns.position[row])).records(), None)
    except LogStoreError:
        return False
    return record is not None and record.key is not None


def _stands_alone(partition: PartitionDirectory) -> bool:
    """Whether the directory was taken out of its root, whose files would show how far the cleaner has got."""
    if partition.own_checkpoints is not None or partition.checkpoints.mentioned:
        return False
    return not any((partition.path.parent / name).exists() for name in SIGNS_OF_A_ROOT)


def is_compacted(partition: PartitionDirectory) -> bool:
    """Whether the cleaner has been over the log, or may have been, as far as names and checkpoints show."""
    known = partition.checkpoints.cleaner_offset is not None or partition.topic_partition.topic in ALWAYS_COMPACTED
    return known or may_lack_checkpoint(partition)


def cleaned_to(partition: PartitionDirectory, traces_end: int, active: int) -> int:
    """Return how far the cleaner has been: by its checkpoint, which may be older than the log, or by its traces.

    `traces_end` is where the last batch ends from which it removed records, 0 without any, and `active` the base offset
    of the log's last segment: without a checkpoint, the cleaner may have been anywhere before that.
    """
    checkpointed = partition.checkpoints.cleaner_offset
    if checkpointed is not None:
        return max(checkpointed, traces_end)
    if traces_end or partition.topic_partition.topic in ALWAYS_COMPACTED:
        return max(active, traces_end)
    return 0


def may_be_cleaned_to(partition: PartitionDirectory, traces_end: int, active: int) -> int:
    """Return up to where whole batches may have been removed by the cleaner; see `cleaned_to`."""
    end = cleaned_to(partition, traces_end, active)
    return max(end, active) if may_lack_checkpoint(partition) else end


def may_lack_checkpoint(partition: PartitionDirectory) -> bool:
    """Whether the cleaner may have got further than its checkpoint states: that is unreadable or was read too early."""
    return CLEANER_OFFSET_CHECKPOINT in partition.checkpoints.unread or _was_replaced(partition)


def _was_replaced(partition: PartitionDirectory) -> bool:
    """Whether a segment stands beside an older one of the same name: the cleaner updates its checkpoint only later."""
    live = {segment.base_offset for segment in partition.segments}
    return any(name.base_offset in live for name, _ in partition.named(FileKind.LOG, FileFate.DELETED))
