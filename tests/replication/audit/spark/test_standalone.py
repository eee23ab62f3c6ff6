"""A standalone cluster gives the same, also by `spark-submit`, and when an executor is lost meanwhile."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.audit import audit_locally
from tests.data.replicas import replicas
from tests.replication.audit.spark.results import Results
from tests.replication.audit.spark.results_program import EXECUTOR_OPTIONS, SECONDS, assert_same, run_program
from tests.replication.audit.spark.standalone_cluster import StandaloneCluster


@pytest.fixture(scope="module")
def cluster(_java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


def test_what_is_submitted_gives_the_same_when_an_executor_is_lost(
    cluster: StandaloneCluster, tmp_path: Path, damaged_copies: Path, expected_results: Results
) -> None:
    flag = tmp_path / "lost"
    options = [f"--conf={name}={value}" for name, value in EXECUTOR_OPTIONS.items()]

    told = run_program(
        tmp_path, damaged_copies, start=["spark-submit", "--master", cluster.address, *options], flag=str(flag)
    )

    assert flag.exists()
    assert len(list(cluster.directory.glob("work/app-*/*"))) == 2, "the executor that was lost, and one in its place"
    assert told.master == cluster.address
    assert_same(told.results, expected_results)


def test_the_command_audits_on_the_cluster_that_it_is_told(cluster: StandaloneCluster, tmp_path: Path) -> None:
    before = set(cluster.directory.glob("work/app-*"))

    command = [sys.executable, "-m", "epochlog", "audit", str(replicas("diverged")), "--topics", "hwloss", "--json"]
    done = subprocess.run(
        [*command, "--master", cluster.address],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    assert done.returncode == 3, done.stderr[-3000:]  # acknowledged records are lost
    locally = audit_locally([replicas("diverged")], topics=["hwloss"], workers=0).document
    told = json.loads(done.stdout)
    assert (told["partitions"], told["findings"]) == (locally["partitions"], locally["findings"])
    assert len(set(cluster.directory.glob("work/app-*")) - before) == 1
