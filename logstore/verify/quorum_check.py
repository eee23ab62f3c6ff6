"""The log of the cluster's metadata, its snapshots and `quorum-state` agree with each other (KIP-595, KIP-630)."""

from collections.abc import Iterator, Sequence

from logstore.errors import CorruptMetadataError
from logstore.file_name import FileKind
from logstore.files.quorum_state import QUORUM_STATE_NAME, QuorumState
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import METADATA_TOPIC
from logstore.verify.finding import Finding, Reporter
from logstore.verify.log_pass import Chunk, SilentCheck


class QuorumCheck(SilentCheck):
    """Compares what a node of the quorum keeps beside its log with the log; each file alone is checked elsewhere."""

    def __init__(self, partition: PartitionDirectory, report: Reporter) -> None:
        self._partition = partition
        self._report = report
        self._last_epoch = -1

    @classmethod
    def all_of(cls, partition: PartitionDirectory, report: Reporter) -> Sequence["QuorumCheck"]:
        """Return the check of the metadata's partition; none for others."""
        return [cls(partition, report)] if partition.topic_partition.topic == METADATA_TOPIC else []

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """Note the latest epoch."""
        self._last_epoch = max(self._last_epoch, int(chunk.columns.leader_epoch.max(initial=-1)))
        yield from ()

    def end(self, log_end_offset: int) -> Iterator[Finding]:
        """Compare."""
        snapshots = {
            (name.epoch or 0, name.base_offset or 0): path.name
            for name, path in self._partition.named(FileKind.METADATA_SNAPSHOT)
        }
        latest = max(snapshots, default=(0, 0))
        start = self._partition.log_start_offset
        if start > max((end_offset for _, end_offset in snapshots), default=0):
            yield self._report.error(
                "metadata-beginning-lost",
                f"the log begins at offset {start:,}, and no snapshot has what was before: no controller can load it",
                file=None,
                offset=start,
            )
        elif latest > (max(self._last_epoch, 0), log_end_offset):
            yield self._report.warning(
                "metadata-snapshot-beyond-log-end",
                f"the log ends at offset {log_end_offset:,}, before this snapshot does: a controller drops the log at "
                "its next start and continues from the snapshot. It fetched the snapshot just before it stopped, or "
                "the end of its log was lost",
                file=snapshots[latest],
                offset=latest[1],
            )
        yield from self._state()

    def _state(self) -> Iterator[Finding]:
        path = self._partition.listing.files.get(QUORUM_STATE_NAME)
        try:
            state = QuorumState.read(path) if path else None
        except (CorruptMetadataError, OSError):
            return  # reported where the directory's small files are checked
        if state is not None and state.leader_epoch < self._last_epoch:
            yield self._report.warning(
                "quorum-state-behind",
                f"it is of epoch {state.leader_epoch}, but the log has records of epoch {self._last_epoch}: the two "
                "were not copied together, so how the controller voted since is not known",
                file=QUORUM_STATE_NAME,
            )
