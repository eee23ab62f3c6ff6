"""Salvage on Spark gives the records and reports of the local one, whatever becomes of copies."""

import json
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from replication.audit import salvage
from replication.salvage import ConflictRule, SalvagedRecord, SalvageOptions, UnknownBrokerError, plan_salvage
from tests.campaign import Campaign
from tests.data.replicas import replicas
from tests.replication.copies.salvage.copies import data, write_copy
from tests.replication.copies.salvage.history import TOPIC, History

HISTORIES = Campaign("salvage on Spark: random histories", full=50, share=3)
COMMON = data(0, b"common")


def check(
    spark: SparkSession,
    roots: Sequence[Path],
    kept: str,
    topics: Sequence[str] = (),
    options: SalvageOptions | None = None,
) -> list[dict[str, Any]]:
    """Compare both; return the reports."""
    found = salvage(spark, roots, kept, options, topics=topics)
    plan = plan_salvage(roots, kept, options, topics=topics, on_error=lambda *_: None)
    assert list(found.lacking) == list(plan.lacking)
    rows = found.records.toArrow().to_pylist()
    rows.sort(key=lambda row: (row["topic"], row["partition"]))  # which leaves the order within a partition
    assert rows == list(map(as_row, plan.records(on_error=lambda *_: None)))
    reports = sorted(found.reports.toArrow().to_pylist(), key=lambda row: (row["topic"], row["partition"]))
    told = [json.loads(row["report"]) for row in reports if row["report"]]
    expected = list(plan.reports(on_error=lambda *_: None))
    assert told == [json.loads(json.dumps(each.as_json())) for each in expected]
    read = [row for row in reports if row["report"]]
    assert [row["salvaged"] for row in read] == [each.salvaged for each in expected]
    assert [row["left_out"] for row in read] == [sum(each.counts.values()) for each in expected]
    assert [row["is_in_doubt"] for row in read] == [each.is_in_doubt for each in expected]
    return reports


def as_row(record: SalvagedRecord) -> dict[str, Any]:

    return {
        **record._asdict(),
        "timestamp": datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=record.timestamp),
        "timestamp_type": int(record.timestamp_type),
        "headers": [header._asdict() for header in record.headers],
        "timestamp_ms": record.timestamp,
    }


@pytest.mark.parametrize(("kept", "partitions"), [("broker-1", 8), ("broker-2", 8), ("3", 6)])
def test_real_replicas_are_salvaged_as_on_one_machine(kept: str, partitions: int, spark: SparkSession) -> None:
    roots = sorted(each for each in replicas("diverged").iterdir() if each.is_dir())
    assert len(check(spark, roots, kept)) == partitions


def test_random_histories_are_salvaged_as_on_one_machine(spark: SparkSession, tmp_path: Path) -> None:
    rng = random.Random(HISTORIES.seed)
    salvaged = 0
    for number in range(HISTORIES.count):
        history = History(rng, tmp_path / str(number), rng.choice([2, 3]), keyed=0.3)
        history.run(steps=120)
        options = SalvageOptions(rng.choice(list(ConflictRule)))
        reports = check(spark, history.roots, rng.choice(history.roots).name, [TOPIC], options)
        salvaged += sum(row["salvaged"] for row in reports)
    HISTORIES.report(HISTORIES.count, f"{salvaged:,} records salvaged")


def test_a_partition_that_cannot_be_read_is_told_and_the_others_are_salvaged(
    spark: SparkSession, tmp_path: Path
) -> None:
    roots = [write_copy(tmp_path / name, [COMMON, data(1, b"x")]) for name in ("kept", "other")]
    for name, lost in (("kept", ()), ("other", [data(1, b"lost")])):
        write_copy(tmp_path / name, [COMMON, *lost], topic="u")
    (tmp_path / "kept" / "t-0" / "leader-epoch-checkpoint").write_text("no checkpoint")
    found = salvage(spark, roots, "kept")
    unread, read = sorted(found.reports.toArrow().to_pylist(), key=lambda row: row["topic"])
    assert (unread["topic"], unread["report"], unread["salvaged"]) == ("t", None, None)
    assert "leader-epoch-checkpoint" in unread["errors"][0]
    assert (read["topic"], read["salvaged"], read["errors"]) == ("u", 1, [])
    assert [row.value for row in found.records.collect()] == [b"lost"]


def test_a_partition_that_only_others_hold_is_salvaged_where_its_topic_is_named(
    spark: SparkSession, tmp_path: Path
) -> None:
    roots = [write_copy(tmp_path / name, [COMMON]) for name in ("kept", "other")]
    write_copy(tmp_path / "other", [data(0, b"far", timestamp=1 << 55)], topic="u")
    assert [str(each) for each in salvage(spark, roots, "kept").lacking] == ["u-0"]
    [row] = salvage(spark, roots, "kept", topics=["u"]).records.collect()
    assert (row.topic, row.value, row.timestamp, row.timestamp_ms) == ("u", b"far", None, 1 << 55)
    alone = salvage(spark, [tmp_path / "kept" / "t-0", tmp_path / "other"], "kept")
    assert not alone.lacking, "of a partition that is named by itself it is not known what else its broker has"


def test_a_kept_broker_that_is_none_of_the_copies_is_refused(spark: SparkSession) -> None:
    with pytest.raises(UnknownBrokerError, match="broker-9"):
        salvage(spark, [replicas("diverged")], "broker-9")
