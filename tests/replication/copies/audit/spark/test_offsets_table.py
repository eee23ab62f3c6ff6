"""A table of offsets is read as a file of them is, and refused where a file would be."""

import re
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from logstore.topic_partition import TopicPartition
from replication.audit import explain_offsets
from replication.copies.audit.spark.offsets_table import open_table, table_offsets
from replication.explain import OffsetsFileError
from tests.data.replicas import replicas
from tests.replication.cli.command import epochlog

ORDERS = TopicPartition("orders", 0)
SCHEMA = "topic string, partition int, offset long"
COPIES = [replicas("diverged") / f"broker-{number}" for number in (1, 2, 3)]


def test_the_offsets_of_a_partition_are_read_each_once_and_by_size(spark: SparkSession) -> None:
    rows = [("orders", 0, 7), ("orders", 1, 1), ("other", 0, 2), ("orders", 0, 3), ("orders", 0, 7)]
    table = spark.createDataFrame(rows, SCHEMA)
    assert table_offsets(table, "sink", ORDERS).tolist() == [3, 7]
    assert table_offsets(table.select("offset"), "sink", ORDERS).tolist() == [1, 2, 3, 7]
    assert table_offsets(table.selectExpr("cast(offset as short) as offset"), "sink", ORDERS).dtype == np.int64
    assert not len(table_offsets(table.limit(0), "sink", ORDERS))


@pytest.mark.parametrize(
    ("select", "problem"),
    [
        ("topic; partition", "sink: it has no column `offset`, but partition, topic"),
        ("topic; partition; cast(offset as string) as offset", "its column `offset` is string: expected integers"),
        (
            "topic; cast(partition as double) as partition; offset",
            "its column `partition` is double: expected integers",
        ),
        ("7 as topic; partition; offset", "its column `topic` is int: expected text"),
        ("topic; partition; nullif(offset, 7) as offset", "its column `offset` has 1 null: "),
        ("nullif(topic, 'other') as topic; partition; offset", "its column `topic` has 1 null: "),
        ("topic; partition; -offset as offset", "-7 is no offset"),
        ("'other' as topic; partition; offset", "no row is of orders-0; it has other-0, other-1: "),
        ("partition + 1 as partition; offset", "no row is of orders-0; it has orders-1, orders-2: "),
    ],
)
def test_a_table_of_which_it_is_not_clear_what_it_has_is_refused(
    spark: SparkSession, select: str, problem: str
) -> None:
    table = spark.createDataFrame([("orders", 0, 7), ("other", 1, 3)], SCHEMA)
    with pytest.raises(OffsetsFileError, match=re.escape(problem)):
        table_offsets(table.selectExpr(*select.split("; ")), "sink", ORDERS)


def test_tables_are_opened_by_path_and_by_name(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("diverge", 0, offset) for offset in range(370)]
    spark.createDataFrame(rows, SCHEMA).write.parquet(str(tmp_path / "sink"))
    spark.createDataFrame(rows, SCHEMA).createOrReplaceTempView("sink")
    for name in (tmp_path / "sink", str(tmp_path / "sink"), "sink", f"parquet.`{tmp_path}/sink`"):
        assert open_table(spark, name).count() == 370
        lacking = explain_offsets(spark, COPIES, got=name, partitions=[TopicPartition("diverge", 0)]).collect()
        assert sorted(row["first_offset"] for row in lacking) == [370, 377]


def test_the_command_reads_a_directory_of_parquet(spark: SparkSession, tmp_path: Path) -> None:
    rows = [("diverge", 0, offset) for offset in range(370)]
    spark.createDataFrame(rows, SCHEMA).write.parquet(str(tmp_path / "sink"))
    outcome = epochlog("explain", "diverge-0", *COPIES, "--got", tmp_path / "sink", "--json")
    assert (outcome.status, outcome.document["counts"]) == (1, {"delivered": 7, "truncated": 43})


def test_a_table_that_spark_cannot_read_is_told_with_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.version
    (tmp_path / "sink/_delta_log").mkdir(parents=True)
    for option, name in (("--got", tmp_path / "sink"), ("--got-table", "lake.kafka.sink")):
        outcome = epochlog("explain", "diverge-0", *COPIES, option, name)
        assert outcome.status == 2
        assert f"{name}: Spark cannot read this table: " in outcome.err
        assert "spark-defaults.conf of SPARK_CONF_DIR" in outcome.err


def test_a_file_or_a_table_is_named_not_both(tmp_path: Path) -> None:
    outcome = epochlog("explain", "diverge-0", *COPIES, "--got", tmp_path, "--got-table", "sink")
    assert outcome.status == 2
    assert "name a file or a table, not both" in outcome.err
