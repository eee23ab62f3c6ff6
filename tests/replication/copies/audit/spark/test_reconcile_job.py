"""Logs held against tables of Parquet: what was planted in the tables is found, and nothing else."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from replication.audit import NothingChosenError, reconcile
from replication.base.errors import NotAllowedError
from replication.explain import Sources, Why
from tests.data.replicas import replicas

COPIES = [replicas("diverged") / f"broker-{number}" for number in (1, 2, 3)]
SCHEMA = "topic string, partition int, offset long, leader_epoch int"
Row = tuple[str | None, int | None, int | None, int | None]
Found = tuple[str, int, int, int]


@pytest.fixture(scope="module")
def consumed() -> list[Row]:
    """What a consumer of all partitions is given, record by record."""
    sources = Sources.open(COPIES)
    return [
        (partition.topic, partition.partition, offset, each.leader_epoch)
        for partition in sources.partitions
        for each in sources.explain(partition).of(Why.DELIVERED)
        for offset in range(each.first_offset, each.last_offset + 1)
    ]


def written(spark: SparkSession, rows: Sequence[Row], place: Path) -> DataFrame:
    """A table of Parquet, in several files and in no order."""
    spark.createDataFrame(rows, SCHEMA).repartition(3).write.parquet(str(place))
    return spark.read.parquet(str(place))


def found_in(ranges: DataFrame, topic: str) -> list[Found]:
    rows = ranges.where("is_finding").where(f"topic = '{topic}'").orderBy("first_offset", "leader_epoch").collect()
    return [(row["status"], row["first_offset"], row["last_offset"], row["copies"]) for row in rows]


def test_a_table_with_all_that_consumers_are_given_has_no_findings(
    spark: SparkSession, consumed: list[Row], tmp_path: Path
) -> None:
    found = reconcile(spark, COPIES, written(spark, consumed, tmp_path / "sink"))
    assert found.ranges.where("is_finding or error is not null").collect() == []
    statuses = {row["status"] for row in found.ranges.collect()}
    assert {"delivered", "control-marker", "aborted-transaction", "before-log-start", "truncated"} <= statuses
    totals = {
        (row["status"], row["in_table"]): row for row in found.counts.groupBy("status", "in_table").sum().collect()
    }
    assert totals["delivered", True]["sum(rows)"] == len(consumed)
    assert not any(in_table for status, in_table in totals if status != "delivered")


def test_what_was_planted_is_found(spark: SparkSession, consumed: list[Row], tmp_path: Path) -> None:
    lost = {("diverge", offset) for offset in range(150, 160)} | {("txns", 450)}
    rows = [row for row in consumed if (row[0], row[2]) not in lost]
    rows += [("diverge", 0, offset, 5) for offset in range(310, 320)] * 2  # beside the first row of each
    rows += [("diverge", 0, offset, 4) for offset in range(300, 420)]  # of the branch that was cut off
    rows += [("diverge", 0, offset, 5) for offset in range(500, 503)]  # beyond the log's end
    rows += [("diverge", 0, 20, 9), ("diverge", 0, 30, 4)]  # of epochs that did not write there
    rows += [("txns", 0, offset, None) for offset in (200, 201, 202)]  # a marker, and records that were aborted
    rows += [("txns", 0, None, 1), ("txns", 0, -1, 1), (None, 0, 2, 1)]
    found = reconcile(spark, COPIES, written(spark, rows, tmp_path / "sink"))
    assert found_in(found.ranges, "diverge") == [
        ("never-written", 20, 20, 1),
        ("never-written", 30, 30, 1),
        ("missing", 150, 159, 0),
        ("truncated", 300, 376, 1),
        ("delivered", 310, 319, 3),
        ("truncated", 377, 419, 1),
        ("never-written", 500, 502, 1),
    ]
    assert found_in(found.ranges, "txns") == [
        ("control-marker", 200, 200, 1),
        ("aborted-transaction", 201, 202, 1),
        ("missing", 450, 450, 0),
    ]
    assert found.ranges.where("is_finding and topic not in ('diverge', 'txns')").count() == 0
    cut = found.ranges.where("status = 'truncated' and topic = 'diverge' and copies > 0").collect()
    assert {(row["leader_epoch"], row["cut_by_epoch"]) for row in cut} == {(4, 5)}
    assert all("the leader of epoch 5 did not have it" in row["evidence"] for row in cut)
    [stale] = found.ranges.where("topic = 'diverge' and first_offset = 20 and leader_epoch = 9").collect()
    assert "the latest that the copies know is 5" in stale["evidence"]
    errors = {row["topic"]: row["error"] for row in found.ranges.where("error is not null").collect()}
    assert "null or below 0 were left out: 2 rows" in errors["txns"]
    assert "without a topic or a partition were left out: 1 row" in errors[None]
    counts = found.counts.where("topic = 'diverge'").groupBy("status").sum("duplicates", "rows").collect()
    assert {row["status"]: row["sum(duplicates)"] for row in counts if row["sum(duplicates)"]} == {"delivered": 20}
    known = sum(row["sum(rows)"] for row in found.counts.groupBy("status").sum("rows").collect())
    assert known == len(rows) - 3, "each row that names an offset is of one range"


def test_without_leader_epochs_rows_that_may_be_of_another_branch_are_doubtful(
    spark: SparkSession, consumed: list[Row], tmp_path: Path
) -> None:
    rows = written(spark, [*consumed, ("diverge", 0, 400, 4)], tmp_path / "sink").drop("leader_epoch")
    found = reconcile(spark, COPIES, rows, topics=["diverge"])
    assert found_in(found.ranges, "diverge") == [("truncated", 400, 400, 1)]
    doubtful = found.ranges.where("is_doubtful").collect()
    assert [(row["first_offset"], row["last_offset"], row["status"]) for row in doubtful] == [(300, 376, "delivered")]


def test_what_a_consumer_of_uncommitted_records_is_given_is_expected_of_its_table(
    spark: SparkSession, consumed: list[Row], tmp_path: Path
) -> None:
    found = reconcile(spark, COPIES, written(spark, consumed, tmp_path / "sink"), topics=["txns"], committed_only=False)
    assert {status for status, *_ in found_in(found.ranges, "txns")} == {"missing"}
    missing = sum(last - first + 1 for _, first, last, _ in found_in(found.ranges, "txns"))
    [partition] = [each for each in Sources.open(COPIES).partitions if each.topic == "txns"]
    counts = Sources.open(COPIES).explain(partition).counts
    assert missing == counts[Why.ABORTED] + counts.get(Why.OPEN, 0) > 0


def test_results_are_divided_by_the_time_of_the_logs_batches(
    spark: SparkSession, consumed: list[Row], tmp_path: Path
) -> None:
    rows = [row for row in consumed if row[:3] != ("diverge", 0, 310)]
    table = written(spark, [*rows, ("diverge", 0, 600, None)], tmp_path / "sink")
    found = reconcile(spark, COPIES, table, topics=["diverge"], window=timedelta(seconds=10))
    batches = spark.read.format("kafka-log").option("topics", "diverge").load(str(COPIES[1])).collect()
    expected: dict[datetime, int] = {}
    for batch in batches:
        start = datetime.fromtimestamp(batch["max_timestamp"] // 10_000 * 10, UTC)
        expected[start] = expected.get(start, 0) + batch["last_offset"] - batch["base_offset"] + 1
    assert len(expected) > 1
    counts = found.counts.selectExpr("cast(unix_millis(window) as long) as at", "status", "offsets").collect()
    of_log: dict[datetime, int] = {}
    for row in counts:
        if row["at"] is not None:
            start = datetime.fromtimestamp(row["at"] / 1000, UTC)
            of_log[start] = of_log.get(start, 0) + row["offsets"]
    assert of_log == expected
    assert {row["status"] for row in counts if row["at"] is None} == {"truncated", "never-written"}


def test_columns_may_have_other_names_and_a_topic_of_its_own_none(
    spark: SparkSession, consumed: list[Row], tmp_path: Path
) -> None:
    table = written(spark, consumed, tmp_path / "sink").where("topic = 'diverge'")
    renamed = table.selectExpr(
        "struct(partition as p, cast(offset as decimal(20, 0)) as o) as kafka", "leader_epoch as e"
    )
    columns = {"partition": "kafka.p", "offset": "kafka.o", "leader_epoch": "e"}
    found = reconcile(spark, COPIES, renamed, topics=["diverge"], columns=columns)
    assert found.ranges.where("is_finding or error is not null").count() == 0
    assert found.counts.where("status = 'delivered'").first()["rows"] == 377  # type: ignore[index]


def test_a_topic_that_no_copy_has_is_unread_and_not_never_written(
    spark: SparkSession, consumed: list[Row], tmp_path: Path
) -> None:
    table = written(spark, [*consumed, ("nowhere", 3, 1, None), ("nowhere", 3, 2, None)], tmp_path / "sink")
    rows = reconcile(spark, COPIES, table).ranges.where("topic = 'nowhere'").collect()
    [unread] = [row for row in rows if row["status"]]
    assert (unread["status"], unread["first_offset"], unread["last_offset"]) == ("unread", 1, 2)
    [error] = [row["error"] for row in rows if row["error"]]
    assert "nowhere-3 can be read in none of these copies" in error


def test_only_chosen_topics_are_looked_at(spark: SparkSession, consumed: list[Row], tmp_path: Path) -> None:
    table = written(spark, [*consumed, ("nowhere", 3, 1, None)], tmp_path / "sink")
    found = reconcile(spark, COPIES, str(tmp_path / "sink"), topics=["div*", "txns"])
    assert {row["topic"] for row in found.ranges.collect()} == {"diverge", "txns"}
    with pytest.raises(NothingChosenError):
        reconcile(spark, COPIES, table, topics=["other"])


@pytest.mark.parametrize(
    ("select", "columns", "problem"),
    [
        ("topic; partition", {}, "the column of the offset cannot be 'offset'; allowed: a column of the table: topic"),
        ("partition; offset", {}, "the column of the topic cannot be 'topic'"),
        ("topic; partition; cast(offset as string) as offset", {}, "'offset string'; allowed: whole numbers"),
        ("topic; partition; offset", {"leader_epoch": "e"}, "the column of the leader epoch cannot be 'e'"),
        ("topic; partition; offset", {"key": "k"}, "a column to rename cannot be 'key'"),
    ],
)
def test_a_table_of_which_it_is_not_clear_what_it_has_is_refused(
    spark: SparkSession, select: str, columns: dict[str, str], problem: str
) -> None:
    table = spark.createDataFrame([("diverge", 0, 7, 1)], SCHEMA).selectExpr(*select.split("; "))
    with pytest.raises(NotAllowedError, match=problem):
        reconcile(spark, COPIES, table, columns=columns)
