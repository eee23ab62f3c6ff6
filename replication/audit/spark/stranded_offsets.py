"""Reads what groups have committed for partitions that a truncation would shorten, with Spark."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from logstore.batch.record import Record
from logstore.errors import LogStoreError
from replication.audit.judgement.consumer_offsets import (
    CONSUMER_OFFSETS,
    CommittedOffset,
    CommittedOffsets,
    Json,
    StrandedOffset,
    cuts,
    stranded_by,
)
from replication.audit.judgement.offset_commit import GroupPartition
from replication.audit.snapshots.snapshot import named_absolutely
from replication.audit.spark.sessions.session import prepare_session
from replication.audit.spark.spark_schema import spark_schema
from replication.audit.tables import Columns

COMMITTED: Final[Columns] = {
    "group": pa.string(),
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "leader_epoch": pa.int32(),
}
Places = frozenset[tuple[str, int]]


def stranded(spark: SparkSession, snapshots: Sequence[str | Path], partitions: Sequence[Json]) -> list[StrandedOffset]:
    """Find the committed offsets that lie beyond a truncation, by group; nothing is read where nothing is truncated.

    `partitions` are rows of the audit's table. What counts is in the copy of each `__consumer_offsets` partition that
    should lead.
    """
    cut = {(each["topic"], each["partition"]): each for each in partitions if cuts(each)}
    leaders = {each["partition"]: each["recommended"] for each in partitions if each["topic"] == CONSUMER_OFFSETS}
    is_from_leader = [
        (f.col("partition") == partition) & (f.col("replica") == replica)
        for partition, replica in leaders.items()
        if replica is not None
    ]
    if not cut or not is_from_leader:
        return []
    prepare_session(spark)
    read = spark.read.format("kafka-log").option("rows", "records").option("topics", CONSUMER_OFFSETS)
    rows = (
        read.load(list(map(named_absolutely, snapshots)))
        .where(reduce(or_, is_from_leader))
        .groupBy("partition")
        .applyInArrow(_folding(frozenset(cut)), spark_schema(COMMITTED))
        .collect()
    )
    found = [
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
    ]
    return sorted(found, key=lambda each: (each.group, each.topic, each.partition))


def _folding(places: Places) -> Callable[[pa.Table], pa.Table]:
    def fold(table: pa.Table) -> pa.Table:
        return _fold(table, places)

    return fold


def _fold(table: pa.Table, places: Places) -> pa.Table:
    """Turn the records of one `__consumer_offsets` partition into the commits for some partitions."""
    commits = CommittedOffsets()
    columns = ["offset", "timestamp_ms", "key", "value", "producer_id", "is_transactional", "is_control"]
    for batch in table.select(columns).sort_by("offset").to_batches():
        _add(commits, batch.to_pylist())
    rows = [
        {**place._asdict(), **committed._asdict()}
        for place, committed in commits.known.items()
        if (place.topic, place.partition) in places
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(COMMITTED))


def _add(commits: CommittedOffsets, rows: Iterable[dict[str, Any]]) -> None:
    for row in rows:
        try:
            commits.add(
                Record(row["offset"], row["timestamp_ms"], row["key"], row["value"]),
                producer_id=row["producer_id"],
                is_transactional=row["is_transactional"],
                is_control=row["is_control"],
            )
        except LogStoreError:  # the audit's findings tell of damage
            continue
