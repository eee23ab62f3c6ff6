"""A log of the model, with the methods by which a leader uses a log."""

from epoch import EpochHistory
from logstore import AppendOrigin
from tests.replication.cluster.fetcher.model.leader import decoded
from tests.replication.cluster.fetcher.model.replica import Replica


class MemoryLog:
    """Holds a replica's log while a leader does something to it."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica
        self.log_start_offset = 0

    @property
    def log_end_offset(self) -> int:
        return self.replica.end

    @property
    def high_watermark(self) -> int:
        return self.replica.high_watermark

    @property
    def history(self) -> EpochHistory:
        return self.replica.history

    def append(
        self,
        data: bytes,
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,  # noqa: ARG002  nothing here depends on it
        transaction_version: int | None = None,  # noqa: ARG002
    ) -> None:
        """Append records, which begin the epoch where nobody has."""
        assert all(record.epoch == leader_epoch for record in decoded(data))
        self.replica = self.replica.appended(decoded(data))

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        self.replica = self.replica.but(history=self.replica.history.assign(epoch, start_offset))

    def advance_high_watermark(self, offset: int) -> int:
        moved = max(self.high_watermark, min(offset, self.log_end_offset))
        self.replica = self.replica.committed(moved)
        return moved

    def truncate_to(self, offset: int) -> bool:
        ended_later = self.log_end_offset > offset
        self.replica = self.replica.truncated(offset)
        return ended_later
