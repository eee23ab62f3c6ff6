"""A quorum's metadata as an observer follows it: what to ask next, and what answers do to the local copy. No socket."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from logstore.batch.batches import read_batches
from logstore.errors import InvalidBatchHeaderError, TornBatchError
from replication.base.metadata_partition import METADATA_PARTITION, METADATA_TOPIC_ID
from replication.cluster.fetcher.decisions.actions import Append
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.decisions.fetch_state_machine import Step, after_append, after_cut, ask, follow
from replication.cluster.fetcher.errors import RefusedRecordsError
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.followed_log import FollowedLog
from replication.cluster.quorum.fetched_snapshot import FetchedSnapshot
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.quorum_decisions import QUORUM_RULES, OtherLeader, after_answer, other_leader
from replication.cluster.quorum.quorum_standing import QuorumStanding
from replication.records.metadata.batches import MetadataBatch, ensure_sound
from replication.records.metadata.errors import DamagedMetadataError, InvalidReplayError
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.image_publisher import ImagePublisher, PublishedImage
from replication.records.metadata.loading import load_snapshot
from replication.wire.errors import MalformedResponseError, raise_for
from replication.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse

_MAX_BYTES: Final = 1 << 20
_MAX_WAIT_MS: Final = 500

QuorumRequest = FetchRequest | FetchSnapshotRequest
QuorumResponse = FetchResponse | FetchSnapshotResponse


class FollowedMetadata:
    """Follows into a local copy, and publishes what is committed (Kafka: KafkaRaftClient as an observer).

    >>> with FollowedMetadata.open(9, cluster_id, "/var/metadata") as followed:
    ...     followed.take(connection.ask(followed.request()))
    ...     followed.image.brokers[9].fenced
    """

    def __init__(
        self, node_id: int, cluster_id: str, local: LocalMetadata, hear: Callable[[int], object] = lambda _: None
    ) -> None:
        """See `open`."""
        self._hear = hear
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._local = local
        # A leader names its epoch to whoever asks in an older one, though not if the copy has batches of a later one.
        self._log, self._state = self._following(max(local.state().latest_epoch, 0))
        self._snapshot: FetchedSnapshot | None = None
        self._leader_id = -1
        self.is_current: bool = False
        """Whether the last answer has shown that all is here which its leader had committed."""
        self._publisher = ImagePublisher()
        self._replayed_end = 0
        """The offset after the last batch that was replayed."""
        if local.snapshot is not None:
            self._publisher.replace(load_snapshot(local.snapshot))
            self._replayed_end = local.snapshot.end_offset
        self._replay()

    @classmethod
    def open(
        cls,
        node_id: int,
        cluster_id: str,
        directory: str | os.PathLike[str] | None = None,
        hear: Callable[[int], object] = lambda _: None,
    ) -> Self:
        """Replay the copy in a directory, and go on from it; without one, know nothing yet and leave nothing behind.

        Asks as node `node_id`; a leader of another cluster refuses. `hear` is called with the time at which the leader
        wrote what was fetched, in milliseconds since 1970 UTC by its own clock. Raises what `LocalMetadata.open`
        raises, and MetadataError where what is there cannot be read or replayed.
        """
        local = LocalMetadata.open(directory)
        try:
            return cls(node_id, cluster_id, local, hear)
        except BaseException:
            local.close()
            raise

    @property
    def published(self) -> PublishedImage:
        """What is committed, as far as it has come; any thread may read it."""
        return self._publisher.published

    @property
    def image(self) -> ClusterImage:
        """The image of what is committed."""
        return self.published.image

    @property
    def applied_offset(self) -> int:
        """The highest offset that is in the image; -1 before the first."""
        return self.published.applied_offset

    @property
    def standing(self) -> QuorumStanding:
        """Where it stands by now; only the thread that follows asks."""
        log = self._local.state()
        return QuorumStanding(
            self._leader_id, self._state.leader_epoch, log.high_watermark, log.log_end_offset, max(log.latest_epoch, 0)
        )

    def request(self) -> QuorumRequest:
        """Return what to ask the leader, or who is taken for it."""
        if self._snapshot is not None:
            return self._snapshot.request(METADATA_PARTITION, self._node_id, self._cluster_id, self._state.leader_epoch)
        while isinstance(step := ask(self._state, QUORUM_RULES, self._local.state()), Step):
            self._take_step(step)
        state = self._state
        # A quorum's epochs begin with 0, as that of a log without any does.
        asked = FetchPartition(state.fetch_offset, _MAX_BYTES, state.leader_epoch, max(state.last_fetched_epoch, 0), 0)
        return FetchRequest(
            partitions={METADATA_PARTITION: asked},
            topic_ids={METADATA_PARTITION.topic: METADATA_TOPIC_ID},
            replica_id=self._node_id,
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=0,
            cluster_id=self._cluster_id,
        )

    def take(self, response: QuorumResponse) -> OtherLeader | None:
        """Handle the answer to the last request; return who else leads, None where the answer is the leader's.

        Raises KafkaError where nobody is known to lead, or the leader refuses; MalformedResponseError; OSError where
        the copy cannot be written now; and for good MetadataError where records cannot be read or replayed,
        MetadataDivergedError, and other LogStoreErrors of the copy.
        """
        self.is_current = False
        try:
            return self._take(response)
        except BaseException:
            # Whatever it was broken off in the middle of, it goes on from where the log is.
            self._state = follow(QUORUM_RULES, self._state.leader_epoch, self._local.state())
            raise

    def close(self) -> None:
        """Close the copy's files. What was published stays."""
        try:
            self._drop_snapshot()
        finally:
            self._local.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- answers

    def _take(self, response: QuorumResponse) -> OtherLeader | None:
        if isinstance(response, FetchSnapshotResponse):
            self._take_piece(response)
            return None
        raise_for(response.error, "Fetch of the metadata")
        fetched = response.partitions.get(METADATA_PARTITION)
        if fetched is None:
            raise MalformedResponseError("the answer to a Fetch of the metadata does not contain it")
        other = other_leader(fetched, response.leaders, self._state.leader_epoch)
        if fetched.current_leader is not None:
            self._leader_id = fetched.current_leader.leader_id
        if other is not None:
            self._log, self._state = self._following(other.leader_epoch)
            return other
        answer = after_answer(self._state, self._local.state(), fetched)
        if isinstance(answer, SnapshotId):
            self._snapshot = self._local.receive(answer)
            return None
        self._take_step(answer)
        self._replay()
        # A leader that has just begun does not know yet what is committed (-1).
        self.is_current = 0 <= fetched.high_watermark <= self._replayed_end
        return None

    def _take_step(self, step: Step) -> None:
        if isinstance(step.action, Append):
            self._append(step.action)
            self._state = after_append(self._state, QUORUM_RULES, self._local.state(), step.action)
            return
        if step.action is not None:
            # With a cut the log notes its high watermark: what lies below must be on stable storage by then, or a crash
            # could bring back records there that were cut before.
            self._local.log.flush()
            self._log.cut(step.action, self._state.leader_epoch)
        self._state = after_cut(step.state, self._local.state())

    def _append(self, action: Append) -> None:
        _ensure_goes_on(memoryview(action.records).toreadonly(), self._local.log.log_end_offset)
        try:
            self._log.append(action, self._state.leader_epoch)
        except RefusedRecordsError as error:
            raise MalformedResponseError(f"the answer to a Fetch of the metadata is refused: {error.fault}") from error
        self._hear(_latest_time(memoryview(action.records)))

    def _take_piece(self, response: FetchSnapshotResponse) -> None:
        snapshot = self._snapshot
        if snapshot is None:
            return
        try:
            raise_for(response.error, "FetchSnapshot of the metadata")
            if snapshot.take(response):
                self._install(snapshot)
        except BaseException:
            # The leader may have changed, or have removed the snapshot: the next Fetch tells.
            self._drop_snapshot()
            raise

    def _install(self, snapshot: FetchedSnapshot) -> None:
        # Before anything is replaced: it shows whether the snapshot is whole.
        loaded = load_snapshot(snapshot.file)
        self._local.install(snapshot)
        self._snapshot = None
        self._log, self._state = self._following(self._state.leader_epoch)
        self._replayed_end = loaded.end_offset
        self._publisher.replace(loaded)
        self._publisher.publish()

    def _drop_snapshot(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            snapshot.discard()

    def _following(self, leader_epoch: int) -> tuple[FollowedLog, FetchState]:
        """Begin to follow the leader of an epoch: what another has shown says nothing of its log."""
        log = FollowedLog(METADATA_PARTITION, self._local.log, FetchObserver())
        return log, follow(QUORUM_RULES, leader_epoch, self._local.state())

    # --- replay

    def _replay(self) -> None:
        """Replay what is committed by now, and publish."""
        local = self._local
        if self._replayed_end < local.log.high_watermark:
            try:
                self._publisher.replay(self._unreplayed())
            except InvalidReplayError as error:
                raise error.with_position(file=local.log.directory, position=None, offset=self._replayed_end) from error
        self._publisher.publish()

    def _unreplayed(self) -> Iterator[MetadataBatch]:
        for batch in self._local.committed(self._replayed_end):
            yield batch
            self._replayed_end = batch.last_offset + 1


def _latest_time(records: memoryview) -> int:
    latest_ms = -1
    with suppress(TornBatchError):  # one that is cut off at the end comes again
        for batch in read_batches(records):
            latest_ms = max(latest_ms, batch.max_timestamp)
    return latest_ms


def _ensure_goes_on(records: memoryview, next_offset: int) -> None:
    """Raise MalformedResponseError unless whole batches go on at an offset, without a hole.

    What a leader has cut off at the end is left to whoever appends.
    """
    try:
        for batch in read_batches(records):
            ensure_sound(batch)
            if batch.base_offset != next_offset:
                raise MalformedResponseError(
                    f"the metadata's leader sent a batch at offset {batch.base_offset:,} where {next_offset:,} follows"
                )
            next_offset = batch.last_offset + 1
    except TornBatchError:
        return
    except (InvalidBatchHeaderError, DamagedMetadataError) as error:
        raise MalformedResponseError(f"the answer to a Fetch of the metadata is damaged: {error.what}") from error
