"""What `results` has to give wherever Spark runs: by the same functions in this process, without Spark."""

from pathlib import Path

import pyarrow as pa

from replication.audit import audit_locally
from replication.copies.audit.spark.source.data_source import KafkaLogSource
from tests.replication.copies.audit.spark.results import DAMAGED, MODES, OF_A_RUN, ROWS, TABLES, Results, as_text


def expected(place: Path, damaged: Path) -> Results:
    """All of `results` but the failures."""
    told = {name: as_text(read(place, **options)) for name, options in ROWS.items()}
    told |= {mode: as_text(read(damaged, mode=mode, **DAMAGED)) for mode in MODES}
    with audit_locally([place], workers=0) as audited:
        for name in TABLES:
            table: pa.Table = getattr(audited, name)
            told[f"audit: {name}"] = as_text(
                table.select([name for name in table.column_names if name not in OF_A_RUN])
            )
    return told


def read(place: Path, **options: str) -> pa.Table:
    source = KafkaLogSource({"path": str(place), **options})
    reader = source.reader(source.schema())
    return pa.Table.from_batches([batch for task in reader.partitions() for batch in reader.read(task)])
