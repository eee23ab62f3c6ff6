"""Whether the cleaner has been over a log: what the checks share, since a cleaned log lacks batches and offsets."""

from collections.abc import Iterator
from typing import Self

from logstore.file_name import FileFate, FileKind
from logstore.files.offset_checkpoint import CLEANER_OFFSET_CHECKPOINT
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import ALWAYS_COMPACTED
from logstore.verify.finding import Finding
from logstore.verify.log_pass import Chunk, SilentCheck


class Compaction(SilentCheck):
    """Whether a log was compacted: decided by names and checkpoints at first, then also by the batches that were read.

    It runs before the checks that use it. `found` may become true with any batch, so checks must hold back until the
    end what is normal in a compacted log.
    """

    def __init__(self, *, found: bool = False) -> None:
        self.found: bool = found

    @classmethod
    def of(cls, partition: PartitionDirectory) -> Self:
        """Begin with what names and checkpoints show about a partition."""
        return cls(found=is_compacted(partition))

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Look for the cleaner's traces."""
        self.found = self.found or chunk.totals.with_holes > 0
        yield from ()


def is_compacted(partition: PartitionDirectory) -> bool:
    """Whether the cleaner has been over the log, or may have been, as far as names and checkpoints show."""
    known = partition.checkpoints.cleaner_offset is not None or partition.topic_partition.topic in ALWAYS_COMPACTED
    return known or may_lack_checkpoint(partition)


def may_lack_checkpoint(partition: PartitionDirectory) -> bool:
    """Whether the cleaner may have got further than its checkpoint states: that is unreadable or was read too early."""
    return CLEANER_OFFSET_CHECKPOINT in partition.checkpoints.unread or _was_replaced(partition)


def _was_replaced(partition: PartitionDirectory) -> bool:
    """Whether a segment stands beside an older one of the same name: the cleaner updates its checkpoint only later."""
    live = {segment.base_offset for segment in partition.segments}
    return any(name.base_offset in live for name, _ in partition.named(FileKind.LOG, FileFate.DELETED))
