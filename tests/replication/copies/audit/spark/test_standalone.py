"""A standalone cluster gives the same, also by `spark-submit`, and when executors are lost with all that they made."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replication.audit import audit_locally
from tests.data.replicas import PROJECT, replicas
from tests.replication.copies.audit.one_process import audit_here
from tests.replication.copies.audit.spark.pausing import Pause
from tests.replication.copies.audit.spark.pausing_program import TOPIC, executor_of
from tests.replication.copies.audit.spark.results import Results
from tests.replication.copies.audit.spark.results_program import EXECUTOR_OPTIONS, SECONDS, assert_same, run_program
from tests.replication.copies.audit.spark.source.planned import Planned
from tests.replication.copies.audit.spark.standalone_cluster import StandaloneCluster


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


@pytest.fixture(scope="module")
def answers(cluster: StandaloneCluster, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a driver was given of whose tasks' executors one was killed, each time in the midst of a task."""
    scratch = tmp_path_factory.mktemp("killed")
    pauses = [Pause(scratch / name).arm() for name in ("rows", "verdicts")]
    with open(scratch / "log", "wb") as log:
        command = [sys.executable, "-m", "tests.replication.copies.audit.spark.pausing_program", cluster.address]
        environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
        with subprocess.Popen(
            [*command, str(replicas("diverged")), str(scratch)],
            cwd=PROJECT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
        ) as driver:
            for pause in pauses:
                executor = executor_of(pause.reached())
                assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes()
                os.kill(executor, signal.SIGKILL)
                pause.release()
            answer, _ = driver.communicate()
    told = (scratch / "log").read_text()
    assert driver.returncode == 0, told[-3000:]
    assert told.count("ERROR TaskSchedulerImpl: Lost executor") == len(pauses)
    found: dict[str, Any] = json.loads(answer)
    return found


def test_rows_are_those_of_one_process_where_executors_are_killed(answers: dict[str, Any]) -> None:
    expected = [
        [row["replica"], row["topic"], row["partition"], row["offset"], row["value"] and row["value"].hex()]
        for row in Planned(replicas("diverged"), topics=TOPIC).rows()
    ]

    assert answers["rows"] == sorted(expected)


def test_verdicts_are_those_of_one_process_where_executors_are_killed(answers: dict[str, Any]) -> None:
    verdicts = {
        row["topic"]: [row["topic"], row["partition"], row["verdict"]] for row in audit_here(replicas("diverged"))[0]
    }

    assert answers["verdicts"] == [verdicts[TOPIC]]
