"""What a damaged replica asks whoever leads before anything of it is cut: whether the leader has that."""

from dataclasses import dataclass
from typing import Self

from epoch import EpochHistory
from logstore import TopicPartition
from logstore.directory.shortfalls.shortfall import Shortfall
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.list_offsets import EARLIEST, ListedOffset, ListOffsetsRequest, OffsetQuestion
from replication.wire.messages.offset_for_leader_epoch import (
    EpochAnswer,
    EpochQuestion,
    OffsetForLeaderEpochRequest,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedRange:
    """The offsets of a replica that were on stable storage and are damaged, or lie behind the damage."""

    partition: TopicPartition
    leader_epoch: int
    """Of the leader that is asked."""
    first_offset: int
    end_offset: int
    """Where the recovery point was."""
    epoch: int
    """In which the last record of the range was written."""

    @classmethod
    def of(
        cls, partition: TopicPartition, state: PartitionRegistration, short: Shortfall, history: EpochHistory
    ) -> Self | None:
        """Return what is damaged; None where the replica does not know in which epoch that was written."""
        first, end = short.log_end_offset or 0, short.claims.recovery_point
        epochs = [entry.epoch for entry in history.entries if entry.start_offset < end]
        if not epochs:
            return None
        return cls(
            partition=partition,
            leader_epoch=state.leader_epoch,
            first_offset=first,
            end_offset=end,
            epoch=epochs[-1],
        )

    def epoch_request(self, broker_id: int) -> OffsetForLeaderEpochRequest:
        """Return what asks where that epoch ends in the leader's log."""
        question = EpochQuestion(self.leader_epoch, self.epoch)
        return OffsetForLeaderEpochRequest(partitions={self.partition: question}, replica_id=broker_id)

    def start_request(self, broker_id: int) -> ListOffsetsRequest:
        """Return what asks where the leader's log begins."""
        question = OffsetQuestion(EARLIEST, self.leader_epoch)
        return ListOffsetsRequest(partitions={self.partition: question}, replica_id=broker_id)

    def missing(self, end: EpochAnswer, start: ListedOffset) -> str:
        """Return what the leader lacks of it by its answers; "" where it has all. Raises LookupError: ask again.

        Two logs that have the same last epoch up to an offset have the same records below it.
        """
        for error in (end.error, start.error):
            if error is not ErrorCode.NONE:
                raise LookupError(f"the leader of {self.partition} answers {error.name}")
        if end.end.epoch != self.epoch or end.end.end_offset < self.end_offset:
            return (
                f"epoch {self.epoch} reaches offset {self.end_offset:,} here, and in the leader's log epoch "
                f"{end.end.epoch} ends at {end.end.end_offset:,}"
            )
        if start.offset > self.first_offset:
            return f"the leader's log begins at offset {start.offset:,}, behind {self.first_offset:,}"
        return ""
