"""The logs of a broker's replicas, as they are when one is to be led or followed."""

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Final, NoReturn
from uuid import UUID

from epoch import EpochHistory
from epoch.checkpoint import LeaderEpochCheckpoint
from epoch.errors import CheckpointError
from logstore import Log, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.files.broker.lost_tail import LOST_TAIL_MARK, LostTail, forget_lost_tail
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata, format_uuid
from replication.cluster.broker.errors import LostReplicaError, LostTailError, OtherTopicError, ShortReplicaError
from replication.cluster.broker.events.partition_events import ReplicaLost, ReplicaShort, Standing
from replication.cluster.broker.partitions.damaged_range import DamagedRange
from replication.cluster.broker.partitions.lost_replica import (
    begins_anew,
    is_counted_on,
    is_tail_counted_on,
    may_be_used,
)
from replication.cluster.broker.replicas.damage.damaged_ranges import DamagedRanges, RangeQuestion
from replication.cluster.broker.replicas.partition_errors import PARTITION_ERRORS
from replication.cluster.broker.replicas.passing_failures import is_torn
from replication.cluster.broker.replicas.replica_places import ReplicaPlaces
from replication.cluster.fetcher.fetcher_manager import LeaderAddress
from replication.records.metadata.image_changes import PartitionId
from replication.records.metadata.partition import LeaderRecoveryState, PartitionRegistration
from replication.wire.addresses import Address

_log: Final = logging.getLogger(__name__)


class ReplicaLogs:
    """Finds them, makes them where there are none, and recovers those that a full disk has torn."""

    def __init__(
        self,
        broker_id: int,
        directories: LogDirectories,
        places: ReplicaPlaces,
        tell: Callable[[ReplicaLost | ReplicaShort], object],
        *,
        address_of: Callable[[int], Address | None],
        unclean_allowed: Callable[[str], bool],
        remakes_only: bool,
        accepted_losses: Collection[TopicPartition],
    ) -> None:
        """Find them in these directories, and make them where `places` says; `address_of` says where brokers are.

        `unclean_allowed` says of which topics a replica out of sync may be elected.

        `tell` hears of those that begin anew, as their directory is gone, and of those that have less than was said of
        them. The only replicas begin anew if `remakes_only`; those in `accepted_losses` are used with what they have.
        """
        self._broker_id: Final = broker_id
        self._directories: Final = directories
        self._places: Final = places
        self._tell: Final = tell
        self._address_of: Final = address_of
        self._unclean_allowed: Final = unclean_allowed
        self._remakes_only: Final = remakes_only
        self._accepted: Final = set(accepted_losses)
        """Those of whose losses at this start that holds; later ones are not accepted."""
        self._short: Final[dict[PartitionId, tuple[PartitionRegistration, str]]] = {}
        """Those that have less than the checkpoint files have said, and are not used; what their leaders lack of it."""
        self.ranges: Final = DamagedRanges()
        """What leaders are to be asked for, before it is cut here."""
        self._missing: Final[set[PartitionId]] = set()
        """Of those that are gone, the ones that others count on."""
        self._lost: Final[dict[PartitionId, LostTail]] = {}
        """Of logs that were in sync, and are no more what others take them for."""

    @property
    def has_lost_tail(self) -> bool:
        """Whether a replica lacks records for which the controller or a leader counts on it."""
        return bool(self._lost or self._missing or self._directories.shortfalls)

    @property
    def are_withheld(self) -> bool:
        """Whether the broker is to stay fenced: the controller would elect it for what a replica does not have."""
        short = (state for state, _ in tuple(self._short.values()))
        return bool(self._lost) or any(self._may_be_elected(state) for state in short)

    def forget(self, changed: PartitionId) -> None:
        """Note that a partition is not here any more."""
        self._lost.pop(changed, None)
        self._short.pop(changed, None)
        self.ranges.forget(changed)
        self._missing.discard(changed)

    def open(
        self,
        partition: TopicPartition,
        topic_id: UUID,
        state: PartitionRegistration,
        *,
        is_new: bool,
        preferred: LogDirectory | None,
    ) -> Log:
        """Return a partition's log; see `ReplicaPlaces.make` for `is_new` and `preferred`.

        Raises OtherTopicError where an earlier topic's files have its place, LostReplicaError, LostTailError,
        ShortReplicaError, LogStoreError, and OSError.
        """
        changed = PartitionId(topic_id, partition.partition)
        if is_new:
            self._directories.disregard(partition)
        self._settle(changed, partition, state)
        log = self._directories.get(partition)
        if log is None:
            self.forget(changed)
            is_gone = not is_new and self._is_gone(changed, partition, state)
            directory = state.directory_of(self._broker_id)
            made = self._places.make(partition, topic_id, directory, is_new=is_new, preferred=preferred)
            if is_gone:
                self._tell_lost(partition, state, made)
            return made
        log = self._recovered(log, changed, partition, state)
        self._accepted.discard(partition)
        held = PartitionMetadata.of(log.directory)
        if held is None:
            PartitionMetadata(topic_id).write(log.directory / PARTITION_METADATA_NAME)
        elif held.topic_id != topic_id:
            raise OtherTopicError(log.directory, held.topic_id, topic_id)
        return log

    def make_new(self, partitions: Mapping[TopicPartition, tuple[UUID, PartitionRegistration]]) -> None:
        """Make the logs of new partitions, in the time that it takes for a few: their topics' ids and where they lie.

        Whatever keeps one of them from being made, `open` meets it again.
        """
        wanted: defaultdict[UUID, dict[TopicPartition, UUID | None]] = defaultdict(dict)
        for partition, (topic_id, state) in partitions.items():
            if self._directories.get(partition) is None:
                wanted[state.directory_of(self._broker_id)][partition] = topic_id
        try:
            self._places.make_many(wanted)
        except PARTITION_ERRORS as error:
            _log.debug("new partitions are made one by one, as they could not be made at once: %s", error)

    def _settle(self, changed: PartitionId, partition: TopicPartition, state: PartitionRegistration) -> None:
        """Accept a log that is shorter than was noted.

        Raises ShortReplicaError where it must not be used, and OfflineDirectoryError where it may lie out of sight.
        """
        short = self._directories.shortfalls.get(partition)
        if short is None:
            return
        event = partial(ReplicaShort, partition=partition, state=state, short=short)
        is_accepted = partition in self._accepted
        unclean_allowed = self._unclean_allowed(partition.topic)
        if not is_accepted and not may_be_used(self._broker_id, state, short, unclean_allowed=unclean_allowed):
            self._withhold(changed, state, event(standing=Standing.WITHHELD))
        if not is_accepted and short.damage is not None:
            missing = self._missing_at_leader(changed, partition, state, short)
            if missing != "":
                self._withhold(changed, state, event(standing=Standing.WITHHELD, missing=missing or ""))
        self._short.pop(changed, None)
        if short.is_gone:  # no log is made for now: what is missing is not to be forgotten until then
            self._places.ensure_none_is_hidden(partition)
        self._directories.settle(partition, is_accepted=is_accepted)
        self._tell(event(standing=Standing.ACCEPTED if is_accepted else Standing.USED))

    def _withhold(self, changed: PartitionId, state: PartitionRegistration, event: ReplicaShort) -> NoReturn:
        """Report the short log, unless that was reported, and raise ShortReplicaError."""
        _, told = self._short.get(changed, (state, None))
        self._short[changed] = state, event.missing
        if told != event.missing:
            self._tell(event)
        raise ShortReplicaError(event.partition, event.short, is_only=event.is_only, missing=event.missing)

    def _missing_at_leader(
        self, changed: PartitionId, partition: TopicPartition, state: PartitionRegistration, short: Shortfall
    ) -> str | None:
        """Return what of a damaged log its leader does not have; None as long as it has not said so."""
        address = self._address_of(state.leader)
        damaged = DamagedRange.of(partition, state, short, _history(short.directory))
        if address is None or damaged is None:
            return None
        return self.ranges.missing(RangeQuestion(changed, LeaderAddress(state.leader, address), damaged))

    def _may_be_elected(self, state: PartitionRegistration) -> bool:
        """Whether an unfenced broker could be elected in place of another."""
        return len(state.replicas) > 1 and (not state.has_leader or is_counted_on(self._broker_id, state))

    def _is_gone(self, changed: PartitionId, partition: TopicPartition, state: PartitionRegistration) -> bool:
        """Whether a log is gone with its directory. Raises LostReplicaError where no empty one may stand for it."""
        directory = state.directory_of(self._broker_id)
        if not self._places.is_gone(partition, directory):
            return False
        is_only = len(state.replicas) == 1
        copy = self._places.unfinished_copy(partition) if is_only else None
        if copy is None and begins_anew(self._broker_id, state, alone=self._remakes_only):
            return True
        if self._broker_id in (*state.isr, *state.elr) and not is_only:
            self._missing.add(changed)
        raise LostReplicaError(partition, directory, is_only=is_only, copy=copy)

    def _tell_lost(self, partition: TopicPartition, state: PartitionRegistration, made: Log) -> None:
        self._tell(
            ReplicaLost(
                partition=partition,
                leader_epoch=state.leader_epoch,
                lost=format_uuid(state.directory_of(self._broker_id)),
                root=str(made.directory.parent),
                is_only=len(state.replicas) == 1,
            )
        )

    def _recovered(
        self, log: Log, changed: PartitionId, partition: TopicPartition, state: PartitionRegistration
    ) -> Log:
        """Return a log that can be written. Raises LostTailError while others may count on what it has lost."""
        if is_torn(log):
            recovered = self._places.root_of(log).recover(partition)
            _log.warning("%s was recovered after a full disk: it ends at %d", partition, recovered.log_end_offset)
            if recovered.log_end_offset < log.log_end_offset and len(state.replicas) > 1:
                self._lost[changed] = _lost_between(recovered, log, state)
            log = recovered
        lost = self._lost.get(changed) or LostTail.of(log.directory)
        if lost is None:
            return log
        self._lost[changed] = lost
        is_elected_uncleanly = not state.has_leader and self._unclean_allowed(partition.topic)
        is_wanted = is_elected_uncleanly or is_tail_counted_on(lost, self._broker_id, state)
        if partition not in self._accepted and is_wanted:
            lost.keep(log.directory)
            raise LostTailError(partition, lost.end, lost.former_end, log.directory / LOST_TAIL_MARK)
        forget_lost_tail(log.directory)
        del self._lost[changed]
        return log


def _lost_between(recovered: Log, torn: Log, state: PartitionRegistration) -> LostTail:
    """Return what a log lacks since it was recovered."""
    return LostTail(
        end=recovered.log_end_offset,
        former_end=torn.log_end_offset,
        leader_epoch=state.leader_epoch,
        was_recovering=state.leader_recovery_state == LeaderRecoveryState.RECOVERING,
    )


def _history(directory: Path) -> EpochHistory:
    """Return in which epochs a log was written, as far as that is known without opening it. Raises OSError."""
    try:
        return EpochHistory(LeaderEpochCheckpoint(directory).read())
    except CheckpointError:
        return EpochHistory()
