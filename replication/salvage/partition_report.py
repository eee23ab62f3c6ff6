"""What was salvaged of one partition and what was not, as `epochlog salvage` reports it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from replication.salvage.columns.record_block import REASONS, SALVAGED, RecordBlock
from replication.salvage.common_part import Difference
from replication.salvage.conflict import Conflict, KeyWrite
from replication.salvage.examined_partition import Damage, DamageBelow, ExaminedPartition, Fork, TransactionInDoubt
from replication.salvage.reason import IN_DOUBT, Reason
from replication.salvage.salvaged_record import in_base64


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
class PartitionReport:
    """Counts, and all that is listed; complete once every decision was added."""

    topic: str
    partition: int
    kept: str
    kept_holds: bool
    """Whether the kept copy holds the partition; else all that the others hold is beyond it."""
    forks: Sequence[Fork]
    damage: Sequence[Damage]
    damage_below: Sequence[DamageBelow]
    differences: Sequence[Difference]
    """Other copies whose records differ from the kept one's, though their epochs are the same."""
    is_compacted: bool
    salvaged: int = 0
    first_timestamp: int | None = None
    """Of the salvaged records, in milliseconds since 1970 UTC."""
    last_timestamp: int | None = None
    by_source: dict[str, int] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    transactions: list[TransactionInDoubt] = field(default_factory=list)
    """Those that are left out until somebody decides."""

    @classmethod
    def of(cls, examined: ExaminedPartition) -> "PartitionReport":
        """Begin the report of a partition."""
        topic, partition = examined.topic_partition
        return cls(
            topic,
            partition,
            examined.kept,
            examined.kept_holds,
            examined.forks,
            examined.damage,
            examined.damage_below,
            examined.differences,
            examined.is_compacted,
        )

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

    @property
    def counts(self) -> dict[Reason, int]:
        """How many records are left out for which reason."""
        counts = dict.fromkeys(Reason, 0)
        for each in self.left_out:
            counts[each.reason] += each.records
        return {reason: count for reason, count in counts.items() if count}

    @property
    def is_in_doubt(self) -> bool:
        """Whether somebody has to decide about records, or a copy is damaged or differs where it should not."""
        is_unsound = bool(self.damage or self.damage_below or self.differences)
        return is_unsound or bool(self.transactions) or not IN_DOUBT.isdisjoint(self.counts)

    def as_json(self) -> dict[str, Any]:
        """Return the report as `epochlog salvage --json` prints it."""
        return {
            "topic": self.topic,
            "partition": self.partition,
            "is_compacted": self.is_compacted,
            "kept_holds": self.kept_holds,
            "forks": [each._asdict() for each in self.forks],
            "salvaged": self.salvaged,
            "first_timestamp": self.first_timestamp,
            "last_timestamp": self.last_timestamp,
            "salvaged_by_source": self.by_source,
            "left_out": {reason.value: count for reason, count in self.counts.items()},
            "left_out_ranges": [_with_reason(each) for each in self.left_out],
            "transactions": [_with_reason(each) for each in self.transactions],
            "conflicts": [_conflict_as_json(each) for each in self.conflicts],
            "not_read": [
                {"source": source, "offset": offset, "message": str(error)} for source, offset, error in self.damage
            ],
            "damaged_below": [{"source": source, "message": str(error)} for source, error in self.damage_below],
            "differences": [each._asdict() for each in self.differences],
        }


def _with_reason(each: LeftOut | TransactionInDoubt) -> dict[str, Any]:
    return {**asdict(each), "reason": each.reason.value}


def _conflict_as_json(conflict: Conflict) -> dict[str, Any]:
    return {
        "key": in_base64(conflict.key),
        "losing": _write_as_json(conflict.losing),
        "other": _write_as_json(conflict.other),
        "records": conflict.records,
        "salvaged": conflict.salvaged,
    }


def _write_as_json(write: KeyWrite) -> dict[str, Any]:
    return {**write._asdict(), "value": in_base64(write.value)}
