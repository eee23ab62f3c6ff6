"""A query whose tasks are planned, and not read yet."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from replication.copies.audit.spark.source.data_source import KafkaLogSource

Row = dict[str, Any]


WHATEVER_IS_THERE = {"mode": "PERMISSIVE", "failOnDataLoss": "false"}
"""What tests ask of records unless they name it: made logs have gaps."""


class Planned:
    """Reads without Spark what Spark's tasks would read."""

    def __init__(self, *paths: Path | str, **options: str) -> None:
        named = {"rows": "records", **options}
        unasked = WHATEVER_IS_THERE if named["rows"] == "records" else {}
        source = KafkaLogSource({"paths": json.dumps(list(map(str, paths))), **unasked, **named})
        self.reader: DataSourceReader = source.reader(source.schema())
        self.tasks: list[InputPartition] = list(self.reader.partitions())

    def rows(self) -> list[Row]:
        return [row for rows in self.batches() for row in rows.to_pylist()]

    def batches(self) -> Iterator[Any]:
        for task in self.tasks:
            yield from self.reader.read(task)
