"""What groups have committed for partitions that a truncation would shorten, from the copies that should lead."""

from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

from logstore.batch.batches import Batch
from logstore.batch.record import Record
from replication.audit.coordinators.consumer_offsets import (
    CommittedOffset,
    CommittedOffsets,
    StrandedOffset,
    cuts,
    stranded_by,
)
from replication.audit.examination.copy_examiner import Row
from replication.audit.pipeline.copy_records import read_records
from replication.audit.tables import Columns
from replication.coordinator_records.offset_commit import GroupPartition

COMMITTED: Final[Columns] = {
    "group": pa.string(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "leader_epoch": pa.int32(),
}
"""One row a group and partition: the last offset that the group has committed for it."""
Places = frozenset[tuple[str, int]]
Cut = Mapping[tuple[str, int], Row]
"""Verdicts by topic and partition."""


def cut_partitions(judged: Iterable[Row]) -> dict[tuple[str, int], Row]:
    """Pick the partitions of which a copy is truncated under the recommended leader."""
    return {(row["topic"], row["partition"]): row for row in judged if cuts(row)}


def committed_rows(row: Row, places: Places) -> list[Row]:
    """Read a copy of a `__consumer_offsets` partition, and give a row for each group that has committed for `places`.

    What cannot be read is passed over: the findings of the audit tell of it.
    """
    commits = CommittedOffsets()

    def take(batch: Batch, record: Record) -> None:
        commits.add(
            record,
            producer_id=batch.producer_id,
            is_transactional=batch.is_transactional,
            is_control=batch.is_control,
        )

    read_records(row, take)
    return [
        {**place._asdict(), **committed._asdict()}
        for place, committed in commits.known.items()
        if (place.topic, place.partition) in places
    ]


def stranded_rows(cut: Cut, rows: Iterable[Row]) -> list[StrandedOffset]:
    """Find the committed offsets that lie beyond a truncation, by group."""
    found = (
        each
        for row in rows
        for each in stranded_by(
            cut[row["topic"], row["partition"]],
            [
                (
                    GroupPartition(row["group"], row["topic"], row["partition"]),
                    CommittedOffset(row["offset"], row["leader_epoch"]),
                )
            ],
        )
    )
    return sorted(found, key=lambda each: (each.group, each.topic, each.partition))
