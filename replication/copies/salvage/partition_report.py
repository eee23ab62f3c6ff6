"""What was salvaged of one partition and what was not, as `epochlog salvage` reports it."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from logstore.text.record_mask import RecordMask
from replication.copies.salvage.columns.doubtful_transactions import TransactionInDoubt
from replication.copies.salvage.columns.tally import LeftOut, Tally
from replication.copies.salvage.common_part import Difference
from replication.copies.salvage.conflict import Conflict, KeyWrite
from replication.copies.salvage.examined_partition import DamageBelow, ExaminedPartition, Fork
from replication.copies.salvage.reason import IN_DOUBT, Reason
from replication.copies.salvage.salvaged_record import in_base64
from replication.copies.salvage.sound_copy import DamagedCopy


@dataclass(slots=True)
class PartitionReport:
    """Counts, and all that is listed."""

    topic: str
    partition: int
    kept: str
    kept_holds: bool
    """Whether the kept copy holds the partition; else all that the others hold is beyond it."""
    forks: Sequence[Fork]
    damage: Sequence[DamagedCopy]
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
    def of(cls, examined: ExaminedPartition, tally: Tally) -> "PartitionReport":
        """Report on a partition, once all of its records were counted."""
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
            tally.salvaged,
            tally.first_timestamp,
            tally.last_timestamp,
            tally.by_source,
            tally.left_out,
            examined.conflicts,
            examined.doubtful.transactions(),
        )

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

    def masked(self, mask: RecordMask) -> "PartitionReport":
        """Return the report with the keys and values in it masked: those of conflicts."""
        return replace(self, conflicts=[each.masked(mask) for each in self.conflicts])

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
