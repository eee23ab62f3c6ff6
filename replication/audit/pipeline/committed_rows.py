"""What groups have committed for partitions that a truncation would shorten, from the copies that should lead."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Final

import numpy as np
import pyarrow as pa

from logstore.batch.batch_attributes import CONTROL_BIT, TRANSACTIONAL_BIT
from logstore.batch.batches import read_batch
from logstore.errors import LogStoreError
from logstore.verify import Finding
from logstore.verify.log_pass import Chunk, SilentCheck
from replication.audit.comparison.batch_reader import BatchReader
from replication.audit.examination.copy_examiner import Row
from replication.audit.judgement.consumer_offsets import (
    CONSUMER_OFFSETS,
    CommittedOffset,
    CommittedOffsets,
    StrandedOffset,
    cuts,
    stranded_by,
)
from replication.audit.judgement.offset_commit import GroupPartition
from replication.audit.pipeline.partition_rows import examined_copy
from replication.audit.tables import Columns
from replication.errors import CopyUnreadableError

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


def leading_offsets(examined: Iterable[Row], judged: Iterable[Row]) -> Iterator[Row]:
    """Pick the copies of `__consumer_offsets` that should lead: what they hold counts."""
    leaders = {row["partition"]: row["recommended"] for row in judged if row["topic"] == CONSUMER_OFFSETS}
    for row in examined:
        if row["topic"] == CONSUMER_OFFSETS and leaders.get(row["partition"]) == row["replica"]:
            yield row


def committed_rows(row: Row, places: Places) -> list[Row]:
    """Read a copy of a `__consumer_offsets` partition, and give a row for each group that has committed for `places`.

    What cannot be read is passed over: the findings of the audit tell of it.
    """
    watch = _Commits()
    with suppress(CopyUnreadableError):
        BatchReader(examined_copy(row)).read_all(watch)
    return [
        {**place._asdict(), **committed._asdict()}
        for place, committed in watch.commits.known.items()
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


class _Commits(SilentCheck):
    """Collects what groups have committed while a log goes by."""

    def __init__(self) -> None:
        self.commits = CommittedOffsets()

    def batches(self, chunk: Chunk) -> Iterator[Finding]:
        """See `Check`."""
        columns = chunk.columns
        for row in np.flatnonzero(columns.crc_valid).tolist():
            attributes = int(columns.attributes[row])
            try:
                for record in read_batch(chunk.log.data, int(columns.position[row])).records():
                    self.commits.add(
                        record,
                        producer_id=int(columns.producer_id[row]),
                        is_transactional=attributes & TRANSACTIONAL_BIT != 0,
                        is_control=attributes & CONTROL_BIT != 0,
                    )
            except LogStoreError:
                continue
        yield from ()
