"""What groups have committed, from the copies of `__consumer_offsets` that should lead."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyarrow as pa

from logstore.topic_partition import TopicPartition
from replication.copies.audit.coordinators.commits import commits_in, read_positions
from replication.copies.audit.coordinators.consumer_offsets import CommittedOffset, StrandedOffset, stranded_by
from replication.copies.audit.examination.copy_examiner import Row
from replication.copies.audit.pipeline.partition_rows import examined_copy
from replication.copies.audit.snapshots.registered import ReadPosition
from replication.copies.audit.tables import Columns
from replication.records.coordinator_records.offset_commit import GroupPartition

COMMITTED: Final[Columns] = {
    "group": pa.string(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "leader_epoch": pa.int32(),
}
"""One row a group and partition: the last offset that the group has committed for it."""
Judged = Mapping[tuple[str, int], Row]
"""Verdicts by topic and partition."""


def committed_rows(row: Row) -> list[Row]:
    """Read a copy, given its row, as `commits_in` does, and give a row for each group and partition."""
    commits = commits_in(examined_copy(row))
    return [{**place._asdict(), **committed._asdict()} for place, committed in commits.items()]


def read_by_groups(rows: Iterable[Row]) -> Mapping[TopicPartition, Sequence[ReadPosition]]:
    """Return what `read_positions` does, given the rows of `committed_rows`."""
    return read_positions(map(_commit, rows))


def _commit(row: Row) -> tuple[GroupPartition, CommittedOffset]:
    place = GroupPartition(row["group"], row["topic"], row["partition"])
    return place, CommittedOffset(row["offset"], row["leader_epoch"])


def stranded_rows(judged: Judged, rows: Iterable[Row]) -> list[StrandedOffset]:
    """Find the committed offsets that have no place in the logs of recommended leaders, by group."""
    found = (
        each
        for row in rows
        if (verdict := judged.get((row["topic"], row["partition"]))) is not None
        for each in stranded_by(verdict, [_commit(row)])
    )
    return sorted(found, key=lambda each: (each.group, each.topic, each.partition))
