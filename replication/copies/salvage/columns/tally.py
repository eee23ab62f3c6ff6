"""Counts what is salvaged of a partition, and lists what is left out."""

from dataclasses import dataclass, field

import numpy as np

from replication.copies.salvage.columns.record_block import REASONS, SALVAGED, RecordBlock
from replication.copies.salvage.reason import Reason


@dataclass(slots=True)
class LeftOut:
    """Records that follow each other in one copy and are left out for one reason."""

    source: str
    reason: Reason
    leader_epoch: int
    first_offset: int
    last_offset: int
    records: int = 1

    @property
    def following(self) -> tuple[str, Reason, int, int]:
        """What the next record has to have in common with these."""
        return self.source, self.reason, self.leader_epoch, self.last_offset + 1


@dataclass(slots=True)
class Tally:
    """Counts, complete once every block was added."""

    salvaged: int = 0
    first_timestamp: int | None = None
    last_timestamp: int | None = None
    by_source: dict[str, int] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def add(self, block: RecordBlock) -> None:
        """Count the records of a block."""
        is_salvaged = block.reasons == SALVAGED
        if count := int(np.count_nonzero(is_salvaged)):
            source, times = block.branch.name, block.records.timestamp[is_salvaged]
            self.salvaged += count
            self.by_source[source] = self.by_source.get(source, 0) + count
            known = [each for each in (self.first_timestamp, self.last_timestamp) if each is not None]
            self.first_timestamp = min(*known, int(times.min()), int(times.max()))
            self.last_timestamp = max(*known, int(times.min()), int(times.max()))
        if count < len(block):
            self._leave_out(block.take(np.flatnonzero(~is_salvaged)))

    def _leave_out(self, block: RecordBlock) -> None:
        """Note records in ranges that are left out for one reason each."""
        offsets, epochs = block.records.offset, block.epochs
        is_end = (np.diff(block.reasons) != 0) | (np.diff(epochs) != 0) | (np.diff(offsets) != 1)
        ends = [*(np.flatnonzero(is_end) + 1).tolist(), len(block)]
        for first, end in zip([0, *ends], ends, strict=False):
            place = block.branch.name, REASONS[block.reasons[first]], int(epochs[first])
            offset, last = int(offsets[first]), int(offsets[end - 1])
            before = self.left_out[-1] if self.left_out else None
            if before and (*place, offset) == before.following:
                before.last_offset = last
                before.records += end - first
            else:
                self.left_out.append(LeftOut(*place, offset, last, end - first))
