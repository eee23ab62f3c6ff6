"""What the page appends to Delta and Iceberg tables is there, of all audits, with and without Spark."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from replication.audit import LocalAudit, audit_locally
from tests.data.replicas import PROJECT, replicas
from tests.oracle.kafka import jars
from tests.pipelines.example import LAKES, PIPELINES, SNAPSHOTS, example, run
from tests.replication.copies.audit.spark.expected_results import read
from tests.replication.copies.audit.spark.results import OF_A_RUN, as_text

TABLES = ("partitions", "findings", "pairs", "forks", "branches")
POM = Path(__file__).with_name("pom.xml")
READ_AGAIN = """

import pyarrow.parquet

for name in {tables}:
    pyarrow.parquet.write_table({delta}, f"delta-{{name}}.parquet")
    pyarrow.parquet.write_table({iceberg}, f"iceberg-{{name}}.parquet")
"""


def expected(name: str, audits: Sequence[LocalAudit]) -> list[str]:
    return sorted(row for audited in audits for row in as_text(without_run(getattr(audited, name))))


def without_run(table: pa.Table) -> pa.Table:
    return table.select([name for name in table.column_names if name not in OF_A_RUN])


def assert_appended(scratch: Path) -> None:
    """See that each table, as it was read again, has the rows of both audits."""
    audits = [audit_locally([scratch / label], workers=0) for label in SNAPSHOTS]
    for name in TABLES:
        for table in (pq.read_table(scratch / f"{lake}-{name}.parquet") for lake in ("delta", "iceberg")):
            assert as_text(without_run(table)) == expected(name, audits)
            runs = set(zip(table["run_id"].to_pylist(), table["run_at"].to_pylist(), strict=True))
            assert len(runs) == sum(getattr(audited, name).num_rows > 0 for audited in audits)


def test_tables_are_appended_without_spark(tmp_path: Path) -> None:
    shown = example("Without Spark", __file__)
    program = tmp_path / "append.py"
    program.write_text(
        shown.code
        + READ_AGAIN.format(
            tables=TABLES,
            delta='deltalake.DeltaTable(lake / "delta" / name).to_pyarrow_table()',
            iceberg='catalog.load_table(f"audits.{name}").scan().to_arrow()',
        )
    )

    shown.assert_printed(run(PIPELINES, str(program), scratch=tmp_path))

    assert_appended(tmp_path)


def test_tables_and_records_are_appended_by_the_spark_that_the_jars_are_made_for(tmp_path: Path) -> None:
    shown = example("From Spark", __file__)
    program = tmp_path / "append.py"
    program.write_text(
        shown.code
        + READ_AGAIN.format(
            tables=(*TABLES, "records"),
            delta='spark.read.format("delta").load(str(lake / "delta" / name)).toArrow()',
            iceberg='spark.table(f"iceberg.kafka.{name}").toArrow()',
        )
    )
    found = jars(POM, PROJECT / "build/lakes-jars", "Delta Lake or Iceberg")
    settings = {
        "spark.jars": ",".join(map(str, sorted(found.glob("*.jar")))),
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",  # of its own log, which is short
    }
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in settings.items()))

    shown.assert_printed(run(LAKES, str(program), scratch=tmp_path, environment={"SPARK_CONF_DIR": str(tmp_path)}))

    assert_appended(tmp_path)
    records = as_text(read(replicas("diverged"), rows="records", topics="diverge"))
    assert len(records) == 420 + 377  # on two of the brokers
    for lake in ("delta", "iceberg"):
        assert as_text(pq.read_table(tmp_path / f"{lake}-records.parquet")) == records
