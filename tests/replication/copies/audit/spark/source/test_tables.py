"""Tables in a catalog of Spark's keep their options with their columns, unless a statement declares these."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from replication.base.errors import NotAllowedError
from replication.copies.audit.spark.source.data_source import KafkaLogSource
from replication.copies.audit.spark.source.table_options import options_of_new_table
from tests.data.replicas import replicas

TABLE = "logs_of_a_catalog"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return Path(shutil.copytree(replicas("diverged") / "broker-1", tmp_path / "broker-1"))


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark
    spark.sql(f"DROP TABLE IF EXISTS {TABLE}")


def counted(spark: SparkSession, query: str) -> int:
    row = spark.sql(f"SELECT count(*) FROM {query}").first()  # noqa: S608  ours
    assert row is not None
    return int(row[0])


def test_a_table_without_columns_has_those_that_its_options_say(sql: SparkSession, place: Path) -> None:
    sql.sql(
        f"CREATE TABLE {TABLE} USING `kafka-log` OPTIONS (path '{place}', rows 'records', topics 'orders', "
        "startingOffsets '1') COMMENT 'ours' TBLPROPERTIES ('topics' = 'no option', 'mode' = 'x')"
    )
    loaded = sql.read.format("kafka-log").options(rows="records", topics="orders", startingOffsets="1").load(str(place))

    assert [field.name for field in sql.table(TABLE).schema] == loaded.columns
    assert counted(sql, TABLE) == loaded.count() > 0
    assert counted(sql, f"{TABLE} WITH (topics = 'diverge')") == 419
    other = replicas("diverged") / "broker-2"
    assert counted(sql, f"{TABLE} WITH (path = '{other}', topics = 'diverge')") == 376
    with pytest.raises(AnalysisException, match="kafka-log has no option nonsense"):
        counted(sql, f"{TABLE} WITH (nonsense = 'x')")

    sql.sql(f"DROP TABLE {TABLE}")
    assert loaded.count() > 0, "the logs are not the table's to remove"


def test_a_location_is_a_path(sql: SparkSession, place: Path) -> None:
    spaced = place.rename(place.with_name("the 1st"))
    sql.sql(f"CREATE TABLE {TABLE} USING `kafka-log` LOCATION '{spaced}'")

    assert counted(sql, TABLE) == sql.read.format("kafka-log").load(str(spaced)).count() > 0


def test_several_paths_are_a_list(sql: SparkSession, place: Path) -> None:
    paths = json.dumps([f"a={place}", f"b={replicas('diverged') / 'broker-2'}"])
    sql.sql(f"CREATE TABLE {TABLE} USING `kafka-log` OPTIONS (paths '{paths}', partitions 'diverge-*')")

    assert {row[0] for row in sql.table(TABLE).select("replica").distinct().collect()} == {"a", "b"}


def test_a_table_with_columns_of_its_own_is_read_with_its_options(sql: SparkSession, place: Path) -> None:
    sql.sql(f"CREATE TABLE {TABLE} (topic STRING, size BIGINT) USING `kafka-log` OPTIONS (path '{place}')")

    with pytest.raises(AnalysisException, match=r"path of kafka-log cannot be None.*FROM t WITH \(path = "):
        counted(sql, TABLE)
    assert counted(sql, f"{TABLE} WITH (path = '{place}')") == sql.read.format("kafka-log").load(str(place)).count()


def test_options_that_mean_nothing_are_refused_as_the_table_is_made(sql: SparkSession, place: Path) -> None:
    with pytest.raises(AnalysisException, match="kafka-log has no option topic"):
        sql.sql(f"CREATE TABLE {TABLE} USING `kafka-log` OPTIONS (path '{place}', topic 'orders')")
    with pytest.raises(AnalysisException, match="path of kafka-log cannot be None"):
        sql.sql(f"CREATE TABLE {TABLE} USING `kafka-log` OPTIONS (topics 'orders')")


def of_statement(**options: str) -> dict[str, str]:
    """What Spark hands over of a statement with these options, as it does of one that is run here."""
    named = {f"option.{name}": value for name, value in options.items() if name != "path"}
    place = {"location": options["path"]} if "path" in options else {}
    return {**options, **named, **place, "owner": "root", "provider": "kafka-log"}


def test_no_catalog_gets_what_is_secret() -> None:
    for options in (
        of_statement(path="s3://AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI@bucket/b1"),
        of_statement(path="s3://bucket/b1%3Fsecret_key=wJalrXUtnFEMI&region=eu"),
        of_statement(paths='["s3://AKIAIOSFODNN7EXAMPLE:wJalrXUtnFEMI@bucket/b1"]'),
    ):
        with pytest.raises(NotAllowedError, match="the address of a table in a catalog") as refused:
            KafkaLogSource(options).schema()
        assert "wJalr" not in str(refused.value)


def test_an_address_is_the_one_that_was_written() -> None:
    # As Java's URI has s3://bucket/b1?region=eu&endpoint_override=http%3A//127.0.0.1
    location = "s3://bucket/b1%3Fregion=eu&endpoint_override=http%253A//127.0.0.1"

    assert options_of_new_table(of_statement(path=location)) == {
        "path": "s3://bucket/b1?region=eu&endpoint_override=http%3A//127.0.0.1"
    }


def test_a_load_keeps_no_options_with_its_columns() -> None:
    schema = KafkaLogSource({"path": "/backup", "topics": "orders"}).schema()

    assert all(not field.metadata for field in schema)
    assert schema == StructType.fromJson(schema.jsonValue())
