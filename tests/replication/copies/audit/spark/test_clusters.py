"""The same results on executors that have these packages only as they were sent, and over Spark Connect."""

import sys
import sysconfig
from pathlib import Path

import pytest

from tests.data.replicas import PROJECT
from tests.replication.copies.audit.spark.results import Results
from tests.replication.copies.audit.spark.results_program import EXECUTOR_OPTIONS, assert_same, run_program

pytestmark = pytest.mark.usefixtures("_java")


@pytest.fixture
def bare_python(tmp_path: Path) -> Path:
    """A Python with the dependencies but without these packages: site-packages without what .pth files add."""
    program = tmp_path / "python"
    packages = sysconfig.get_path("purelib")
    program.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{packages}" exec {sys.executable} -S "$@"\n')
    program.chmod(0o755)
    return program


def test_executors_of_a_cluster_import_what_was_sent_to_them(
    tmp_path: Path, bare_python: Path, damaged_copies: Path, expected_results: Results
) -> None:
    told = run_program(
        tmp_path,
        damaged_copies,
        master="local-cluster[2,1,2048]",
        settings={
            "spark.pyspark.python": str(bare_python),
            "spark.pyspark.driver.python": sys.executable,
            **EXECUTOR_OPTIONS,
        },
        environment={"SPARK_WORKER_DIR": str(tmp_path / "work")},
    )

    assert_same(told.results, expected_results)
    assert all("epochlog-packages.zip" in file and not Path(file).is_relative_to(PROJECT) for file in told.packages)


def test_spark_connect_gives_the_same(tmp_path: Path, damaged_copies: Path, expected_results: Results) -> None:
    told = run_program(
        tmp_path,
        damaged_copies,
        master="connect:local[2]",
        settings={"spark.sql.python.filterPushdown.enabled": "true"},
        environment={"SPARK_TESTING": "1"},  # the server asks the system for a port, instead of taking always the same
    )

    assert told.kind.startswith("pyspark.sql.connect")
    assert_same(told.results, expected_results)
