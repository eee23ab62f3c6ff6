"""The copy of the metadata that a node keeps: the log `__cluster_metadata-0`, and the snapshot that it goes on from."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final, Self

from epoch import EpochHistory
from epoch.filesystem import REAL, FileSystem
from logstore import Log, LogConfig
from logstore.clock import now_ms
from logstore.file_name import FileKind, parse_file_name
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.log.reading.isolation import Isolation
from replication.base.metadata_partition import METADATA_PARTITION, METADATA_TOPIC_ID
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.cluster.quorum.fetched_snapshot import PARTIAL_SUFFIX, FetchedSnapshot
from replication.cluster.quorum.snapshot_terms import SnapshotTerms
from replication.records.metadata.batches import RECOVER_ADVICE, MetadataBatch
from replication.records.metadata.control_messages import decode_control
from replication.records.metadata.errors import DamagedMetadataError
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.metadata_log import read_metadata
from replication.records.metadata.records.control import ControlMessage, KRaftVersion, SnapshotHeader, Voters
from replication.records.metadata.snapshot import MetadataSnapshot, write_snapshot
from replication.wire.messages.fetch import SnapshotId

_OF_QUORUM: Final = (KRaftVersion, Voters)
_READ_BYTES: Final = 8 << 20
_CONFIG: Final = LogConfig(retention_ms=-1, max_message_bytes=8 << 20)
"""Only snapshots replace records. Kafka: MetadataLogConfig, KafkaRaftClient.MAX_BATCH_SIZE_BYTES."""


class LocalMetadata:
    """Log and snapshot in Kafka's own files (Kafka: KafkaMetadataLog). Methods raise OSError and LogStoreError.

    What is below the high watermark stays: the quorum never takes it back.
    """

    def __init__(self, log: Log, filesystem: FileSystem, temporary: "TemporaryDirectory[str] | None" = None) -> None:
        """See `open`."""
        self.log = log
        self.snapshots: tuple[MetadataSnapshot, ...] = tuple(MetadataSnapshot.all_in(log.directory))
        """Those that are kept, the one that reaches furthest last; the log begins after the first, or at 0."""
        self._replacing: Final = Lock()
        """Held while snapshots come and go."""
        self._filesystem = filesystem
        self._temporary = temporary
        self._go_on_from_snapshot()
        self._remove_replaced()
        self._remove_parts()

    @classmethod
    def open(cls, directory: str | os.PathLike[str] | None = None, filesystem: FileSystem = REAL) -> Self:
        """Open what stands in a directory, or begin there (Kafka: metadata.log.dir); nobody else may have it open.

        Without one, a temporary one is made, and removed by `close`. Raises what `Log.open` raises.
        """
        if directory is not None:
            return cls._open(Path(directory), filesystem)
        temporary = TemporaryDirectory(prefix="epochlog-metadata-")
        try:
            return cls._open(Path(temporary.name), filesystem, temporary)
        except BaseException:
            temporary.cleanup()
            raise

    @classmethod
    def _open(cls, directory: Path, filesystem: FileSystem, temporary: "TemporaryDirectory[str] | None" = None) -> Self:
        filesystem.make_directories(directory)
        log = Log.open(directory / str(METADATA_PARTITION), _CONFIG, replicated=True, filesystem=filesystem)
        try:
            # Kafka's copies have it, and without it a log counts as one that is not the topic's.
            if not (log.directory / PARTITION_METADATA_NAME).exists():
                PartitionMetadata(METADATA_TOPIC_ID).write(log.directory / PARTITION_METADATA_NAME, filesystem)
            return cls(log, filesystem, temporary)
        except BaseException:
            log.abandon()
            raise

    def close(self) -> None:
        """Close the files, whatever is raised; closing again does nothing."""
        try:
            self.log.close()
        except BaseException:
            self.log.abandon()
            raise
        finally:
            if self._temporary is not None:
                self._temporary.cleanup()

    @property
    def snapshot(self) -> MetadataSnapshot | None:
        """The one that reaches furthest; None before the first."""
        return self.snapshots[-1] if self.snapshots else None

    def state(self) -> FollowedLogState:
        """Return where the log stands; the epoch of the snapshot that it begins after is the first in its history.

        Another thread may take a snapshot meanwhile.
        """
        log, history, start = self.log, self.log.epochs.history, self.log.log_start_offset
        before = next((each for each in self.snapshots if 0 < each.end_offset == start), None)
        if before is not None:
            # Kafka: KafkaMetadataLog.lastFetchedEpoch.
            later = [entry for entry in history.entries if entry.epoch > before.epoch]
            history = EpochHistory([(before.epoch, start - 1), *later])
        return FollowedLogState(start, log.log_end_offset, log.high_watermark, history)

    def committed(self, start_offset: int) -> Iterator[MetadataBatch]:
        """Read the batches below the high watermark, from the one that holds an offset on. Raises MetadataError."""
        return read_metadata(self.log, start_offset, isolation=Isolation.HIGH_WATERMARK)

    def receive(self, snapshot_id: SnapshotId) -> FetchedSnapshot:
        """Begin a file for a snapshot that is to be fetched."""
        return FetchedSnapshot(snapshot_id, self.log.directory, self._filesystem)

    def install(self, fetched: FetchedSnapshot) -> None:
        """Go on from a snapshot that has come whole: it replaces the log, and the snapshots before it.

        After a crash on the way, the next `open` finishes it.
        """
        part = fetched.file
        path = part.path.with_name(part.path.name.removesuffix(PARTIAL_SUFFIX))
        with self._replacing:
            self._filesystem.rename(part.path, path)
            self._filesystem.fsync_directory(path.parent)
            self.log.truncate_fully_and_start_at(part.end_offset)
            self.snapshots = (MetadataSnapshot(path, part.end_offset, part.epoch),)
            with suppress(OSError):  # the next `open` removes them
                self._remove_replaced()
                self._remove_parts()

    @property
    def bytes_since_snapshot(self) -> int:
        """Return how much the log has beyond the snapshot: whole segments, as each snapshot begins a new one."""
        end_offset = 0 if self.snapshot is None else self.snapshot.end_offset
        segments = self.log.segments
        ends = [*(each.base_offset for each in segments[1:]), self.log.log_end_offset]
        return sum(each.size for each, end in zip(segments, ends, strict=True) if end > end_offset)

    def take_snapshot(
        self, image: ClusterImage, end_offset: int, epoch: int, terms: SnapshotTerms | None = None
    ) -> None:
        """Write a snapshot of an image that has all below `end_offset`, the last of it in `epoch`.

        By `terms` earlier snapshots go, and with them what of the log a later one has. Without, the log begins from
        then on where the snapshot before has ended, so that followers who are not far behind need no snapshot. Another
        thread may append meanwhile. Raises MetadataError too.
        """
        with self._replacing:
            self._take_snapshot(image, end_offset, epoch, terms)

    def _take_snapshot(self, image: ClusterImage, end_offset: int, epoch: int, terms: SnapshotTerms | None) -> None:
        before = self.snapshot
        if end_offset <= (0 if before is None else before.end_offset):
            return
        last = next(iter(self.log.read(end_offset - 1, 1).batches()), None)
        if last is None:
            raise DamagedMetadataError(
                "the log ends before a record that was replayed from it",
                file=self.log.directory,
                offset=end_offset - 1,
                advice=RECOVER_ADVICE,
            )
        written = write_snapshot(
            self.log.directory,
            image,
            end_offset=end_offset,
            epoch=epoch,
            last_contained_log_timestamp=last.max_timestamp,
            quorum=self._said_by_quorum(end_offset),
            filesystem=self._filesystem,
        )
        self.snapshots = (*self.snapshots, written)
        start = (0 if before is None else before.end_offset) if terms is None else self._start_by(terms)
        if start > self.log.log_start_offset:
            self.log.delete_records(start)
            self.log.delete_old_segments()
        self._remove_replaced()

    def _start_by(self, terms: SnapshotTerms) -> int:
        """Return where the log is to begin: after the first snapshot that may be the oldest (Kafka: cleanSnapshots)."""
        start = self.log.log_start_offset
        size = sum(each.size for each in self.log.segments) + sum(map(_size, self.snapshots))
        now = now_ms()
        oldest = next((each for each in self.snapshots if each.end_offset == start), None)
        for later in (each for each in self.snapshots if each.end_offset > start):
            if not terms.is_over(size, now - _time_of(oldest or later)):
                return start
            size -= self._size_between(start, later.end_offset) + (0 if oldest is None else _size(oldest))
            oldest, start = later, later.end_offset
        return start

    def _size_between(self, start: int, end: int) -> int:
        """Return how much is in whole segments within a range."""
        segments = self.log.segments
        ends = [*(each.base_offset for each in segments[1:]), self.log.log_end_offset]
        pairs = zip(segments, ends, strict=True)
        return sum(each.size for each, last in pairs if start <= each.base_offset and last <= end)

    def _said_by_quorum(self, end_offset: int) -> list[ControlMessage]:
        """Return what was said last of the quorum below an offset, where its voters may change (KIP-853)."""
        said: dict[type[ControlMessage], ControlMessage] = {}
        offset = self.log.log_start_offset
        if self.snapshot is not None:
            offset = max(offset, self.snapshot.end_offset)
            said |= {type(each): each for each in self.snapshot.control_messages() if isinstance(each, _OF_QUORUM)}
        while offset < end_offset:
            view = self.log.read(offset, _READ_BYTES)
            for batch in view.batches():
                if batch.is_control and batch.base_offset < end_offset:
                    messages = map(decode_control, batch.records())
                    said |= {type(each): each for each in messages if isinstance(each, _OF_QUORUM)}
            offset = view.next_offset
        return [said[kind] for kind in _OF_QUORUM if kind in said]

    def _go_on_from_snapshot(self) -> None:
        """Begin the log where the snapshot ends, unless it holds or continues what the snapshot contains.

        Without a snapshot it must begin at the first offset of all.
        """
        log, snapshot = self.log, self.snapshot
        end_offset = 0 if snapshot is None else snapshot.end_offset
        if not self._reaches(end_offset, -1 if snapshot is None else snapshot.epoch):
            log.truncate_fully_and_start_at(end_offset)
        elif log.high_watermark < end_offset:
            log.update_high_watermark(end_offset)

    def _reaches(self, end_offset: int, epoch: int) -> bool:
        """Whether the log goes on at an offset, after a record of this epoch where it has that record too."""
        log = self.log
        if log.log_start_offset == end_offset:
            return True
        within = log.log_start_offset < end_offset <= log.log_end_offset
        return within and log.epochs.epoch_for_offset(end_offset - 1) == epoch

    def _remove_replaced(self) -> None:
        """Remove the snapshots before the log.

        The one that the log begins after stays: it may be being fetched, and says which epoch came before.
        """
        latest, start = self.snapshot, self.log.log_start_offset
        if latest is None:
            return
        self.snapshots = tuple(each for each in self.snapshots if each == latest or each.end_offset >= start)
        names = {each.path.name for each in self.snapshots}
        for path in list(self.log.directory.iterdir()):
            if parse_file_name(path.name).kind is FileKind.METADATA_SNAPSHOT and path.name not in names:
                self._filesystem.unlink(path)

    def _remove_parts(self) -> None:
        """Remove what has come of snapshots; only where none is being fetched, as another thread writes its file."""
        for path in list(self.log.directory.glob(f"*.checkpoint{PARTIAL_SUFFIX}")):
            self._filesystem.unlink(path)


def _size(snapshot: MetadataSnapshot) -> int:
    return snapshot.path.stat().st_size


def _time_of(snapshot: MetadataSnapshot) -> int:
    """Return when the last of what a snapshot has was written, in milliseconds since 1970 UTC."""
    header = next(snapshot.control_messages())
    return header.last_contained_log_timestamp if isinstance(header, SnapshotHeader) else 0
