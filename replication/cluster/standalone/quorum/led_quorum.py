"""A quorum with one voter, as who leads it knows it."""

from typing import Final
from uuid import UUID

from logstore.clock import now_ms
from logstore.log.log import Log
from replication.cluster.fetcher.decisions.followed_log_state import FollowedLogState
from replication.cluster.standalone.quorum.observers import Observers
from replication.cluster.standalone.static_controller import StaticController
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_quorum import QuorumReplica
from replication.wire.messages.fetch import LeaderIdAndEpoch, SnapshotId

KRAFT_VERSION: Final = 1
"""At which a log names the voters (KIP-853)."""
_NOBODY: Final = -1


class LedQuorum:
    """What all its answers begin with (Kafka: QuorumState of a leader)."""

    def __init__(
        self, controller: StaticController, node_id: int, address: Address, directory_id: UUID | None = None
    ) -> None:
        """Lead as node `node_id`, which brokers reach at this address.

        `directory_id` is that of the metadata's directory, where the log says who the voter is; else who follows is
        told that in another way.
        """
        self.node_id: Final = node_id
        self.directory_id: Final = directory_id
        self.address: Final = address
        self.cluster_id: Final = controller.cluster_id
        self.observers: Final = Observers()
        """Those that follow."""
        self._controller: Final = controller

    @property
    def log(self) -> Log:
        """The metadata's. Below its high watermark it is on stable storage; nobody gets more."""
        return self._controller.metadata.log

    def state(self) -> FollowedLogState:
        """Return where the log stands, with the epoch of the snapshot that it goes on from."""
        return self._controller.metadata.state()

    @property
    def snapshot_ids(self) -> tuple[SnapshotId, ...]:
        """Of the snapshots that are kept, the latest last; none where the log begins with the first record of all."""
        kept = self._controller.metadata.snapshots
        return tuple(SnapshotId(each.end_offset, each.epoch) for each in kept if not each.is_bootstrap)

    @property
    def snapshot_id(self) -> SnapshotId | None:
        """Of the latest."""
        return next(reversed(self.snapshot_ids), None)

    @property
    def leader(self) -> LeaderIdAndEpoch:
        """Who leads, in which epoch: nobody once the log could not be written."""
        leader_id = self.node_id if self._controller.failure is None else _NOBODY
        return LeaderIdAndEpoch(leader_id, self._controller.metadata.leader_epoch)

    @property
    def leaders(self) -> dict[int, Address]:
        """Where who leads listens, by node id."""
        return {self.node_id: self.address}

    @property
    def features(self) -> dict[str, int]:
        """Levels of features that the quorum works at, rather than the cluster: whether its log names the voters."""
        return {} if self.directory_id is None else {"kraft.version": KRAFT_VERSION}

    def own_progress(self) -> QuorumReplica:
        """How far the leader is: always as far as itself."""
        now = now_ms()
        return QuorumReplica(self.node_id, self.log.log_end_offset, self.directory_id, now, now)

    def is_other(self, cluster_id: str | None) -> bool:
        """Whether who asks takes this for another cluster; not every request says."""
        return cluster_id is not None and cluster_id != self.cluster_id

    def refusal(self, leader_epoch: int) -> ErrorCode:
        """Return why one who takes an epoch for the current one is refused; NONE if it is not.

        Kafka: KafkaRaftClient.validateLeaderOnlyRequest.
        """
        leader_id, current = self.leader
        if leader_epoch != current:
            return ErrorCode.FENCED_LEADER_EPOCH if leader_epoch < current else ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if leader_id == _NOBODY else ErrorCode.NONE
