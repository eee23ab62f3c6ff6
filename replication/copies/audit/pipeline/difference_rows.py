"""The records on which copies disagree as rows: first where that is, then record by record."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, Final

from logstore.text.record_mask import RecordMask
from replication.copies.audit.comparison.comparison import compare
from replication.copies.audit.comparison.record_differences import (
    DifferenceKind,
    Disagreement,
    HeldRecord,
    disagreements,
    record_differences,
)
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.partition_rows import examined_copy

OF_COPY: Final = ("copy", "summary", "digests")
"""The columns of an examined copy that a comparison needs."""
_SIDES: Final = ("left", "right")
_MICROSECONDS: Final = 1_000
_LIMIT: Final = 2**63


def disagreement_rows(rows: Sequence[Row]) -> Iterator[Row]:
    """Compare all copies of one partition, and give a row for each stretch of offsets on which two disagree."""
    for left, right in combinations(sorted(rows, key=lambda row: row["replica"]), 2):
        copies = examined_copy(left), examined_copy(right)
        sides = dict(zip(_SIDES, (left, right), strict=True))
        for where in disagreements(compare(*copies), *copies):
            yield {
                "topic": left["topic"],
                "partition": left["partition"],
                **where._asdict(),
                **{f"{side}_{name}": row[name] for side, row in sides.items() for name in OF_COPY},
            }


def difference_rows(row: Row, mask: RecordMask | None = None) -> Iterator[Row]:
    """Read again where two copies disagree, and give a row for each record, with contents as the mask leaves them."""
    left, right = (examined_copy({name: row[f"{side}_{name}"] for name in OF_COPY}) for side in _SIDES)
    where = Disagreement(DifferenceKind(row["kind"]), row["first"], row["last"])
    for each in record_differences(where, left, right):
        yield {
            "topic": row["topic"],
            "partition": row["partition"],
            "offset": each.offset,
            "kind": each.kind.value,
            **_of_side("left", left.replica, each.left, mask),
            **_of_side("right", right.replica, each.right, mask),
        }


def _of_side(side: str, replica: str, held: HeldRecord | None, mask: RecordMask | None) -> dict[str, Any]:
    record = None if held is None else held.record if mask is None else mask.record(held.record)
    fields: dict[str, Any] = {
        "leader_epoch": held.leader_epoch if held else None,
        "timestamp": _microseconds(record.timestamp) if record else None,
        "key": record.key if record else None,
        "value": record.value if record else None,
    }
    return {side: replica, **{f"{side}_{name}": value for name, value in fields.items()}}


def _microseconds(milliseconds: int) -> int | None:
    """Give a timestamp as Spark has it; None beyond what it can be."""
    microseconds = milliseconds * _MICROSECONDS
    return microseconds if -_LIMIT <= microseconds < _LIMIT else None
