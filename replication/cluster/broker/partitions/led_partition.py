"""A partition that this broker leads: what it knows and decides of the replicas (Kafka: Partition)."""

from collections.abc import Callable
from threading import Lock
from typing import Final
from uuid import UUID

from logstore import AppendOrigin, Log, TopicPartition
from logstore.append.append_info import AppendInfo
from logstore.clock import now_ms
from replication.cluster.broker.errors import NotEnoughReplicasError, NotLeaderError
from replication.cluster.broker.events.partition_events import IsrChanged
from replication.cluster.broker.partitions.follower_progress import FollowerProgress, described_lag
from replication.cluster.broker.partitions.followers import Followers
from replication.cluster.broker.partitions.isr_changes import IsrChanges
from replication.cluster.broker.partitions.isr_state import IsrState
from replication.cluster.broker.partitions.leader_settings import LeaderSettings
from replication.cluster.broker.partitions.partition_traffic import PartitionTraffic
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import IsrAnswer, IsrChange

ALL_IN_SYNC: Final = -1
"""acks=all: an append is answered once all in-sync replicas have it."""

_ANY_EPOCH: Final = -1
REFUSED: Final = frozenset({ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA})
"""Nothing was changed: the leader may want something else."""
_OUTDATED: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
    }
)
"""The controller knows better: the leader wants nothing more until the metadata has told it what."""


def _nothing() -> None: ...


def _untold(_: IsrChanged) -> None: ...


class LedPartition:
    """Leads from when it is made until `resign` returns. Any number of threads may call it.

    It appends under its lock (Kafka: leaderIsrUpdateLock); `isr_changes`, `wake` and `tell` are called without it.
    """

    def __init__(
        self,
        partition: TopicPartition,
        topic_id: UUID,
        log: Log,
        state: PartitionRegistration,
        *,
        broker_id: int,
        broker_of: Callable[[int], BrokerRegistration | None],
        isr_changes: IsrChanges,
        settings: LeaderSettings | None = None,
        clock: Callable[[], int] = now_ms,
        wake: Callable[[], None] = _nothing,
        tell: Callable[[IsrChanged], object] = _untold,
        traffic: PartitionTraffic | None = None,
    ) -> None:
        """Become the leader: its epoch starts where the log ends, before anything is appended.

        `broker_of` returns a broker's registration in the newest metadata, None for an unknown one. `clock` returns
        milliseconds. `wake` is called when the low watermark may have moved, and when it leads no more; the log wakes
        those who wait for anything else. `tell` hears of each other ISR, and `traffic` counts what is appended. Raises
        what `Log.assign_epoch` raises.
        """
        self.partition: TopicPartition = partition
        self.topic_id: UUID = topic_id
        self.settings: LeaderSettings = LeaderSettings() if settings is None else settings
        """May be replaced at any time."""
        self._log = log
        self._broker_id = broker_id
        self._isr_changes = isr_changes
        self._clock = clock
        self._wake = wake
        self._tell = tell
        self._traffic = PartitionTraffic() if traffic is None else traffic
        self._lock = Lock()
        self._leads = True
        self.leader_epoch: int = state.leader_epoch
        self.partition_epoch: int = state.partition_epoch
        self.recovery_state: int = state.leader_recovery_state
        """RECOVERING from an unclean election on, until the controller has answered the first change of the ISR."""
        self.epoch_start_offset: int = log.log_end_offset
        """Where its records begin: a follower that has not come so far may have others instead of them."""
        self._state = IsrState(state.isr)
        log.assign_epoch(state.leader_epoch, self.epoch_start_offset)
        now = clock()
        self._followers = Followers(broker_id, broker_of).unheard_of(state, now)
        self._advance(now)

    # --- what it knows

    @property
    def isr(self) -> tuple[int, ...]:
        """The replicas in sync that the controller has committed, by broker ids."""
        return self._state.isr

    @property
    def maximal_isr(self) -> frozenset[int]:
        """Those, and the one that is about to join them."""
        return self._state.maximal_isr

    @property
    def wanted(self) -> IsrChange | None:
        """The change of the ISR that it waits for."""
        return self._state.wanted

    @property
    def is_under_min_isr(self) -> bool:
        """Whether too few are in sync. No more are demanded than there are replicas."""
        return len(self._state.isr) < self._min_isr

    @property
    def is_at_min_isr(self) -> bool:
        """Whether just enough are in sync."""
        return len(self._state.isr) == self._min_isr

    @property
    def low_watermark(self) -> int:
        """The offset below which all replicas on living brokers have deleted; UNKNOWN_OFFSET before they report it."""
        with self._lock:
            starts = self._followers.log_start_offsets()
        return min([self._log.log_start_offset, *starts])

    @property
    def followers(self) -> tuple[int, ...]:
        """The other replicas, by broker ids."""
        return tuple(self._followers)

    def progress_of(self, broker_id: int) -> FollowerProgress | None:
        """Return how far a follower has got; None for a broker that is none."""
        return self._followers.get(broker_id)

    def replicated(self, offset: int) -> ErrorCode | None:
        """Return what to answer a producer that waits until all in sync have all below `offset`; None: not yet.

        Kafka: checkEnoughReplicasReachOffset.
        """
        is_reached = self._log.high_watermark >= offset
        if not self._leads:  # looked at last: who leads now led then, and it was its own high watermark
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if not is_reached:
            return None
        is_enough = len(self._state.maximal_isr) >= self._min_isr
        return ErrorCode.NONE if is_enough else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    def refusal(self, broker_id: int, current_leader_epoch: int = _ANY_EPOCH) -> ErrorCode:
        """Return why a broker may not follow; NONE if it may.

        One that believes this epoch to be current, and yet to be a replica, knows newer metadata than this broker.
        """
        if broker_id in self._followers:
            return ErrorCode.NONE
        is_untold = current_leader_epoch == _ANY_EPOCH
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if is_untold else ErrorCode.UNKNOWN_LEADER_EPOCH

    # --- what happens

    def append(
        self,
        data: bytes | bytearray | memoryview,
        *,
        required_acks: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
    ) -> AppendInfo:
        """Append a producer's batch (Kafka: appendRecordsToLeader).

        Raises NotEnoughReplicasError if `required_acks` is ALL_IN_SYNC and too few are, NotLeaderError after `resign`,
        and what `Log.append` raises, with nothing appended.
        """
        with self._lock:
            if not self._leads:
                raise NotLeaderError(self.partition, self._broker_id, self.leader_epoch)
            if required_acks == ALL_IN_SYNC and self.is_under_min_isr:
                raise NotEnoughReplicasError(self.partition, self._state.isr, self._min_isr)
            info = self._log.append(
                data, leader_epoch=self.leader_epoch, origin=origin, transaction_version=transaction_version
            )
            self._traffic.appended(info, len(data))
            self._advance(self._clock())
        return info

    def delete_records(self, before: int) -> None:
        """Move the log start offset to `before`, if it is earlier; followers learn it as they fetch.

        Kafka: deleteRecordsOnLeader. Raises NotLeaderError after `resign`, and what `Log.delete_records` raises.
        """
        with self._lock:
            if not self._leads:
                raise NotLeaderError(self.partition, self._broker_id, self.leader_epoch)
            self._log.delete_records(before)
        self._wake()

    def fetched(
        self,
        broker_id: int,
        broker_epoch: int,
        fetch_offset: int,
        log_start_offset: int,
        *,
        leader_end_offset: int | None = None,
        current_leader_epoch: int = _ANY_EPOCH,
    ) -> ErrorCode:
        """Note that a replica has all below `fetch_offset`, which it fetches; return why it is refused, or NONE.

        To be called once the fetch could be read, without divergence, with the log's end from before it was read. Where
        the first batch of the answer begins lower, pass that offset: the replica lacks the whole batch. Kafka:
        updateFollowerFetchState.
        """
        now = self._clock()
        with self._lock:
            follower = self._followers.get(broker_id)
            if follower is None or not self._leads:
                return self.refusal(broker_id, current_leader_epoch) or ErrorCode.NOT_LEADER_OR_FOLLOWER
            if follower.is_of_former_life(broker_epoch, self._followers.broker_of(broker_id)):
                return ErrorCode.NOT_LEADER_OR_FOLLOWER
            end_offset, start_offset = follower.log_end_offset, follower.log_start_offset
            leader_end = self._log.log_end_offset if leader_end_offset is None else leader_end_offset
            follower.note(fetch_offset, log_start_offset, broker_epoch, leader_end, now)
            change = self._expansion(broker_id, follower)
            if fetch_offset != end_offset:
                self._advance(now)
        if log_start_offset != start_offset:
            self._wake()
        self._ask(change)
        return ErrorCode.NONE

    def replace_log(self, make: Callable[[], Log]) -> Log:
        """Go on with the log that `make` returns, which holds the same; nothing is appended while it is made.

        What `make` raises is raised, and the log stays. Raises NotLeaderError after `resign`.
        """
        with self._lock:
            if not self._leads:
                raise NotLeaderError(self.partition, self._broker_id, self.leader_epoch)
            self._log = make()
            return self._log

    def check_lag(self) -> None:
        """Want an ISR without those that have not caught up for too long (Kafka: maybeShrinkIsr)."""
        with self._lock:
            change = self._shrinking() if self._leads else None
        self._ask(change)

    def update(self, state: PartitionRegistration) -> bool:
        """Apply newer metadata, in which this broker still leads; ignore older, and return False.

        It overrules a change that was asked for, unless it says only what an answer has said before: the controller may
        still make that change, and whoever joins must be waited for. Kafka's leader forgets the change even then, and
        may lose what it commits until it hears of the new ISR. A later leader epoch starts where the log ends. Kafka:
        makeLeader.
        """
        with self._lock:
            if not self._leads or state.partition_epoch < self.partition_epoch:
                return False
            now, told = self._clock(), None
            self._followers = self._followers.among(state.replicas)
            if (state.leader_epoch, state.partition_epoch) != (self.leader_epoch, self.partition_epoch):
                if state.leader_epoch > self.leader_epoch:
                    self._lead_on(state, now)
                told = self._take(state)
            self._advance(now)
        self._say(told)
        self._wake()
        return True

    def answered(
        self, change: IsrChange, error: ErrorCode, state: PartitionRegistration | IsrAnswer | None = None
    ) -> None:
        """Apply the controller's answer to a change; `state` is the partition after it, if there is no error.

        Ignored unless the change is the one that is waited for: so an answer counts once, and newer metadata overrules
        it. Kafka: handleAlterPartitionUpdate, handleAlterPartitionError.
        """
        told, again = None, None
        with self._lock:
            if not self._leads or self._state.wanted != change:
                return
            if error is ErrorCode.NONE and state is not None:
                told = self._commit(state)
            elif error in REFUSED:
                self._state = self._state.committed()
            elif error not in _OUTDATED:
                again = change
        self._say(told)
        self._ask(again)

    def resign(self) -> None:
        """Lead no more: once this returns, nothing is appended and no offset moves through it."""
        with self._lock:
            self._leads = False
        self._wake()

    # --- with the lock held

    @property
    def _min_isr(self) -> int:
        return min(self.settings.min_insync_replicas, len(self._followers) + 1)

    def _take(self, state: PartitionRegistration | IsrAnswer) -> IsrChanged | None:
        """Apply what the controller has committed; return the change of the ISR, if it is one."""
        before, epochs = self._state, {"leader_epoch": self.leader_epoch, "partition_epoch": state.partition_epoch}
        self.partition_epoch = state.partition_epoch
        self.recovery_state = state.leader_recovery_state
        self._state = IsrState(state.isr)
        return before.change_to(state.isr, self.partition, self._log, **epochs)

    def _lead_on(self, state: PartitionRegistration, now: int) -> None:
        """Lead in a later epoch. After one that was missed, followers may have cut their logs by another leader's.

        Kafka's leader counts them as far as they had come to it, and may commit what no other has any more.
        """
        if state.leader_epoch > self.leader_epoch + 1:
            self._followers = self._followers.unheard_of(state, now)
        self.epoch_start_offset = self._log.log_end_offset
        self._log.assign_epoch(state.leader_epoch, self.epoch_start_offset)
        self.leader_epoch = state.leader_epoch
        self._followers.follow_on(now, state.isr)

    def _commit(self, state: PartitionRegistration | IsrAnswer) -> IsrChanged | None:
        if state.leader_epoch != self.leader_epoch or state.partition_epoch < self.partition_epoch:
            return None  # the metadata tells what is true
        told = self._take(state)
        self._advance(self._clock())
        return told

    def _advance(self, now: int) -> None:
        """Move the high watermark to what all of the maximal ISR have (Kafka: maybeIncrementLeaderHW).

        It also waits for followers that have caught up and may join: to join, they must reach it.
        """
        if self.is_under_min_isr:
            return
        end_offset, lag_ms = self._log.log_end_offset, self.settings.replica_lag_time_max_ms
        ends = self._followers.awaited_end_offsets(self._state.maximal_isr, end_offset, now, lag_ms)
        self._log.advance_high_watermark(min([end_offset, *ends]))

    def _expansion(self, broker_id: int, follower: FollowerProgress) -> IsrChange | None:
        """Want a follower in the ISR that has all that is committed, and all from before this leader epoch."""
        state = self._state
        if (
            state.is_pending
            or broker_id in state.isr
            or follower.log_end_offset < max(self._log.high_watermark, self.epoch_start_offset)
            or not follower.may_join(self._followers.broker_of(broker_id))
        ):
            return None
        return self._want((*state.isr, broker_id), f"broker {broker_id} has come to offset {follower.log_end_offset}")

    def _shrinking(self) -> IsrChange | None:
        state = self._state
        if state.is_pending:
            return None
        end_offset, lag_ms = self._log.log_end_offset, self.settings.replica_lag_time_max_ms
        in_sync = self._followers.in_sync(state.isr, end_offset, self._clock(), lag_ms)
        if in_sync == state.isr:
            return None
        lag = described_lag(self._followers, set(state.isr) - set(in_sync), end_offset)
        return self._want(in_sync, f"not caught up for {lag_ms} ms: {lag}")

    def _want(self, isr: tuple[int, ...], why: str) -> IsrChange:
        replicas = self._followers.registered(isr)
        change = IsrChange(self.topic_id, self.partition.partition, self.leader_epoch, self.partition_epoch, replicas)
        self._state = self._state.wanting(change, why)
        return change

    # --- without it

    def _say(self, changed: IsrChanged | None) -> None:
        if changed is not None:
            self._tell(changed)

    def _ask(self, change: IsrChange | None) -> None:
        if change is not None:
            self._isr_changes.ask(change)
