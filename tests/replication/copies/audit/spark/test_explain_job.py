"""What became of the offsets of all partitions, as a table of Spark, is what the library says of each."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from logstore.topic_partition import TopicPartition
from replication.audit import explain_offsets
from replication.explain import Sources, Why
from tests.data.replicas import replicas

COPIES = [replicas("diverged") / f"broker-{number}" for number in (1, 2, 3)]


def test_all_partitions_are_explained_as_by_the_library(spark: SparkSession) -> None:
    rows = explain_offsets(spark, COPIES).collect()
    sources = Sources.open(COPIES)
    expected = {
        (*partition, each.first_offset, each.last_offset, each.why.value, each.evidence)
        for partition in sources.partitions
        for each in sources.explain(partition).ranges
    }
    names = "topic", "partition", "first_offset", "last_offset", "why", "evidence"
    assert {tuple(row[name] for name in names) for row in rows} == expected
    assert not any(row["error"] or row["is_unexpected"] for row in rows)


def test_a_table_of_offsets_is_held_against_them(spark: SparkSession, tmp_path: Path) -> None:
    offsets = [("diverge", 0, offset) for offset in [*range(150), *range(160, 377), 500]]
    offsets += [("nowhere", 3, 1), ("hwloss", 0, 0)]
    spark.createDataFrame(offsets, "topic string, partition int, offset long").write.parquet(str(tmp_path / "got"))
    got = spark.read.parquet(str(tmp_path / "got"))
    rows = explain_offsets(spark, COPIES, got=got).where("topic in ('diverge', 'nowhere')").collect()
    lacking = {(row["first_offset"], row["last_offset"], row["why"]) for row in rows if row["is_unexpected"] is False}
    assert lacking == {(150, 159, Why.DELIVERED), (377, 419, Why.TRUNCATED), (420, 499, Why.NEVER_WRITTEN)}
    [unexpected] = [row for row in rows if row["is_unexpected"]]
    assert (unexpected["first_offset"], unexpected["why"]) == (500, Why.NEVER_WRITTEN)
    [error] = [row["error"] for row in rows if row["error"]]
    assert "nowhere-3 can be read in none of these copies" in error


@pytest.mark.parametrize("partitions", [(), [TopicPartition("txns", 0)]])
def test_rows_that_are_of_no_partition_or_offset_are_told_of(
    spark: SparkSession, partitions: Sequence[TopicPartition]
) -> None:
    offsets = [("txns", 0, 450), ("txns", 0, None), ("txns", 0, -1), ("txns", None, 1), (None, 0, 2), (None, None, 3)]
    got = spark.createDataFrame(offsets, "topic string, partition int, offset long")
    rows = explain_offsets(spark, COPIES, got=got, partitions=partitions).where("error is not null").collect()
    told = {(row["topic"], row["partition"]): row["error"] for row in rows}
    assert told.keys() == {("txns", 0), (None, None)}
    assert "null or below 0 were left out: 2 rows" in told["txns", 0]
    assert "without a topic or a partition were left out: 3 rows" in told[None, None]


@pytest.mark.parametrize("has_offsets", [False, True])
def test_only_chosen_partitions_are_explained(spark: SparkSession, has_offsets: bool) -> None:
    chosen = [TopicPartition("txns", 0)]
    got = spark.createDataFrame([("diverge", 0, 1), ("txns", 0, 450)], "topic string, partition int, offset long")
    rows = explain_offsets(spark, COPIES, partitions=chosen, got=got if has_offsets else None).collect()
    assert {(row["topic"], row["partition"]) for row in rows} == set(chosen)
