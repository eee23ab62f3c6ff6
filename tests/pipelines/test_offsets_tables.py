"""What a table of Delta Lake or of Iceberg lacks is explained, by its path and by its name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.data.replicas import PROJECT
from tests.oracle.kafka import jars
from tests.pipelines.example import LAKES, example, run
from tests.pipelines.test_lakes import POM

COPIES = ("diverged/broker-1", "diverged/broker-2")
LACKING = {"delivered": 17, "truncated": 43}
HOW = """
spark.jars {jars}
spark.sql.extensions io.delta.sql.DeltaSparkSessionExtension
spark.sql.catalog.spark_catalog org.apache.spark.sql.delta.catalog.DeltaCatalog
spark.sql.catalog.iceberg org.apache.iceberg.spark.SparkCatalog
spark.sql.catalog.iceberg.type hadoop
spark.sql.catalog.iceberg.warehouse {lake}/iceberg
spark.sql.shuffle.partitions 2
spark.databricks.delta.snapshotPartitions 2
"""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's example has been run, and printed what it says."""
    scratch = tmp_path_factory.mktemp("lake")
    found = jars(POM, PROJECT / "build/lakes-jars", "Delta Lake or Iceberg")
    named = ",".join(map(str, sorted(found.glob("*.jar"))))
    (scratch / "spark-defaults.conf").write_text(HOW.format(jars=named, lake=scratch / "lake"))
    shown = example("Offsets that a lake has", __file__)
    program = scratch / "explain.py"
    program.write_text(shown.code)
    shown.assert_printed(run(LAKES, str(program), scratch=scratch, environment={"SPARK_CONF_DIR": str(scratch)}))
    return scratch


def explained(lake: Path, *got: str) -> Any:
    arguments = ("-m", "replication.cli", "explain", "diverge-0", *COPIES, *got, "--json")
    return json.loads(run(LAKES, *arguments, scratch=lake, environment={"SPARK_CONF_DIR": str(lake)}, status=1))


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("--got", "lake/delta/sink"),
        ("--got", "lake/iceberg/kafka/sink"),
        ("--got-table", "iceberg.kafka.sink"),
        ("--got-table", "delta.`{lake}/lake/delta/sink`"),
    ],
)
def test_the_command_explains_what_a_table_lacks(lake: Path, option: str, name: str) -> None:
    name = name.format(lake=lake)
    document = explained(lake, option, name)
    assert document["counts"] == LACKING
    assert document["got"] == name
    assert not document["unexpected"]
