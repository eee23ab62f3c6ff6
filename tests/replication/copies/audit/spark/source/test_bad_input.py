"""What cannot be is refused in one line that says what is allowed: in Python, in SQL, and in a schema of one's own."""

import random
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

from replication.base.errors import NothingChosenError, ReplicationError
from replication.copies.audit.log_rows.options.source_options import LONGEST_PATH
from replication.copies.audit.spark.source.data_source import KafkaLogSource
from tests.campaign import Campaign
from tests.data.replicas import replicas
from tests.logstore.batches import simple_batch
from tests.replication.copies.audit.spark.source.hostile_options import options
from tests.replication.copies.audit.spark.source.planned import Planned

LONGEST = 2_500
"""Characters of a message: 200 of each value, and what is allowed. Paths come on top, a character as four at most."""
SECONDS = 60
"""After which a call counts as hanging."""


@pytest.mark.usefixtures("alarmed")
def test_hostile_options_are_read_or_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    campaign = Campaign("spark: hostile options", full=100_000, share=2_000)
    monkeypatch.chdir(tmp_path)  # names that are no absolute paths
    chance = random.Random(campaign.seed)
    place = str(replicas("diverged") / "broker-1/codecs-0")
    read = 0
    warnings.simplefilter("ignore", DeprecationWarning)  # old names are among them
    for _ in range(campaign.count):
        chosen = options(chance, place)
        signal.alarm(SECONDS)
        try:
            source = KafkaLogSource(chosen)
            reader = source.reader(source.schema())
            rows = [rows.num_rows for task in reader.partitions()[:3] for rows in reader.read(task)]
        except ReplicationError as error:
            told = str(error)
            assert told.isprintable(), (chosen, told)
            assert len(told) <= LONGEST + 4 * sum(map(len, paths_in(chosen))), (chosen, told)
        else:
            read += bool(rows)
    signal.alarm(0)
    assert read > campaign.count // 200, "some of it can be read"
    campaign.report(campaign.count, f"{read:,} were read")


def paths_in(chosen: dict[str, str]) -> list[str]:
    """What is taken as paths, where it is."""
    return [chosen[name] for name in ("path", "paths") if name in chosen and len(chosen[name]) < 2 * LONGEST_PATH]


PLACE = str(replicas("diverged") / "broker-1")
REFUSED: list[tuple[dict[str, str], str]] = [
    ({"startingOffsets": '{"codecs": {"0": 1}, "codecs": {"0": 2}}'}, "offsets by partition as JSON"),
    ({"startingOffsets": '{"codecs": {"00": 1}}'}, "offsets by partition as JSON"),
    (
        {"startingOffsets": '{"codecs": {"0": 9}}', "endingOffsets": "8"},
        "an offset from startingOffsets on, which is 9",
    ),
    (
        {"startingOffsets": "9", "endingOffsets": '{"codecs": {"0": 8}}'},
        "an offset from startingOffsets on, which is 9",
    ),
    ({"startingTimestamp": "2", "endingTimestamp": "1"}, "a time from startingTimestamp on, which is 2"),
    (
        {"startingTimestamp": "2026-11-21T00:00:01", "endingTimestamp": "2026-11-21T01:00:00+01:00"},
        "a time from startingTimestamp on, which is 2026-11-21T00:00:01",
    ),
    ({"taskBytes": "\u0663"}, "a whole number of bytes from 1 on"),
    ({"taskBytes": "9" * 5_000}, r"99\.\.\. \(5,002 characters\); allowed: a whole number of bytes from 1 on"),
    ({"mode": "perm\u0131ssive"}, "allowed: PERMISSIVE, DROPMALFORMED or FAILFAST"),
    ({"topics": "[" * 5_000}, r"names, or patterns, of 1,000 characters at most"),
    ({"where": f"offset > {'9' * 5_000}"}, "has more than 38 digits"),
    ({"where": f"{'x' * 5_000} = 1"}, r"x\.\.\. is no column that spares reading"),
    ({"path": " "}, r"allowed: one \[NAME=\]URI"),
    ({"path": "a\x00b"}, r"path of kafka-log cannot be 'a\\x00b'; allowed: one \[NAME=\]URI"),
    ({"paths": "[" * 5_000}, r"allowed: one \[NAME=\]URI"),
    ({"a\x1b[31mb": "x"}, r"kafka-log has no option a\\x1b\[31mb; allowed: rows"),
]


@pytest.mark.parametrize(("chosen", "told"), REFUSED, ids=[str(chosen)[:60] for chosen, _ in REFUSED])
def test_what_cannot_be_is_refused(chosen: dict[str, str], told: str) -> None:
    with pytest.raises(ReplicationError, match=told) as error:
        KafkaLogSource({"path": PLACE, **chosen})
    assert str(error.value).isprintable()


UNKNOWN: list[tuple[dict[str, str], str]] = [
    (
        {"topics": "a\nb"},
        r"no partition of the topics a\\x0ab; the snapshots hold the topics __transaction_state, codecs",
    ),
    ({"replicas": "broker-7"}, "no partition on the replicas broker-7; .*, and the replicas are broker-1$"),
    ({"partitions": "codecs-9"}, "no partition called codecs-9; the snapshots hold the topics __transaction_state"),
    ({"endingOffsets": '{"codex": {"0": 1}}'}, "no partition of the topics codex; the snapshots hold the topics __tr"),
    ({"topics": "codecs,codex"}, "no partition of the topics codex; the snapshots hold the topics __tr"),
    ({"partitions": "codecs-0,codecs-9"}, "no partition called codecs-9; the snapshots hold"),
    ({"replicas": "broker-1,broker-7"}, "no partition on the replicas broker-7; .*, and the replicas are broker-1$"),
    ({"startingOffsets": '{"codecs": {"7": 1}}'}, "no partition called codecs-7; the snapshots hold"),
    ({"topics": "none-*"}, r"no partition of the topics none-\*; the snapshots hold"),
]


@pytest.mark.parametrize(("chosen", "told"), UNKNOWN, ids=[str(chosen) for chosen, _ in UNKNOWN])
def test_names_that_nothing_has_are_told(chosen: dict[str, str], told: str) -> None:
    with pytest.raises(NothingChosenError, match=told):
        Planned(PLACE, **chosen)


def test_a_condition_that_leaves_nothing_is_an_answer() -> None:
    assert Planned(PLACE, topics="codecs", where="leader_epoch > 99 OR replica = 'none'").rows() == []
    assert Planned(PLACE, where="topic = 'none'").rows() == []
    assert Planned(PLACE, topics="codecs,none-*", columns="offset").rows()
    assert Planned(PLACE, startingOffsets="5", endingOffsets="5").rows() == []


def load(spark: SparkSession, **chosen: Any) -> DataFrame:
    return spark.read.format("kafka-log").option("rows", "records").options(**chosen).load(PLACE)


def with_schema(spark: SparkSession, schema: str | StructType) -> DataFrame:
    return spark.read.format("kafka-log").option("rows", "records").schema(schema).load(PLACE)


def damaged(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """A log with a batch that cannot be read."""
    (tmp_path / "t-0").mkdir()
    data = bytearray(simple_batch())
    data[-1] ^= 1
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(data)
    return spark.read.format("kafka-log").option("mode", "FAILFAST").load(str(tmp_path / "t-0"))


SCHEMA = r"NotAllowedError: a schema of kafka-log cannot be '.*'; allowed: some of these columns, each once, with nulls"
VIEW = f"CREATE TEMPORARY VIEW refused USING `kafka-log` OPTIONS (path '{PLACE}', "
ASKED: dict[str, tuple[Callable[[SparkSession, Path], Any], str]] = {
    "an option": (
        lambda spark, _: load(spark, rows="x"),
        "NotAllowedError: option rows of kafka-log cannot be 'x'; all",
    ),
    "a name": (
        lambda spark, _: load(spark, topics="x").count(),
        "NothingChosenError: there is no partition of the top",
    ),
    "a place": (
        lambda spark, path: spark.read.format("kafka-log").load(f"{path}/nowhere").count(),
        "UnreadableLocationError: .*/nowhere: no such directory",
    ),
    "no columns": (lambda spark, _: with_schema(spark, StructType([])).count(), SCHEMA),
    "a column twice": (lambda spark, _: with_schema(spark, "offset bigint, offset bigint").count(), SCHEMA),
    "another type": (lambda spark, _: with_schema(spark, "offset int").count(), SCHEMA),
    "another nested type": (lambda spark, _: with_schema(spark, "headers array<struct<key:string>>").count(), SCHEMA),
    "a collation": (lambda spark, _: with_schema(spark, "topic string collate UTF8_LCASE").count(), SCHEMA),
    "no nulls": (
        lambda spark, _: with_schema(spark, StructType([StructField("offset", LongType(), nullable=False)])).count(),
        SCHEMA,
    ),
    "an option in SQL": (
        lambda spark, _: spark.sql(f"{VIEW} rows 'x')"),
        "NotAllowedError: option rows of kafka-log ca",
    ),
    "no option in SQL": (
        lambda spark, _: spark.sql(f"{VIEW} topic 'x')"),
        "UnknownOptionError: kafka-log has no option",
    ),
    "a condition in SQL": (
        lambda spark, _: spark.sql(f'{VIEW} where "offset = 1; DROP TABLE x")'),
        r"NotAllowedError: option where of kafka-log cannot be .* \('; DROP TABLE x' is not understood\)",
    ),
    "writing": (
        # Spark looks for the format in the active session, which this makes it.
        lambda spark, path: (
            spark.createDataFrame([(3,)], "id bigint").write.format("kafka-log").mode("append").save(str(path))
        ),
        "ReadOnlyError: kafka-log only reads",
    ),
    "damage": (
        lambda spark, path: damaged(spark, path).collect(),
        "CorruptBatchError: .* at position 0, offset 0; read",
    ),
}


@pytest.mark.parametrize("how", ASKED)
def test_spark_shows_what_is_wrong_in_few_lines(how: str, spark: SparkSession, tmp_path: Path) -> None:
    ask, told = ASKED[how]
    with pytest.raises(PySparkException, match=told) as error:
        ask(spark, tmp_path)

    lines = str(error.value).strip().splitlines()
    assert len(lines) <= 6, "Spark's own, one place in the code, and what is wrong"
    assert "\tat " not in str(error.value)


def test_without_tracebacks_it_is_one_line(spark: SparkSession) -> None:
    setting = "spark.sql.execution.pyspark.udf.hideTraceback.enabled"
    spark.conf.set(setting, "true")
    try:
        with pytest.raises(AnalysisException) as error:
            load(spark, rows="x")
    finally:
        spark.conf.set(setting, "false")
    assert str(error.value).splitlines()[0].endswith("allowed: batches, records, epochs or segments")


def test_views_of_sql_take_each_option(spark: SparkSession) -> None:
    chosen = "rows 'records', columns 'topic,offset', topics 'codecs', startingOffsets '3', endingOffsets '9', "
    chosen += (
        "where \"offset != 5 AND topic LIKE 'co%'\", isolation 'read_committed', mode 'FAILFAST', taskBytes '1000'"
    )
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW taken USING `kafka-log` OPTIONS (path '{PLACE}', {chosen})")
    try:
        assert [tuple(row) for row in spark.sql("SELECT * FROM taken ORDER BY offset").collect()] == [
            ("codecs", offset) for offset in (3, 4, 6, 7, 8)
        ]
    finally:
        spark.catalog.dropTempView("taken")
