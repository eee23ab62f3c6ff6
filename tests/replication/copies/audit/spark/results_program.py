"""Runs results.py as a program of its own, as users start Spark, and looks at what it tells."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.data.replicas import replicas
from tests.replication.copies.audit.spark.results import Results

PROGRAM: Final = Path(__file__).with_name("results.py")
SECONDS: Final = 900
"""On a machine that does much else too."""
EXECUTOR_OPTIONS: Final = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Executors start soon, rather than to be fast."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the program has told."""

    results: Results
    packages: list[str]
    """Files of our packages, as executors have imported them."""
    kind: str
    """The module of the session's class."""
    master: str
    """Where the session says that it runs."""


def run_program(
    scratch: Path,
    damaged: Path,
    *,
    master: str = "",
    settings: Mapping[str, str] | None = None,
    flag: str = "",
    start: Sequence[str] = (sys.executable, "-W", "error"),
    environment: Mapping[str, str] | None = None,
) -> Told:
    """Let the program audit and read `diverged` and `damaged`, and start it by the command `start`."""
    file, plan = scratch / "told.json", scratch / "plan.json"
    places = {"place": str(replicas("diverged")), "damaged": str(damaged), "file": str(file)}
    plan.write_text(json.dumps({"master": master, "settings": settings or {}, "flag": flag, **places}))
    done = subprocess.run(
        [*start, str(PROGRAM), str(plan)],
        cwd=scratch,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYSPARK_PYTHON": sys.executable,
            **(environment or {}),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return Told(**json.loads(file.read_text()))


def assert_same(told: Results, expected: Results) -> None:
    """See that everything is as expected, and that what has to fail says why."""
    failures = {name: told[name][0] for name in ("FAILFAST", "stream")}
    assert "broker-2/txns-0/00000000000000000200.log" in failures["FAILFAST"], failures
    assert "at position 14,942" in failures["FAILFAST"], failures
    assert "kafka-log cannot be read as a stream" in failures["stream"], failures
    assert [name for name in expected if told[name] != expected[name]] == []
    assert told.keys() == expected.keys() | failures.keys()
