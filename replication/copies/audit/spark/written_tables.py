"""The tables of an audit as files, for what comes after it."""

from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame

from replication.copies.audit.spark.audit_result import Audit
from replication.copies.audit.tables import FINDINGS

TABLES: Final = ("partitions", "pairs", "forks", "branches", "findings", "segments", "epochs", "batches")


def write_tables(audited: Audit, directory: Path) -> None:
    """Write all tables, as Parquet and as JSON lines; the findings are the document's, which has all of them.

    Raises OSError and SPARK_ERRORS.
    """
    for name in TABLES:
        table = _findings(audited) if name == "findings" else getattr(audited, name)
        table.write.parquet(str(directory.absolute() / "parquet" / name))
        # What is not known is null, as with --json; Spark would leave it out.
        table.write.json(str(directory.absolute() / "json" / name), ignoreNullFields=False)


def _findings(audited: Audit) -> DataFrame:
    """Return a document's findings as a table: those about consumers are made from what Spark has found."""
    rows = pa.Table.from_pylist(audited.document["findings"], schema=pa.schema(FINDINGS))
    return audited.of_run(audited.spark.createDataFrame(rows))
