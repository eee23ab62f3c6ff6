"""Records that are counted where they are read are as many as Spark counts."""

import shutil
from pathlib import Path

import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from replication.audit import count_records
from replication.base.errors import NoSnapshotError, NotAllowedError, UnknownOptionError
from tests.data.replicas import damaged, replicas

BROKER = replicas("diverged") / "broker-1"
BOTH = [BROKER, replicas("diverged") / "broker-2"]
CASES: list[dict[str, str]] = [
    {},
    {"topics": "diverge"},
    {"partitions": "diverge-0,txns-*"},
    {"topics": "txns", "isolation": "read_committed"},
    {"topics": "diverge", "startingOffsets": "7", "endingOffsets": "333"},
    {"where": "topic = 'orders' AND (offset BETWEEN 3 AND 100 OR key IS NULL)"},
    {"topics": "diverge", "taskBytes": "5000"},
    {"topics": "orders,diverge", "minPartitions": "7", "maxRecordsPerPartition": "100"},
    {"where": "offset > 1000000"},
]


@pytest.mark.parametrize("options", CASES, ids=str)
def test_it_is_what_spark_counts(spark: SparkSession, options: dict[str, str]) -> None:
    paths = list(map(str, BOTH))
    expected = spark.read.format("kafka-log").options(rows="records", columns="offset", **options).load(paths).count()
    assert count_records(spark, BOTH, **options) == expected
    assert (expected > 0) is (options != CASES[-1])


def test_one_copy_is_named_by_a_path_or_a_text(spark: SparkSession) -> None:
    assert (
        count_records(spark, BROKER, topics="diverge") == count_records(spark, f"one={BROKER}", TOPICS="diverge") == 420
    )


def test_what_cannot_be_read_ends_it_unless_the_mode_says_otherwise(spark: SparkSession, tmp_path: Path) -> None:
    damaged("record_bitflip", tmp_path)
    whole = count_records(spark, replicas("diverged") / "broker-2", topics="txns")
    with pytest.raises(PythonException, match=r"(?s)txns-0.*checksum"):
        count_records(spark, tmp_path / "broker-2", topics="txns")
    assert 0 < count_records(spark, tmp_path / "broker-2", topics="txns", mode="DROPMALFORMED") < whole


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"rows": "batches"}, NotAllowedError, "option rows of count_records cannot be 'batches'"),
        ({"Columns": "offset"}, NotAllowedError, "option columns of count_records cannot be 'offset'"),
        ({"topic": "diverge"}, UnknownOptionError, "kafka-log has no option topic"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    spark: SparkSession, options: dict[str, str], error: type[Exception], told: str
) -> None:
    with pytest.raises(error, match=told):
        count_records(spark, BROKER, **options)


def test_a_directory_without_copies_is_no_log(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(BROKER / "diverge-0", tmp_path / "a/b/c/diverge-0")
    with pytest.raises(NoSnapshotError):
        count_records(spark, tmp_path)
