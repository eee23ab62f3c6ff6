"""`epochlog explain --got` with a table that Spark reads."""

from pathlib import Path
from typing import TYPE_CHECKING

from replication.cli.output.failure import CommandError, MissingPackageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from logstore.topic_partition import TopicPartition


def offsets_of_table(table: str | Path, partition: "TopicPartition") -> "NDArray[np.int64]":
    """Read a partition's offsets from a table, by its name in a catalog or the path of its directory.

    Spark is started for it, with the settings in `spark-defaults.conf` of SPARK_CONF_DIR. Raises MissingPackageError,
    OffsetsFileError, and CommandError where Spark cannot read the table.
    """
    try:
        from replication.copies.audit.spark.offsets_table import open_table, table_offsets
        from replication.copies.audit.spark.sessions.session import session_for_a_while
        from replication.copies.audit.spark.sessions.spark_failure import SPARK_ERRORS, cause_of
    except ModuleNotFoundError as error:
        raise MissingPackageError("to read a table, `explain` needs", error, "spark") from error
    try:
        with session_for_a_while() as spark:
            return table_offsets(open_table(spark, table), str(table), partition)
    except SPARK_ERRORS as error:
        raise CommandError(
            f"{table}: Spark cannot read this table: {cause_of(error)}; name the jars of its format, and its catalog, "
            "in spark-defaults.conf of SPARK_CONF_DIR"
        ) from error
