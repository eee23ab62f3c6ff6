"""A driver whose tasks pause where they are told, so that they can be killed in the midst of their work.

It reads and audits logs on a cluster, and prints what it was given, as JSON:
`python -m tests.replication.copies.audit.spark.pausing_program MASTER LOGS SCRATCH`.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from pyspark.sql import SparkSession

from replication.audit import audit, start_session
from tests.replication.copies.audit.spark.pausing import Pause, PausingSource, pausing

TOPIC: Final = "txns"
_SETTINGS: Final = {
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}


def executor_of(worker: int) -> int:
    """Find the executor that a Python worker belongs to: its daemon's parent."""
    return parent_of(parent_of(worker))


def parent_of(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def rows_of(spark: SparkSession, logs: str, pause: Pause) -> list[list[Any]]:
    spark.dataSource.register(PausingSource)
    reader = spark.read.format("pausing-kafka-log").option("pause", str(pause.place))
    options = {"rows": "records", "columns": "replica,topic,partition,offset,value", "topics": TOPIC}
    frame = reader.options(**options).load(logs).repartition(3, "offset")
    return sorted([*row[:4], row.value and row.value.hex()] for row in frame.collect())


def verdicts_of(spark: SparkSession, logs: str, pause: Pause) -> list[list[Any]]:
    with (
        patch("replication.copies.audit.spark.examine_job.examining", pausing(pause)),
        audit(spark, [logs], topics=[TOPIC]) as audited,
    ):
        return sorted([row.topic, row.partition, row.verdict] for row in audited.partitions.collect())


if __name__ == "__main__":
    master, place, scratch = sys.argv[1:]
    session = start_session(master, settings=_SETTINGS)
    asked = {"rows": rows_of, "verdicts": verdicts_of}
    print(json.dumps({name: ask(session, place, Pause(Path(scratch) / name)) for name, ask in asked.items()}))  # noqa: T201
    session.stop()
