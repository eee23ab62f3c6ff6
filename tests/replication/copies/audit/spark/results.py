"""What an audit and readings of `kafka-log` give, as text, to be compared between the ways in which Spark runs.

As a program it starts Spark and writes that into a file: `results.py FILE`, where FILE says as JSON what to do. It
imports nothing of the tests, and so runs where `spark-submit` is given this file alone.
"""

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from replication.audit import audit, prepare_session, start_session

Results = dict[str, list[str]]

TABLES: Final = ("partitions", "findings", "pairs", "forks", "branches", "segments", "epochs", "differences")
OF_A_RUN: Final = ("run_id", "run_at", "read_at")
"""Columns that are others each time."""
ROWS: Final[Mapping[str, Mapping[str, str]]] = {
    "batches": {},
    "batches of some offsets": {"topics": "codecs,orders", "startingOffsets": "300", "endingOffsets": "2000"},
    "records": {"rows": "records"},
    "records by offset": {
        "rows": "records",
        "replicas": "broker-1,broker-3",
        "startingOffsets": '{"txns": {"0": 190}}',
        "endingOffsets": '{"txns": {"0": 410}}',
        "columns": "value,offset,replica,topic",
    },
    "records by time": {
        "rows": "records",
        "startingTimestamp": "2026-11-21T07:55:55",
        "endingTimestamp": "2026-11-21T07:56:18.445",
    },
    "records by a condition": {
        "rows": "records",
        "where": "topic LIKE 'div%' AND (leader_epoch = 5 OR offset BETWEEN 10 AND 19) AND replica = 'broker-2'",
    },
    "committed records by small tasks": {
        "rows": "records",
        "partitions": "txns-0",
        "isolation": "read_committed",
        "taskBytes": "40000",
    },
    "epochs": {"rows": "epochs"},
    "segments": {"rows": "segments"},
}
"""Readings of sound copies, by their options."""
STREAM_SECONDS: Final = 300
MODES: Final = ("PERMISSIVE", "DROPMALFORMED")
DAMAGED: Final = {"rows": "records", "topics": "txns"}


def results(spark: SparkSession, place: str, damaged: str, flag: str = "") -> Results:
    """Audit the copies at `place`, and read them, and damaged ones in each mode.

    With `flag`, the name of a file that is not there, an executor is lost that holds what was examined.
    """
    told = {name: rows_of(logs(spark, place, **options)) for name, options in ROWS.items()}
    for mode in MODES:
        told[mode] = rows_of(logs(spark, damaged, mode=mode, **DAMAGED))
    told["FAILFAST"] = [failure_of(lambda: logs(spark, damaged, mode="FAILFAST", **DAMAGED).count())]
    told["stream"] = [failure_of(lambda: stream(spark, place))]
    with audit(spark, [place]) as audited:
        for name in TABLES:
            told[f"audit: {name}"] = rows_of(getattr(audited, name).drop(*OF_A_RUN))
            if flag and name == TABLES[0]:
                records = logs(spark, place, **ROWS["records"])
                told["records"] = rows_of(records.mapInArrow(losing_an_executor(flag), records.schema))
    return told


def logs(spark: SparkSession, place: str, **options: str) -> DataFrame:
    return spark.read.format("kafka-log").options(**options).load(place)


def rows_of(frame: DataFrame) -> list[str]:
    """Show each row, in any order."""
    return as_text(frame.toArrow())


def as_text(table: pa.Table) -> list[str]:
    """Show each row: timestamps as numbers, as sessions show them in zones of their own."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(number, field.name, table.column(number).cast(pa.int64()))
    return sorted(map(repr, table.to_pylist()))


def stream(spark: SparkSession, place: str) -> None:
    query = spark.readStream.format("kafka-log").load(place).writeStream.format("noop").start()
    query.awaitTermination(STREAM_SECONDS)  # processAllAvailable may miss a failure that comes as it looks


def failure_of(action: Any) -> str:
    """Return what Spark says of an action, which has to fail."""
    try:
        action()
    except PySparkException as error:
        return str(error)
    return "it did not fail"


def losing_an_executor(flag: str) -> Any:
    """Return what passes batches on, but first, once, ends the executor that it runs on."""

    def passed_on(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            with suppress(FileExistsError):
                os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
                daemon = Path(f"/proc/{os.getppid()}/stat").read_text()
                os.kill(int(daemon.rpartition(")")[2].split()[1]), signal.SIGKILL)  # who started Python's daemon
            yield batch

    return passed_on


def where_packages_are(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import logstore
    import replication.copies.audit.snapshots.snapshot

    for _ in batches:
        files = [logstore.__file__, replication.copies.audit.snapshots.snapshot.__file__]
        yield pa.RecordBatch.from_pydict({"file": files})


def session(master: str, settings: Mapping[str, str]) -> SparkSession:
    """Start Spark; `connect:local[2]` is Spark Connect, with a server of its own; nothing is what was submitted."""
    if not master.startswith("connect:"):
        return start_session(master or None, settings=settings)
    spark = SparkSession.builder.remote(master.removeprefix("connect:")).config(map=dict(settings)).getOrCreate()
    prepare_session(spark)
    return spark


def main(plan: Mapping[str, Any]) -> None:
    spark = session(plan["master"], plan["settings"])
    told: dict[str, Any] = {"results": results(spark, plan["place"], plan["damaged"], plan["flag"])}
    files = spark.range(2, numPartitions=2).mapInArrow(where_packages_are, "file string")
    told |= {"packages": files.toArrow()["file"].to_pylist(), "kind": type(spark).__module__}
    told["master"] = spark.conf.get("spark.master")
    Path(plan["file"]).write_text(json.dumps(told))
    spark.stop()


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
