"""Kafka's logs as tables: the numbers are those of Kafka's own tool, and filters spare reading."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from logstore import Log, LogFile, Record
from replication.audit import FilterPushdownWarning, prepare_session
from replication.audit.data_source import FilteringKafkaLogReader, KafkaLogSource
from replication.audit.selection import Selection
from replication.audit.tables import BATCHES, RECORDS, arrow_schema, spark_schema
from tests.data.replicas import damage_kinds, damaged, replicas, truth
from tests.replication.audit.snapshots import batches, write_root

LABELS = ("diverged", "reconciled", "healed")


def logs(spark: SparkSession, *paths: Path, **options: str) -> DataFrame:
    return spark.read.format("kafka-log").options(**options).load([str(path) for path in paths])


def reader(path: Path, filters: list[Filter] = [], **options: str) -> tuple[FilteringKafkaLogReader, list[Filter]]:  # noqa: B006  never changed
    source = KafkaLogSource({"path": str(path), **options})
    reader = FilteringKafkaLogReader(source.options, source.schema())
    return reader, list(reader.pushFilters(filters))


def read(reader: FilteringKafkaLogReader) -> list[dict[str, Any]]:
    return [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]


def expected(label: str) -> dict[tuple[str, str, int], tuple[int, int, int, int]]:
    """Batches, records, first and last offset of each copy that has any."""
    found = {}
    for replica, broker in truth(label)["brokers"].items():
        for directory, told in broker["partitions"].items():
            topic, partition = directory.rsplit("-", 1)
            if told["batches"]:
                numbers = (told["batches"], told["records"], told["first_offset"], told["last_offset"])
                found[replica, topic, int(partition)] = numbers
    return found


def test_every_batch_is_a_row_as_kafka_counts_them(spark: SparkSession) -> None:
    table = logs(spark, replicas("diverged")).groupBy("replica", "topic", "partition")

    rows = table.agg(f.count("*"), f.sum("record_count"), f.min("base_offset"), f.max("last_offset")).collect()

    assert {tuple(row[:3]): tuple(row[3:]) for row in rows} == expected("diverged")


@pytest.mark.parametrize("label", LABELS)
def test_each_snapshot_has_the_rows_that_kafka_counts(label: str) -> None:
    copies: defaultdict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in read(reader(replicas(label))[0]):
        copies[row["replica"], row["topic"], row["partition"]].append(row)

    assert {place: numbers_of(rows) for place, rows in copies.items()} == expected(label)


def numbers_of(rows: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    records = sum(row["record_count"] for row in rows)
    return len(rows), records, rows[0]["base_offset"], max(row["last_offset"] for row in rows)


def test_every_record_is_a_row_as_the_log_has_it(spark: SparkSession) -> None:
    rows = (
        logs(spark, replicas("diverged"), rows="records").where("topic = 'codecs' and replica = 'broker-2'").collect()
    )

    root = replicas("diverged") / "broker-2/codecs-0"
    records = [
        record
        for path in sorted(root.glob("*.log"))
        for batch in LogFile.open(path).batches()
        for record in batch.records()
    ]
    told = [(row.offset, row.timestamp, row.key, row.value, [tuple(header) for header in row.headers]) for row in rows]
    assert sorted(told) == sorted(
        (each.offset, each.timestamp, each.key, each.value, [tuple(header) for header in each.headers])
        for each in records
    )


def test_columns_are_those_that_are_asked_for_in_that_order(spark: SparkSession) -> None:
    table = logs(spark, replicas("diverged"), columns="last_offset, topic ,crc_valid")

    assert table.columns == ["last_offset", "topic", "crc_valid"]
    assert table.where("not crc_valid").count() == 0


@pytest.mark.parametrize(
    ("options", "told"),
    [({"columns": "topic,nonsense"}, "there is no 'nonsense'"), ({"rows": "bytes"}, "choose from batches, records")],
)
def test_options_that_mean_nothing_are_refused(spark: SparkSession, options: dict[str, str], told: str) -> None:
    with pytest.raises(AnalysisException, match=told):
        logs(spark, replicas("diverged"), **options)


def test_types_are_exact_also_when_nothing_is_there(spark: SparkSession, tmp_path: Path) -> None:
    write_root(tmp_path / "a", {"t-0": []}, node=1)

    for rows, table in (("batches", BATCHES), ("records", RECORDS)):
        empty = logs(spark, tmp_path / "a", rows=rows)
        assert arrow_schema(empty.schema).equals(pa.schema(table))
        assert empty.toArrow().schema.types == pa.schema(table).types
        assert empty.count() == 0


def test_filters_on_places_are_not_left_to_spark(spark: SparkSession) -> None:
    table = logs(spark, replicas("diverged")).where("topic = 'orders' and partition in (0, 2) and replica = 'broker-1'")

    plan = table._jdf.queryExecution().executedPlan().toString()
    assert not re.search(r"Filter .*orders", plan)
    assert {(row.replica, row.topic) for row in table.collect()} == {("broker-1", "orders")}


FILTERED = [
    ([EqualTo(("topic",), "orders")], lambda row: row["topic"] == "orders"),
    ([In(("partition",), (1, 2))], lambda row: row["partition"] in {1, 2}),
    ([EqualTo(("replica",), "broker-2"), EqualTo(("topic",), "codecs")], lambda row: row["topic"] == "codecs"),
    ([EqualTo(("topic",), "codecs"), EqualTo(("topic",), "txns")], lambda _row: False),
]


@pytest.mark.parametrize(("filters", "holds"), FILTERED)
def test_what_filters_leave_out_is_not_read(filters: list[Filter], holds: Any) -> None:
    everything, _ = reader(replicas("diverged"))
    filtered, left_to_spark = reader(replicas("diverged"), filters)

    rows = read(filtered)

    assert not left_to_spark
    assert all(map(holds, rows))
    assert len(rows) < len(read(everything))
    wanted = {job.copy for task in filtered.partitions() for job in task.value if job.copy}
    assert bytes_in(rows) == sum(copy.bytes for copy in wanted), "no other file was opened"


def bytes_in(rows: list[Mapping[str, Any]]) -> int:
    return sum(row["size"] for row in rows)


def test_segments_out_of_the_range_of_offsets_are_not_read(tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(20)}, segment_batches=4)  # segments of 12 offsets

    ranged, left_to_spark = reader(root, [GreaterThanOrEqual(("last_offset",), 13), LessThan(("base_offset",), 36)])

    assert {row["segment"] for row in read(ranged)} == {12, 24}
    assert len(left_to_spark) == 2, "Spark drops the batches at the edges"


def test_a_copy_without_a_log_has_no_rows_and_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(2), "t-1": batches(2)})
    for log in (root / "t-0").glob("*.log"):
        log.unlink()

    everything, _ = reader(root, [])

    assert {row["partition"] for row in read(everything)} == {1}


@given(st.data())
def test_no_filter_loses_a_row_that_it_asks_for(data: st.DataObject) -> None:
    kinds: list[Any] = [EqualTo, GreaterThan, GreaterThanOrEqual, LessThan, LessThanOrEqual]
    holds = {
        EqualTo: int.__eq__,
        GreaterThan: int.__gt__,
        GreaterThanOrEqual: int.__ge__,
        LessThan: int.__lt__,
        LessThanOrEqual: int.__le__,
    }
    columns = st.sampled_from(["base_offset", "last_offset"])
    chosen = data.draw(
        st.lists(
            st.builds(
                lambda kind, name, value: kind((name,), value), st.sampled_from(kinds), columns, st.integers(0, 40)
            )
        )
    )
    selection = Selection()
    assert list(selection.take(chosen)) == chosen
    base = data.draw(st.integers(0, 40))
    row = {"base_offset": base, "last_offset": base + data.draw(st.integers(0, 5))}

    if all(holds[type(each)](row[each.attribute[0]], each.value) for each in chosen):
        assert selection.meets(row["base_offset"], row["last_offset"])


def test_filters_that_are_not_understood_are_left_to_spark() -> None:
    odd: list[Filter] = [
        IsNotNull(("topic",)),
        Not(EqualTo(("topic",), "t")),
        EqualTo(("file",), "x"),
        In(("topic",), ("t", None)),
        EqualTo(("headers", "topic"), "t"),
        GreaterThan(("leader_epoch",), 3),
    ]
    selection = Selection()

    assert list(selection.take(odd)) == odd
    assert selection == Selection()


def test_tasks_of_any_size_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged("batch_length_overrun", tmp_path)
    whole = read(reader(tmp_path)[0])

    monkeypatch.setattr("replication.audit.data_source.target_bytes", lambda _total: 10_000)
    pieces = read(reader(tmp_path)[0])

    key = lambda row: (row["replica"], row["topic"], row["partition"], row["segment"], row["position"])  # noqa: E731
    assert sorted(pieces, key=key) == sorted(whole, key=key)


@pytest.mark.parametrize("kind", [kind for kind in damage_kinds() if not kind.startswith("legit")])
def test_damage_never_ends_a_read(kind: str, tmp_path: Path) -> None:
    topic = damaged(kind, tmp_path)["topic"]
    filters: list[Filter] = [EqualTo(("topic",), topic)] if topic else []

    assert read(reader(tmp_path)[0])
    read(reader(tmp_path, filters, rows="records")[0])


def test_a_session_that_pushes_no_filters_down_is_told_so(spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.python.filterPushdown.enabled", "false")

    with pytest.warns(FilterPushdownWarning, match=r"filterPushdown\.enabled is off"):
        prepare_session(other)


def test_without_filter_pushdown_whole_logs_are_read() -> None:
    source = KafkaLogSource({"path": str(replicas("diverged"))})

    plain = source.reader(source.schema())

    assert plain.pushFilters([EqualTo(("topic",), "codecs")]), "Spark refuses readers that take filters over"
    assert not isinstance(plain, FilteringKafkaLogReader)


def test_a_path_that_is_no_snapshot_is_said(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match=r"neither a log\.dirs root"):
        logs(spark, tmp_path).count()


def test_the_directories_of_single_partitions_are_their_rows_alone() -> None:
    root = replicas("diverged") / "broker-1"
    source = KafkaLogSource({"paths": json.dumps([str(root / "diverge-0"), str(root / "codecs-0")])})
    alone = read(FilteringKafkaLogReader(source.options, source.schema()))

    assert alone == read(reader(root, [In(("topic",), ("diverge", "codecs"))])[0])
    assert {row["replica"] for row in alone} == {"broker-1"}


@pytest.mark.parametrize("named", ["queues", "queues/queue-0", "."])
def test_logs_that_stand_alone_have_rows(named: str, tmp_path: Path) -> None:
    (tmp_path / "queues").mkdir()
    with Log.open(tmp_path / "queues/queue-0") as log:
        for number in range(3):
            log.append([Record(0, number, b"k", b"v")] * 2, leader_epoch=0)

    rows = read(reader(tmp_path / named)[0])

    assert [(row["topic"], row["base_offset"], row["record_count"]) for row in rows] == [
        ("queue", offset, 2) for offset in (0, 2, 4)
    ]


def test_a_read_is_an_iterator_of_arrow_batches() -> None:
    source, _ = reader(replicas("diverged"), columns="topic,size")
    tasks = source.partitions()

    rows = source.read(tasks[0])

    assert isinstance(rows, Iterator)
    assert next(rows).schema.equals(arrow_schema(spark_schema({name: BATCHES[name] for name in ("topic", "size")})))
