"""The same audit on executors that have these packages only as they were sent, and over Spark Connect."""

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from tests.data.replicas import replicas, truth
from tests.replication.audit.one_process import audit_here

AUDIT = """
import json, sys
from collections.abc import Iterator
import pyarrow as pa
from pyspark.sql import SparkSession
from replication.audit import audit, start_session

def where_from(tables: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import logstore, replication.audit.examination.copy_examiner
    for table in tables:
        files = [logstore.__file__, replication.audit.examination.copy_examiner.__file__]
        yield pa.RecordBatch.from_pydict({"file": files})

def start(master: str, settings: dict[str, str]) -> SparkSession:
    if not master.startswith("connect:"):
        return start_session(master, settings=settings)
    return SparkSession.builder.remote(master.removeprefix("connect:")).config(map=settings).getOrCreate()

spark = start(sys.argv[1], json.loads(sys.argv[3]))
with audit(spark, [sys.argv[2]]) as audited:
    partitions = audited.partitions.drop("run_id", "run_at").toArrow().to_pylist()
    findings = audited.findings.count()
    orders = audited.batches.where("topic = 'orders'").count()
    batches = audited.batches.count()
files = spark.range(2, numPartitions=2).mapInArrow(where_from, "file string").toArrow()["file"].to_pylist()
told = {"partitions": partitions, "findings": findings, "orders": orders, "batches": batches, "files": files}
print(json.dumps({**told, "kind": type(spark).__module__}))
spark.stop()
"""
pytestmark = pytest.mark.usefixtures("_java")
SECONDS = 900
"""For one audit, on a machine that does much else too."""


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python with the dependencies but without these packages: site-packages without what .pth files add."""
    program = tmp_path / "python"
    packages = sysconfig.get_path("purelib")
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program


def run(tmp_path: Path, master: str, **settings: str) -> dict[str, Any]:
    script = tmp_path / "audit.py"
    script.write_text(AUDIT)
    command = [sys.executable, "-W", "error", str(script), master, str(replicas("diverged")), json.dumps(settings)]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_WORKER_DIR": str(tmp_path / "work")}
    if master.startswith("connect:"):
        environment["SPARK_TESTING"] = "1"  # its server asks the system for a port, instead of taking always the same
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr[-5000:]
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    told["partitions"].sort(key=lambda row: (row["topic"], row["partition"]))
    return told


def test_executors_of_a_cluster_import_what_was_sent_to_them(tmp_path: Path, bare_python: Path) -> None:
    partitions, findings = audit_here(replicas("diverged"))
    local = Path(__file__).parents[4]

    told = run(
        tmp_path,
        "local-cluster[2,1,2048]",
        **{"spark.pyspark.python": str(bare_python), "spark.pyspark.driver.python": sys.executable},
    )

    assert told["partitions"] == partitions
    assert told["findings"] == len(findings)
    assert all("epochlog-packages.zip" in file and not Path(file).is_relative_to(local) for file in told["files"])


def test_spark_connect_gives_the_same(tmp_path: Path) -> None:
    partitions, findings = audit_here(replicas("diverged"))

    told = run(tmp_path, "connect:local[2]", **{"spark.sql.python.filterPushdown.enabled": "true"})

    assert told["kind"].startswith("pyspark.sql.connect")
    copies = [
        (name, copy["batches"])
        for broker in truth("diverged")["brokers"].values()
        for name, copy in broker["partitions"].items()
    ]
    assert told["orders"] == sum(count for name, count in copies if name.startswith("orders-"))
    assert told["batches"] == sum(count for _, count in copies), "filters of one query are not those of the next"
    assert told["partitions"] == partitions
    assert told["findings"] == len(findings)
