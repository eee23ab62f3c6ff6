"""The metadata's log as a controller has it once it has started (Kafka: KafkaRaftLog), worked out without a write."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Self

from epoch import EndOffset, EpochHistory
from epoch.history import MAX_EPOCH
from logstore.errors import LogStoreError
from logstore.file_name import FileKind
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog, checkpointed_history
from logstore.offline.recovery_scan import RecoveryScan
from replication.base.errors import NoEpochLeftError


class LogPosition(NamedTuple):
    """How far a log or a snapshot goes, in Raft's order: the later epoch is ahead, whatever the offsets.

    Kafka: OffsetAndEpoch.
    """

    epoch: int
    end_offset: int

    def __str__(self) -> str:
        return f"epoch {self.epoch} up to offset {self.end_offset:,}"


NOWHERE: Final = LogPosition(0, 0)
"""Of a log without records and without a snapshot: the first leader's epoch is 1."""


@dataclass(frozen=True, slots=True)
class RaftLog:
    """Offsets, epochs and snapshots after a start.

    A controller trusts no checkpoint file for this log: it checks all batches, drops what follows the first that is
    damaged, and then the whole log where its latest snapshot reaches further.
    """

    partition: PartitionDirectory
    recovered: RecoveredLog
    """Its segments, before the latest snapshot may take their place."""
    snapshots: tuple[LogPosition, ...]
    """Those that a start leaves, in order."""
    start_offset: int
    end_offset: int
    history: EpochHistory
    """As the controller has it, by the leader-epoch checkpoint and the batches."""
    recorded: EpochHistory
    """As the batches alone have it."""

    @classmethod
    def load(cls, partition: PartitionDirectory) -> Self:
        """Load a log as a controller would. Raises what `RecoveredLog.load` raises."""
        log_start_offset = partition.checkpoints.log_start_offset if partition.own_checkpoints else None
        trusting = replace(partition, checkpoints=PartitionCheckpoints(log_start_offset=log_start_offset))
        scan = RecoveryScan.read(trusting)
        recovered = RecoveredLog.of(trusting, scan, checkpointed_history(partition))
        recorded = EpochHistory.from_batches((run.epoch, run.first_offset) for run in scan.epochs.known())
        start, end = recovered.log_start_offset, recovered.log_end_offset
        found = sorted(_snapshots(partition))
        kept = tuple(each for each in found if each.end_offset >= start)
        if kept and kept[-1] > (recovered.history.latest_epoch or NOWHERE.epoch, end):
            kept, start, end = kept[-1:], kept[-1].end_offset, kept[-1].end_offset
            return cls(partition, recovered, kept, start, end, EpochHistory(), EpochHistory())
        return cls(partition, recovered, kept, start, end, recovered.history, recorded)

    @property
    def position(self) -> LogPosition:
        """Its last record's epoch, and its end: what voters compare before they grant a vote."""
        return LogPosition(self._last_of(self.recorded), self.end_offset)

    @property
    def last_epoch(self) -> int:
        """What the controller takes for its last record's epoch (Kafka: lastFetchedEpoch)."""
        return self._last_of(self.history)

    @property
    def is_superseded(self) -> bool:
        """Whether the latest snapshot reaches further than the log, which is dropped at the next start."""
        return (self.start_offset, self.end_offset) != (self.recovered.log_start_offset, self.recovered.log_end_offset)

    @property
    def beginning_is_lost(self) -> bool:
        """Whether the log begins after offset 0 and no snapshot says what was before: no controller can load it."""
        return self.start_offset > 0 and not any(each.end_offset >= self.start_offset for each in self.snapshots)

    @property
    def is_empty_beside_a_snapshot(self) -> bool:
        """Whether no record is left, and a snapshot does not end where the log does: Kafka fails on such a log."""
        return not self.history and any(each.end_offset != self.end_offset for each in self.snapshots[-1:])

    @property
    def damage(self) -> LogStoreError | None:
        """What cuts the log short; None where it is whole."""
        return self.recovered.damage

    def elected(self, others: Iterable["RaftLog"]) -> "RaftLog":
        """Return the log right after its owner's election: it begins an epoch that none of these logs knows.

        Raises NoEpochLeftError.
        """
        newest = max(log.last_epoch for log in (self, *others))
        if newest == MAX_EPOCH:
            raise NoEpochLeftError(newest)
        return replace(self, history=self.history.assign(newest + 1, self.end_offset))

    def truncated(self, offset: int) -> "RaftLog":
        """Return the log without what is at `offset` or beyond; its snapshots stay."""
        return replace(
            self,
            end_offset=offset,
            history=self.history.truncate_to(offset),
            recorded=self.recorded.truncate_to(offset),
        )

    def end_offset_for(self, epoch: int) -> EndOffset:
        """Return where an epoch, or the latest one before it, ends (Kafka: endOffsetForEpoch)."""
        found = self.history.end_offset_for(epoch, self.end_offset)
        if found.end_offset < 0:
            return EndOffset(self.last_epoch, self.end_offset)
        if self.snapshots and found == (epoch, self.snapshots[0].end_offset):
            return EndOffset(*self.snapshots[0])
        return found

    def epoch_at(self, offset: int) -> int | None:
        """Return the epoch of the record at an offset; None where neither the batches nor a snapshot say it."""
        if self.start_offset <= offset < self.end_offset:
            return self.recorded.epoch_for_offset(offset)
        return next((each.epoch for each in self.snapshots if each.end_offset == offset + 1), None)

    def known_ends(self) -> Iterator[LogPosition]:
        """Give the positions at which an epoch or a snapshot of this log ends."""
        yield from self.snapshots
        for entry in self.recorded.entries:
            end = self.recorded.end_offset_for(entry.epoch, self.end_offset)
            yield LogPosition(entry.epoch, end.end_offset)

    def _last_of(self, history: EpochHistory) -> int:
        if history.latest_epoch is not None:
            return history.latest_epoch
        return self.snapshots[-1].epoch if self.snapshots else NOWHERE.epoch


def common_end(one: RaftLog, other: RaftLog) -> int | None:
    """Return where two logs diverge, or the shorter ends: all records below are the same in both.

    Raft promises that logs with a record of the same offset and epoch are the same up to it. None where one of them
    does not reach back far enough to show it.
    """
    agreed = [*_agreed(one, other), *_agreed(other, one)]
    if agreed:
        return max(agreed)
    # Where no batch and no snapshot is shared, they part at the very beginning, if both have it.
    reach_back = one.start_offset == other.start_offset == 0
    return 0 if reach_back or NOWHERE in {one.position, other.position} else None


def contradicting_epoch(one: RaftLog, other: RaftLog) -> int | None:
    """Return an epoch that begins at different offsets in two logs; None where they can be of one quorum.

    An epoch has one leader, who begins it at one offset, and a log with a record of it has all that was before.
    """
    starts = dict(_starts(one))
    return next((epoch for epoch, offset in _starts(other) if starts.get(epoch, offset) != offset), None)


def _starts(log: RaftLog) -> Iterator[tuple[int, int]]:
    """Give where epochs begin; not of the one in whose midst the log may begin."""
    for entry in log.recorded.entries:
        if entry.start_offset > log.start_offset or entry.start_offset == 0:
            yield entry.epoch, entry.start_offset


def _agreed(one: RaftLog, other: RaftLog) -> Iterator[int]:
    """Give the ends of one log's epochs and snapshots up to which the other agrees."""
    for epoch, end in one.known_ends():
        shared = min(end, other.end_offset)
        if shared > 0 and one.epoch_at(shared - 1) == epoch == other.epoch_at(shared - 1):
            yield shared


def _snapshots(partition: PartitionDirectory) -> Iterator[LogPosition]:
    for name, _ in partition.named(FileKind.METADATA_SNAPSHOT):
        yield LogPosition(name.epoch or 0, name.base_offset or 0)
