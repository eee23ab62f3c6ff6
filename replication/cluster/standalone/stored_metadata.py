"""The metadata of a cluster whose only controller is in this process: a log as a quorum has it."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Self

from logstore import Log
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.clock import now_ms
from logstore.files.quorum_state import QUORUM_STATE_NAME, UNKNOWN_NODE, QuorumState
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.records.metadata.batches import MetadataBatch
from replication.records.metadata.control_messages import encode_control
from replication.records.metadata.image_publisher import PublishedImage
from replication.records.metadata.loading import load_snapshot
from replication.records.metadata.metadata_log import append_metadata, read_metadata
from replication.records.metadata.metadata_version import LATEST_METADATA_VERSION
from replication.records.metadata.records import AbortTransactionRecord, MetadataRecord
from replication.records.metadata.records.control import ControlMessage
from replication.records.metadata.snapshot import MetadataSnapshot
from replication.records.metadata.transactions import Transactions

SNAPSHOT_BYTES: Final = 20 << 20
"""Kafka: metadata.log.max.record.bytes.between.snapshots."""


class StoredMetadata:
    """`__cluster_metadata-0`, written by one controller. Methods raise OSError and LogStoreError.

    What another controller has left in the log counts as committed: there is nobody who could say otherwise.
    """

    def __init__(self, local: LocalMetadata, snapshot_bytes: int = SNAPSHOT_BYTES) -> None:
        """Go on from a copy, as the controller of a new epoch; `close` closes it.

        A snapshot is due after so many bytes of records.
        """
        self._local: Final = local
        self._snapshot_bytes: Final = snapshot_bytes
        log, snapshot = local.log, local.snapshot
        log.advance_high_watermark(log.log_end_offset)
        latest = log.epochs.latest_epoch
        in_snapshot = -1 if snapshot is None else snapshot.epoch
        in_log = -1 if latest is None else latest
        self.leader_epoch: Final = max(in_snapshot, in_log, _epoch_of_elections(log.directory)) + 1
        """In which this controller writes."""

    @classmethod
    def open(cls, root: str | os.PathLike[str]) -> Self:
        """Open what lies in a log.dirs root, or begin there; nobody else may have it open.

        Raises what `Log.open` raises.
        """
        return cls(LocalMetadata.open(root))

    def close(self) -> None:
        """Close the files."""
        self._local.close()

    def remember_voter(self, node_id: int) -> None:
        """Write `quorum-state`: a node leads in this epoch, and is the only one that has a vote.

        A log without elections does not say so, nor one whose beginning a snapshot has replaced.
        """
        state = QuorumState(node_id, self.leader_epoch, UNKNOWN_NODE, None, (node_id,), 0)
        state.write(self.log.directory / QUORUM_STATE_NAME)

    @property
    def log(self) -> Log:
        """The log itself: all that is below its high watermark is on stable storage."""
        return self._local.log

    @property
    def snapshot(self) -> MetadataSnapshot | None:
        """What the log goes on from; None where it begins with the first record of all."""
        return self._local.snapshot

    @property
    def snapshots(self) -> tuple[MetadataSnapshot, ...]:
        """All that are kept, the latest last."""
        return self._local.snapshots

    def state(self) -> FollowedLogState:
        """Return where the log stands, with the epoch of the snapshot that it goes on from."""
        return self._local.state()

    @property
    def next_offset(self) -> int:
        """Where the next record is appended."""
        return self._local.log.log_end_offset

    def replay(self, replay: Callable[[MetadataBatch], None]) -> None:
        """Pass on all that counts, and end a transaction that was left open. Raises MetadataError.

        A snapshot counts as one batch, which ends where the log goes on.
        """
        begin, transactions, snapshot = 0, Transactions(), self._local.snapshot
        if snapshot is not None and not snapshot.is_bootstrap:
            loaded = load_snapshot(snapshot)
            begin = loaded.end_offset
            replay(MetadataBatch(0, begin - 1, loaded.epoch, 0, tuple(loaded.image.records())))
        for batch in read_metadata(self._local.log, begin):
            counting = transactions.take(batch)
            if counting is not None:
                replay(counting)
        if transactions.is_open:
            aborted = transactions.take(self.append([AbortTransactionRecord(reason="the controller has changed")]))
            if aborted is not None:
                replay(aborted)

    @property
    def is_snapshot_due(self) -> bool:
        """Whether so much was written since the last one."""
        return self._local.bytes_since_snapshot >= self._snapshot_bytes

    def begin_segment(self) -> None:
        """Begin a segment, so that what follows is apart from what the next snapshot contains."""
        self._local.log.roll()

    def take_snapshot(self, published: PublishedImage) -> None:
        """Write a snapshot of an image of this log, and drop what the one before has in it. Raises MetadataError too.

        Another thread may append meanwhile.
        """
        self._local.take_snapshot(published.image, published.applied_offset + 1, published.epoch)

    def append(
        self, records: Sequence[MetadataRecord], metadata_version: int = LATEST_METADATA_VERSION
    ) -> MetadataBatch:
        """Append records as one batch, which is on stable storage when this returns."""
        log, epoch, now = self._local.log, self.leader_epoch, now_ms()
        info = append_metadata(log, records, leader_epoch=epoch, metadata_version=metadata_version, timestamp=now)
        self._commit()
        return MetadataBatch(info.first_offset, info.last_offset, epoch, now, tuple(records))

    def append_control(self, messages: Sequence[ControlMessage]) -> MetadataBatch:
        """Append what the quorum says of itself, as `append` does."""
        log, epoch, now = self._local.log, self.leader_epoch, now_ms()
        template = BatchTemplate(base_offset=log.log_end_offset, leader_epoch=epoch, is_control=True)
        records = [encode_control(message, now) for message in messages]
        info = log.append_batches(encode_batch(records, template), leader_epoch=epoch)
        self._commit()
        return MetadataBatch(info.first_offset, info.last_offset, epoch, now, ())

    def _commit(self) -> None:
        log = self._local.log
        log.flush()
        log.advance_high_watermark(log.log_end_offset)


def _epoch_of_elections(directory: Path) -> int:
    """Return the latest epoch that a controller of Kafka's knew here, which may be in no record; -1 without any."""
    path = directory / QUORUM_STATE_NAME
    return QuorumState.read(path).leader_epoch if path.exists() else -1
