"""A quorum's metadata as an observer follows it: what to ask next, and the image that answers give. No socket."""

from collections import deque
from collections.abc import Iterator
from typing import Final, NamedTuple
from uuid import UUID

from logstore import TopicPartition
from logstore.batch.batches import Batch, read_batches
from logstore.errors import InvalidBatchHeaderError, TornBatchError
from replication.metadata.batches import MetadataBatch, ensure_sound, metadata_batch
from replication.metadata.errors import DamagedMetadataError
from replication.metadata.image import ClusterImage
from replication.metadata.transactions import Transactions
from replication.protocol.addresses import Address
from replication.protocol.error_code import ErrorCode
from replication.protocol.errors import MalformedResponseError, error_for, raise_for
from replication.protocol.messages.fetch import FetchedPartition, FetchPartition, FetchRequest, FetchResponse
from replication.protocol.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from replication.quorum.errors import MetadataDivergedError
from replication.quorum.fetched_snapshot import FetchedSnapshot

METADATA_PARTITION: Final = TopicPartition("__cluster_metadata", 0)
METADATA_TOPIC_ID: Final = UUID(int=1)
"""In each cluster (Kafka: Uuid.METADATA_TOPIC_ID)."""

_MAX_BYTES: Final = 1 << 20
_MAX_WAIT_MS: Final = 500
_LEADER_ERRORS: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH}
)

QuorumRequest = FetchRequest | FetchSnapshotRequest
QuorumResponse = FetchResponse | FetchSnapshotResponse


class OtherLeader(NamedTuple):
    """Who leads the quorum instead of whom was asked, or in another epoch than thought."""

    leader_id: int
    leader_epoch: int
    address: Address | None
    """None where that is not told, as before Kafka 3.7."""


class FollowedMetadata:
    """The image of what is committed (Kafka: KafkaRaftClient as an observer, and MetadataLoader).

    >>> followed.take(request := followed.request(), connection.ask(request))
    >>> followed.image.brokers[9].fenced
    """

    def __init__(self, node_id: int, cluster_id: str) -> None:
        """Know nothing yet. Ask as node `node_id`; a leader of another cluster refuses."""
        self.image = ClusterImage()
        self.applied_offset = -1
        """The highest offset that is in the image; -1 before the first."""
        self._node_id = node_id
        self._cluster_id = cluster_id
        self._leader_epoch = 0
        self._committed_end = (0, 0)
        """The offset after the last batch below the high watermark, and that batch's epoch."""
        self._held: deque[MetadataBatch] = deque()
        """Batches that are not committed yet."""
        self._transactions = Transactions()
        self._snapshot: FetchedSnapshot | None = None

    def request(self) -> QuorumRequest:
        """Return what to ask the leader, or who is taken for it."""
        if self._snapshot is not None:
            return self._snapshot.request(METADATA_PARTITION, self._node_id, self._cluster_id, self._leader_epoch)
        offset, epoch = self._end
        asked = FetchPartition(offset, _MAX_BYTES, self._leader_epoch, epoch, 0)
        return FetchRequest(
            partitions={METADATA_PARTITION: asked},
            topic_ids={METADATA_PARTITION.topic: METADATA_TOPIC_ID},
            replica_id=self._node_id,
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=0,
            cluster_id=self._cluster_id,
        )

    def take(self, response: QuorumResponse) -> OtherLeader | None:
        """Take the answer to the last request; return who else leads, None where the answer is the leader's.

        Raises KafkaError where nobody is known to lead, or the leader refuses; MalformedResponseError; and for good
        MetadataError where records cannot be read or replayed, and MetadataDivergedError.
        """
        if isinstance(response, FetchSnapshotResponse):
            self._take_snapshot(response)
            return None
        raise_for(response.error, "Fetch of the metadata")
        fetched = response.partitions.get(METADATA_PARTITION)
        if fetched is None:
            raise MalformedResponseError("the answer to a Fetch of the metadata does not tell of it")
        if fetched.error in _LEADER_ERRORS and fetched.current_leader is not None:
            leader_id, self._leader_epoch = fetched.current_leader
            return OtherLeader(leader_id, self._leader_epoch, response.leaders.get(leader_id))
        if fetched.error is not ErrorCode.NONE:
            raise error_for(fetched.error, "Fetch of the metadata")
        self._take_fetched(fetched)
        return None

    @property
    def _end(self) -> tuple[int, int]:
        """The offset to fetch from, and the epoch of the batch before it."""
        if not self._held:
            return self._committed_end
        return self._held[-1].last_offset + 1, self._held[-1].leader_epoch

    def _take_fetched(self, fetched: FetchedPartition) -> None:
        offset, epoch = self._committed_end
        if fetched.snapshot_id is not None:
            # Fetched again and again, these would bring nothing.
            if fetched.snapshot_id.end_offset <= offset:
                raise MalformedResponseError(
                    f"the metadata's leader offers a snapshot up to offset {fetched.snapshot_id.end_offset:,}, and "
                    f"{offset:,} follows"
                )
            self._snapshot = FetchedSnapshot(fetched.snapshot_id)
        elif fetched.diverging_epoch is not None:
            if fetched.diverging_epoch.end_offset < offset:
                raise MetadataDivergedError(offset, epoch, fetched.diverging_epoch)
            if not self._held:
                raise MalformedResponseError(
                    f"the metadata's leader says that offset {offset:,} of epoch {epoch} diverges, and its own log "
                    f"goes on to {fetched.diverging_epoch.end_offset:,}"
                )
            # What is committed is the leader's too; the rest is fetched anew.
            self._held.clear()
        else:
            self._hold(fetched.records)
            self._replay_up_to(fetched.high_watermark)

    def _hold(self, records: bytes | memoryview) -> None:
        for batch in _whole_batches(memoryview(records).toreadonly()):
            expected, _ = self._end
            if batch.base_offset != expected:
                raise MalformedResponseError(
                    f"the metadata's leader sent a batch at offset {batch.base_offset:,} where {expected:,} follows"
                )
            self._held.append(metadata_batch(batch))

    def _replay_up_to(self, high_watermark: int) -> None:
        while self._held and self._held[0].last_offset < high_watermark:
            batch = self._held.popleft()
            self._committed_end = batch.last_offset + 1, batch.leader_epoch
            counting = self._transactions.take(batch)
            if counting is not None:
                self.image.replay_all(counting.records)
                self.applied_offset = counting.last_offset

    def _take_snapshot(self, response: FetchSnapshotResponse) -> None:
        snapshot, self._snapshot = self._snapshot, None
        # The leader may have changed, or have removed the snapshot: the next Fetch tells.
        raise_for(response.error, "FetchSnapshot of the metadata")
        if snapshot is None:
            return
        if not snapshot.take(response):
            self._snapshot = snapshot
            return
        image = ClusterImage()
        image.replay_all(snapshot.records())
        self.image = image
        self._held.clear()
        self._transactions = Transactions()
        self._committed_end = snapshot.id.end_offset, snapshot.id.epoch
        self.applied_offset = snapshot.id.end_offset - 1


def _whole_batches(records: memoryview) -> Iterator[Batch]:
    """Give the batches that came whole: a leader cuts the last one off where its answer is full."""
    try:
        for batch in read_batches(records):
            ensure_sound(batch)
            yield batch
    except TornBatchError:
        return
    except (InvalidBatchHeaderError, DamagedMetadataError) as error:
        raise MalformedResponseError(f"the answer to a Fetch of the metadata is damaged: {error.what}") from error
