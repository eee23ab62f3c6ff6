"""Kafka's logs as tables: the numbers are those of Kafka's own tool, and options spare reading."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.datasource import DataSourceReader, EqualTo, GreaterThanOrEqual

from logstore import Log, LogFile, Record
from replication.base.errors import NothingChosenError, ReplicationError, SameBrokerError
from replication.copies.audit.log_rows.corrupt_rows import ReadMode
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from replication.copies.audit.spark.source.data_source import KafkaLogSource
from replication.copies.audit.spark.spark_schema import spark_schema
from replication.copies.audit.tables import BATCHES, RECORDS
from tests.data.replicas import LABELS, damaged, replicas, truth
from tests.replication.copies.audit.snapshot_roots import batches, write_root


def logs(spark: SparkSession, *paths: Path, **options: str) -> DataFrame:
    return spark.read.format("kafka-log").options(**options).load([str(path) for path in paths])


def reader(*paths: Path, **options: str) -> DataSourceReader:
    source = KafkaLogSource({"paths": json.dumps(list(map(str, paths))), **options})
    return source.reader(source.schema())


def read(reader: DataSourceReader) -> list[dict[str, Any]]:
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
    for row in read(reader(replicas(label))):
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
    told = [
        (row.offset, row.timestamp_ms, row.key, row.value, [tuple(header) for header in row.headers or ()])
        for row in rows
    ]
    assert sorted(told) == sorted(
        (each.offset, each.timestamp, each.key, each.value, [tuple(header) for header in each.headers])
        for each in records
    )
    assert all(round(row.timestamp.timestamp() * 1_000) == row.timestamp_ms for row in rows)


def test_columns_are_those_that_are_asked_for_in_that_order(spark: SparkSession) -> None:
    table = logs(spark, replicas("diverged"), columns="last_offset, topic ,crc_valid")

    assert table.columns == ["last_offset", "topic", "crc_valid"]
    assert table.where("not crc_valid").count() == 0


PLACE: dict[str, str] = {"path": "/backup"}
REFUSED: list[tuple[dict[str, str], str]] = [
    ({}, r"path of kafka-log cannot be None; allowed: one \[NAME=\]URI, or a list of them"),
    ({"paths": "[]"}, r"allowed: one \[NAME=\]URI, or a list of them"),
    ({"paths": "[1]"}, r"allowed: one \[NAME=\]URI, or a list of them"),
    ({"paths": '"/backup"'}, r"allowed: one \[NAME=\]URI, or a list of them"),
    ({"paths": "/backup"}, r"allowed: one \[NAME=\]URI, or a list of them"),
    (
        {**PLACE, "topic": "orders"},
        "no option topic; allowed: rows, columns, topics, partitions, replicas, subscribePattern",
    ),
    ({**PLACE, "rows": "bytes"}, "rows of kafka-log cannot be 'bytes'; allowed: batches, records, epochs or segments"),
    ({**PLACE, "rows": ""}, "allowed: batches, records, epochs or segments"),
    ({**PLACE, "columns": "topic,nonsense"}, "columns of kafka-log cannot be 'nonsense'; allowed: replica, topic,"),
    ({**PLACE, "columns": "topic,value"}, "columns of kafka-log cannot be 'value'; allowed: replica, topic,"),
    ({**PLACE, "columns": ""}, "names with commas between; leave it out for all"),
    ({**PLACE, "columns": "topic,"}, "names with commas between"),
    ({**PLACE, "columns": "topic, topic"}, "each of them once"),
    ({**PLACE, "topics": " "}, "names with commas between"),
    ({**PLACE, "partitions": "orders"}, "partitions of kafka-log cannot be 'orders'; allowed: .* orders-0,orders-\\*"),
    ({**PLACE, "partitions": "orders*"}, r"partitions of kafka-log cannot be 'orders\*'"),
    ({**PLACE, "partitions": "0,1"}, "partitions of kafka-log cannot be '0'"),
    ({**PLACE, "partitions": f"orders-0.{'0' * 32}-delete"}, "partitions of kafka-log cannot be 'orders-0.000"),
    ({**PLACE, "replicas": ""}, "names with commas between"),
    (
        {**PLACE, "startingoffsets": "-1"},
        "startingOffsets of kafka-log cannot be '-1'; allowed: earliest, an offset from 0 to 9223372036",
    ),
    ({**PLACE, "startingoffsets": "1e3"}, "an offset from 0 to 9223372036"),
    ({**PLACE, "startingoffsets": "latest"}, "allowed: earliest"),
    ({**PLACE, "endingoffsets": "earliest"}, "allowed: latest"),
    ({**PLACE, "endingoffsets": str(2**63)}, "offsets by partition as JSON, of which -1 is latest"),
    ({**PLACE, "startingoffsets": "8", "endingoffsets": "7"}, "an offset from startingOffsets on, which is 8"),
    ({**PLACE, "startingoffsets": '{"t": {"0": -1}}'}, "of which -2 is earliest"),
    ({**PLACE, "startingoffsets": '{"t": {"a": 1}}'}, "of which -2 is earliest"),
    ({**PLACE, "startingoffsets": '{"t": {"0": true}}'}, "of which -2 is earliest"),
    ({**PLACE, "startingoffsets": '{"t": 5}'}, "of which -2 is earliest"),
    ({**PLACE, "startingoffsets": "{}"}, "of which -2 is earliest"),
    ({**PLACE, "startingoffsets": "[" * 10_000}, "of which -2 is earliest"),
    ({**PLACE, "startingtimestamp": "yesterday"}, "milliseconds since 1970 UTC, or a time such as"),
    ({**PLACE, "endingtimestamp": ""}, "milliseconds since 1970 UTC"),
    ({**PLACE, "where": ""}, "it ends too early"),
    ({**PLACE, "where": "value = 'x'"}, "value is no column that spares reading"),
    ({**PLACE, "where": "offset = 'x'"}, "offset is not compared with 'x'"),
    ({**PLACE, "where": "offset LIKE '1%'"}, "LIKE does not follow offset"),
    ({**PLACE, "where": "offset = 1 AND"}, "it ends too early"),
    ({**PLACE, "where": "(offset = 1"}, r"\) is missing"),
    ({**PLACE, "where": "offset = 1 offset = 2"}, "something follows the condition"),
    ({**PLACE, "where": "offset BETWEEN 1 OR 2"}, "AND is missing"),
    ({**PLACE, "where": "offset IN ()"}, "offset is not compared with a word"),
    ({**PLACE, "where": "NOT"}, "it ends too early"),
    ({**PLACE, "where": "offset = 1; DROP"}, "'; DROP' is not understood"),
    ({**PLACE, "where": "timestamp > 'noon'"}, "'noon' is no time such as"),
    ({**PLACE, "where": "(" * 60 + "offset = 1" + ")" * 60}, "too many parentheses"),
    ({**PLACE, "isolation": "serializable"}, "allowed: read_uncommitted or read_committed"),
    ({**PLACE, "mode": "LENIENT"}, "allowed: PERMISSIVE, DROPMALFORMED or FAILFAST"),
    ({**PLACE, "taskbytes": "0"}, "a whole number of bytes from 1 on"),
    ({**PLACE, "taskbytes": "1 GiB"}, "a whole number of bytes from 1 on"),
    ({**PLACE, "pushdown": "yes"}, "allowed: false or true"),
    ({**PLACE, "mode": "pe\u0131ssive"}, "allowed: PERMISSIVE, DROPMALFORMED or FAILFAST"),
    ({**PLACE, "rows": "epochs", "startingoffsets": "7"}, "nothing with rows epochs, which are of whole logs"),
    ({**PLACE, "rows": "segments", "where": "offset = 7"}, "nothing with rows segments"),
]


@pytest.mark.parametrize(("options", "told"), REFUSED, ids=[str(options) for options, _ in REFUSED])
def test_options_that_mean_nothing_are_refused(options: dict[str, str], told: str) -> None:
    with pytest.raises(ReplicationError, match=told):
        KafkaLogSource(options).schema()


def test_spark_tells_what_is_refused_before_anything_is_read(spark: SparkSession, tmp_path: Path) -> None:
    format_ = spark.read.format("kafka-log")
    for load in (format_.load, lambda: format_.load([])):
        with pytest.raises(AnalysisException, match="path of kafka-log cannot be None"):
            load()
    with pytest.raises(AnalysisException, match="kafka-log has no option maxrows; allowed: rows"):
        logs(spark, tmp_path, maxRows="3")
    with pytest.raises(AnalysisException, match="there is no partition of the topics nonsense; the snapshots hold"):
        logs(spark, replicas("diverged"), topics="nonsense").count()


def test_a_schema_of_ones_own_has_these_columns_only(spark: SparkSession) -> None:
    given = spark.read.format("kafka-log").schema("size bigint, topic string")
    whole = logs(spark, replicas("diverged"))

    assert given.load(str(replicas("diverged"))).agg(f.sum("size")).first() == whole.agg(f.sum("size")).first()
    for schema in ("size int", "topic string, bytes bigint"):
        with pytest.raises(AnalysisException, match=r"a schema of kafka-log cannot be .*allowed: replica string,"):
            spark.read.format("kafka-log").schema(schema).load(str(replicas("diverged"))).count()


def test_views_of_sql_take_the_same_options(spark: SparkSession) -> None:
    place = replicas("diverged")
    spark.sql(f"CREATE TEMPORARY VIEW logs USING `kafka-log` OPTIONS (path '{place}', topics 'orders')")
    try:
        assert spark.sql("SELECT DISTINCT topic FROM logs").collect() == [("orders",)]
    finally:
        spark.catalog.dropTempView("logs")
    with pytest.raises(AnalysisException, match="kafka-log has no option topic; allowed"):
        spark.sql(f"CREATE TEMPORARY VIEW wrong USING `kafka-log` OPTIONS (path '{place}', topic 'orders')")


def test_types_are_exact_also_when_nothing_is_there(spark: SparkSession, tmp_path: Path) -> None:
    write_root(tmp_path / "a", {"t-0": []}, node=1)

    for rows, table in (("batches", BATCHES), ("records", RECORDS)):
        empty = logs(spark, tmp_path / "a", rows=rows)
        assert empty.schema == spark_schema(table)
        assert empty.toArrow().schema.types == pa.schema(table).types
        assert empty.count() == 0


SELECTED: list[tuple[dict[str, str], Callable[[dict[str, Any]], bool]]] = [
    ({"topics": "orders"}, lambda row: row["topic"] == "orders"),
    ({"topics": "div*, txns"}, lambda row: row["topic"] in {"diverge", "txns"}),
    ({"partitions": "orders-1,orders-2"}, lambda row: row["topic"] == "orders" and row["partition"] in {1, 2}),
    ({"partitions": "orders-*,d*e-0"}, lambda row: row["topic"] in {"orders", "diverge"}),
    ({"partitions": "o*-[1-2]"}, lambda row: row["topic"] == "orders" and row["partition"] in {1, 2}),
    (
        {"topics": "orders", "partitions": "orders-1,txns-0"},
        lambda row: (row["topic"], row["partition"]) == ("orders", 1),
    ),
]


@pytest.mark.parametrize(("options", "holds"), SELECTED)
def test_what_options_leave_out_is_not_read(options: dict[str, str], holds: Callable[[dict[str, Any]], bool]) -> None:
    everything = read(reader(replicas("diverged")))
    selected = reader(replicas("diverged"), **options)

    rows = read(selected)

    assert rows == [row for row in everything if holds(row)]
    assert 0 < len(rows) < len(everything)
    wanted = {job.copy for task in selected.partitions() for job in task.value if job.copy}
    assert bytes_in(rows) == sum(copy.bytes for copy in wanted), "no other file was opened"


def test_words_may_be_written_in_letters_of_any_case() -> None:
    told = {"rows": "Records", "mode": "permissive", "isolation": "READ_committed", "failOnDataLoss": "FALSE"}
    told |= {
        "pushdown": "True",
        "startingOffsets": "EARLIEST",
        "endingOffsets": "Latest",
        "columns": "OFFSET,timestamptype",
    }
    meant = {name: value.lower() for name, value in told.items()} | {"mode": "PERMISSIVE"}
    meant["columns"] = "offset,timestampType"

    assert SourceOptions.of({**PLACE, **told}) == SourceOptions.of({**PLACE, **meant})
    assert SourceOptions.of({**PLACE, **told}).mode is ReadMode.PERMISSIVE


def test_a_pattern_of_partitions_may_match_nothing_but_one_of_them_does(tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(1), "t-1": batches(1), "t-u-0": batches(1)})

    found = read(reader(root, partitions="t-*,nothing-*"))

    assert [(row["topic"], row["partition"]) for row in found] == [("t", 0), ("t", 1)]
    with pytest.raises(NothingChosenError, match=r"called nothing-\*"):
        reader(root, partitions="nothing-*").partitions()


def test_a_path_may_be_a_pattern(spark: SparkSession) -> None:
    place = replicas("diverged")

    found = spark.read.format("kafka-log").load(f"{place}/broker-[12]/")

    assert {row[0] for row in found.select("replica").distinct().collect()} == {"broker-1", "broker-2"}
    assert found.count() == logs(spark, place / "broker-1", place / "broker-2").count()


def bytes_in(rows: list[Mapping[str, Any]]) -> int:
    return sum(row["size"] for row in rows)


def test_segments_out_of_the_range_of_offsets_are_not_read(tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(20)}, segment_batches=4)  # segments of 12 offsets

    ranged = reader(root, startingOffsets="13", endingOffsets="36")

    assert [row["base_offset"] for row in read(ranged)] == [*range(12, 36, 3)]
    read_files = {part.base_offset for task in ranged.partitions() for job in task.value for part in job.copy.segments}
    assert read_files == {12, 24}


@given(bounds=st.tuples(st.integers(0, 70), st.integers(0, 70)).map(sorted))
def test_offsets_are_those_between_the_bounds(bounds: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.getbasetemp() / "between"
    if not root.exists():
        write_root(root, {"t-0": batches(20)}, segment_batches=4)
    first, last = bounds
    options = {"startingOffsets": str(first), "endingOffsets": str(last + 1)}

    offsets = [row["offset"] for row in read(reader(root, rows="records", **options))]
    heads = [row["base_offset"] for row in read(reader(root, **options))]

    assert offsets == [offset for offset in range(60) if first <= offset <= last]
    assert heads == [base for base in range(0, 60, 3) if base <= last and base + 2 >= first]


def test_a_copy_without_a_log_has_no_rows_and_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(2), "t-1": batches(2)})
    for log in (root / "t-0").glob("*.log"):
        log.unlink()

    assert {row["partition"] for row in read(reader(root))} == {1}


def test_tasks_of_any_size_read_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged("batch_length_overrun", tmp_path)
    whole = read(reader(tmp_path))

    monkeypatch.setattr("replication.copies.audit.log_rows.chosen_logs.target_bytes", lambda _total: 10_000)
    pieces = read(reader(tmp_path))

    key = lambda row: (row["replica"], row["topic"], row["partition"], row["segment"], row["position"])  # noqa: E731
    assert sorted(pieces, key=key) == sorted(whole, key=key)


def test_the_same_directory_twice_is_refused() -> None:
    root = replicas("diverged") / "broker-1"
    for second in (root, root / "codecs-0", f"other={root}"):
        with pytest.raises(SameBrokerError, match=r"the same directory, .*broker-1/"):
            reader(root, Path(second)).partitions()


def test_a_path_that_is_no_snapshot_is_said(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(AnalysisException, match=r"neither a log\.dirs root"):
        logs(spark, tmp_path).count()


def test_the_directories_of_single_partitions_are_their_rows_alone() -> None:
    root = replicas("diverged") / "broker-1"
    alone = read(reader(root / "diverge-0", root / "codecs-0"))

    assert alone == read(reader(root, topics="diverge,codecs"))
    assert {row["replica"] for row in alone} == {"broker-1"}


@pytest.mark.parametrize("named", ["queues", "queues/queue-0", "."])
def test_logs_that_stand_alone_have_rows(named: str, tmp_path: Path) -> None:
    (tmp_path / "queues").mkdir()
    with Log.open(tmp_path / "queues/queue-0") as log:
        for number in range(3):
            log.append([Record(0, number, b"k", b"v")] * 2, leader_epoch=0)

    rows = read(reader(tmp_path / named))

    assert [(row["topic"], row["base_offset"], row["record_count"]) for row in rows] == [
        ("queue", offset, 2) for offset in (0, 2, 4)
    ]


def test_a_read_is_an_iterator_of_arrow_batches() -> None:
    source = reader(replicas("diverged"), columns="topic,size")
    tasks = source.partitions()

    rows = source.read(tasks[0])

    assert isinstance(rows, Iterator)
    assert next(rows).schema.equals(pa.schema({name: BATCHES[name] for name in ("topic", "size")}))


PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, "true")
    yield spark
    spark.conf.set(PUSHDOWN, before)


PUSHED = [
    "topic = 'diverge'",
    "topic in ('diverge', 'orders') and partition = 0",
    "topic like 'div%' and offset between 295 and 305 and replica = 'broker-2'",
    "offset < 3 and leader_epoch >= 1",
    "timestamp >= timestamp'2026-11-21 07:56:18' and topic != 'orders'",
    "producer_id = 1 or offset = 7",
    "topic = 'diverge' and key is not null and value like '%1%'",
]


@pytest.mark.parametrize("where", PUSHED)
def test_filters_that_are_pushed_change_no_result(where: str, pushing: SparkSession) -> None:
    columns = {
        "rows": "records",
        "columns": "replica,topic,partition,offset,timestamp,leader_epoch,producer_id,key,value",
    }

    pushed = logs(pushing, replicas("diverged"), pushdown="true", **columns).where(where)

    plain = logs(pushing, replicas("diverged"), **columns).where(where)
    assert sorted(pushed.drop("key", "value").collect()) == sorted(plain.drop("key", "value").collect())
    assert plain.count() > 0


def test_what_is_pushed_is_not_read_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = write_root(tmp_path / "a", {"t-0": batches(20), "u-0": batches(20)}, segment_batches=4)
    filters = [EqualTo(("topic",), "t"), GreaterThanOrEqual(("offset",), 40), EqualTo(("value",), b"x")]
    pushing = reader(root, rows="records", pushdown="true")

    left = list(pushing.pushFilters(filters))

    assert left == filters, "Spark applies them all again"
    assert [(row["topic"], row["offset"]) for row in read(pushing)] == [("t", offset) for offset in range(40, 60)]
    [listed] = [each for task in pushing.partitions() for each in task.value]
    assert [segment.base_offset for segment in listed.copy.segments] == [36, 48]
    told = capsys.readouterr().err
    assert "EqualTo(attribute=('topic',), value='t')" in told
    assert "value',)" not in told


def test_pushing_needs_sparks_consent(spark: SparkSession) -> None:
    if spark.conf.get(PUSHDOWN) == "true":
        pytest.skip("it is on")
    with pytest.raises(AnalysisException, match=r"filterPushdown\.enabled"):
        logs(spark, replicas("diverged"), pushdown="true").where("topic = 'orders'").count()


def test_a_stream_is_refused_at_once(spark: SparkSession) -> None:
    stream = spark.readStream.format("kafka-log").load(str(replicas("diverged")))

    with pytest.raises(StreamingQueryException, match="kafka-log cannot be read as a stream"):
        stream.writeStream.format("noop").start().processAllAvailable()


def test_rows_unite_with_those_of_sparks_own_source(spark: SparkSession) -> None:
    own = spark.createDataFrame(
        [],
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
        "headers array<struct<key: string, value: binary>>",
    )
    ours = logs(spark, replicas("diverged"), rows="records", topics="headers*,codecs").select(own.columns)

    assert ours.schema == own.schema
    assert own.unionByName(ours).count() == ours.count() > 0


def test_a_count_of_records_is_that_of_the_headers(spark: SparkSession) -> None:
    by_headers = logs(spark, replicas("diverged"), columns="record_count").agg(f.sum("record_count")).first()

    assert by_headers is not None
    assert logs(spark, replicas("diverged"), rows="records", columns="partition").count() == by_headers[0]
    assert logs(spark, replicas("diverged"), rows="records").count() == by_headers[0]
