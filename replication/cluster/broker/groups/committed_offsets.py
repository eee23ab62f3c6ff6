"""What a group has committed."""

from logstore import TopicPartition
from replication.records.coordinator_records.offset_commit import OffsetCommit

_OVERHEAD = 400
"""About what a commit takes beside its metadata, in bytes."""


class CommittedOffsets(dict[TopicPartition, OffsetCommit]):
    """By partition."""

    size: int = 0
    """About how much memory they take, in bytes."""

    def put(self, partition: TopicPartition, commit: OffsetCommit) -> None:
        """Replace the previous commit of a partition."""
        self.discard(partition)
        self[partition] = commit
        self.size += size_of(commit)

    def discard(self, partition: TopicPartition) -> None:
        """Forget a commit, if there is one."""
        before = self.pop(partition, None)
        if before is not None:
            self.size -= size_of(before)


def size_of(commit: OffsetCommit) -> int:
    """Return about how much memory a commit takes, in bytes."""
    return _OVERHEAD + len(commit.metadata)
