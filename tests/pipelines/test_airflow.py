"""The page's DAG, run by Airflow itself, stops where copies differ, and goes on where they agree."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final

import pytest

from tests.pipelines.example import PIPELINES, example, run

DAG: Final = "kafka_backups"


class Airflow:
    """An installation of its own, with the page's DAG."""

    def __init__(self, home: Path) -> None:
        self.home = home
        (home / "dags").mkdir()
        (home / "dags/audit.py").write_text(example("Airflow", __file__).code)
        self("db", "migrate")

    def __call__(self, *arguments: str, status: int = 0) -> str:
        settings = {"AIRFLOW_HOME": str(self.home), "AIRFLOW__CORE__LOAD_EXAMPLES": "false"}
        return run(PIPELINES, "-m", "airflow", *arguments, scratch=self.home, environment=settings, status=status)

    def trial(self, snapshots: str, *, status: int) -> tuple[str, dict[str, str]]:
        """Run the DAG by `airflow dags test`; return what was printed, and how each task ended."""
        printed = self("dags", "test", DAG, "--conf", json.dumps({"snapshots": snapshots}), status=status)
        with closing(sqlite3.connect(self.home / "airflow.db")) as database:
            states = database.execute(
                "SELECT task_id, state FROM task_instance WHERE run_id = (SELECT run_id FROM dag_run ORDER BY id DESC)"
            )
            return printed, dict(states.fetchall())


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    return Airflow(tmp_path_factory.mktemp("airflow"))


def test_copies_that_agree_are_published(airflow: Airflow) -> None:
    printed, states = airflow.trial("reconciled", status=0)

    assert states == {"audit_copies": "success", "publish": "success"}
    assert "the copies agree, by audit" in printed


def test_copies_that_have_forked_end_the_run(airflow: Airflow) -> None:
    printed, states = airflow.trial("diverged", status=1)

    assert states == {"audit_copies": "failed", "publish": "upstream_failed"}
    assert "AuditNotCleanError: 2 partitions have verdicts that are not allowed" in printed
    assert "diverge-0: forked" in printed
    assert "the copies agree" not in printed
