"""Reads the logs of copies with Spark."""

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from replication.copies.audit.log_rows.chosen_logs import ChosenLogs
from replication.copies.audit.log_rows.conditions.condition import AllOf, Condition
from replication.copies.audit.log_rows.conditions.key_condition import KEY
from replication.copies.audit.log_rows.options.source_options import SourceOptions
from replication.copies.audit.spark.source.brief_errors import OURS, brief, told_briefly
from replication.copies.audit.spark.source.pushed_filters import pushed
from replication.copies.audit.spark.worker_modules import keep_modules
from replication.copies.audit.tables import Columns


class KafkaLogReader(DataSourceReader):
    """Reads what the options ask for."""

    def __init__(self, chosen: SourceOptions, columns: Columns) -> None:
        """Read `columns` of what is chosen."""
        self.logs = ChosenLogs(chosen, columns)

    @told_briefly
    def partitions(self) -> list[InputPartition]:
        """Plan the tasks; see `ChosenLogs.tasks`."""
        tasks = list(map(InputPartition, self.logs.tasks()))
        keep_modules()
        # Where there are no tasks at all, PySpark 4.1 makes one of None.
        return tasks or [InputPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the logs of one task; see `ChosenLogs.rows`."""
        try:
            yield from self.logs.rows(partition.value)
            keep_modules()
        except (*OURS, OSError) as error:
            raise brief(error) from None


class PushingReader(KafkaLogReader):
    """Reads what the options and the filters of a query ask for."""

    def pushFilters(self, filters: list[Filter]) -> Iterator[Filter]:  # noqa: N802  Spark's name
        """Leave out what the filters do, as far as that spares reading; Spark applies all of them again."""
        taken = [(each, condition) for each, condition in pushed(filters) if not self._is_of_masked(condition)]
        self.logs.chosen = self.logs.chosen.where(AllOf(tuple(condition for _, condition in taken)))
        names = ", ".join(str(each) for each, _ in taken)
        print(f"kafka-log: filters that spare reading: {names or 'none'}", file=sys.stderr)  # noqa: T201  Spark's log
        return iter(filters)

    def _is_of_masked(self, condition: Condition) -> bool:
        """Return whether a filter is about masked keys, which it means, and not those in the log."""
        mask = self.logs.chosen.mask
        return mask is not None and mask.keys and condition.mentions(KEY)
