"""The planned examinations as a table of Spark: each of its partitions is one planned task, wherever that runs."""

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from replication.audit.examiner import Examiner
from replication.audit.tables import EXAMINED, arrow_schema, spark_schema
from replication.audit.work import Task, task_from_json, tasks_to_json


class ExaminationSource(DataSource):
    """Has no use but for `audit`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "epochlog-examination"

    def schema(self) -> StructType:
        """Return the columns of an examination."""
        return spark_schema(EXAMINED)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return what examines."""
        return ExaminationReader(self.options["tasks"], self.options["records"] == "true", schema)


class ExaminationReader(DataSourceReader):
    """Examines the copies of one task."""

    def __init__(self, tasks: str, records: bool, schema: StructType) -> None:
        self.tasks = tasks
        self.records = records
        self.schema = schema

    def partitions(self) -> list[InputPartition]:
        """Return the tasks as they were planned."""
        tasks = json.loads(zlib.decompress(base64.b64decode(self.tasks)))
        self.tasks = ""  # the reader goes to every executor, and each task comes by itself
        return list(map(InputPartition, tasks))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Examine one copy after the other."""
        schema = arrow_schema(self.schema)
        task: list[Any] = partition.value or []
        examiner = Examiner(records=self.records)
        for job in task_from_json(task):
            yield pa.RecordBatch.from_pylist([examiner.row(job)], schema=schema)


def examination(spark: SparkSession, tasks: Sequence[Task], *, records: bool) -> DataFrame:
    """Return the rows of all examinations."""
    packed = base64.b64encode(zlib.compress(tasks_to_json(tasks).encode())).decode()
    reader = spark.read.format(ExaminationSource.name()).option("tasks", packed)
    return reader.option("records", str(records).lower()).load()
