"""The examples of docs/pipelines.md that need more packages than the other tests, and what they run with.

`make test-pipelines` installs these packages into directories that Python looks into before those of its own.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.conftest import require
from tests.data.replicas import PROJECT, replicas
from tests.docs.examples import blocks_of, matches

PAGE: Final = PROJECT / "docs/pipelines.md"
LAKES: Final = PROJECT / "build/lakes"
"""Another Spark."""
PIPELINES: Final = PROJECT / "build/pipelines"
"""Airflow, Dagster, delta-rs and PyIceberg."""
SNAPSHOTS: Final = ("diverged", "reconciled")
SECONDS: Final = 900
"""On a machine that does much else too."""


@dataclass(frozen=True, slots=True)
class Example:
    """A block of Python, and the output that stands below it, if any."""

    code: str
    output: str

    def assert_printed(self, printed: str) -> None:
        assert matches(self.output, printed), f"the page says\n{self.output}it printed\n{printed}"


def example(heading: str, runner: str) -> Example:
    """Find the example of a section, which has one, and names the file that runs it."""
    section = re.search(rf"^##+ {heading}\n(.*?)(?=^##|\Z)", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert section is not None, heading
    blocks = blocks_of(section[1])
    [number] = [number for number, block in enumerate(blocks) if block.language == "python"]
    assert f"tests/pipelines/{Path(runner).name} runs it" in (blocks[number].not_run or "")
    below = blocks[number + 1 : number + 2]
    return Example(blocks[number].body, "".join(block.body for block in below if block.language == "text"))


def run(
    packages: Path, *arguments: str, scratch: Path, environment: Mapping[str, str] | None = None, status: int = 0
) -> str:
    """Run Python with one of the directories of packages, see its exit status, and return what it printed."""
    require(available=(packages / ".done").exists(), what=f"{packages.relative_to(PROJECT)} (`make test-pipelines`)")
    for label in SNAPSHOTS:
        if not (scratch / label).exists():
            shutil.copytree(replicas(label), scratch / label)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=scratch,
        env={**_environment(), "PYTHONPATH": f"{packages}{os.pathsep}{PROJECT}", **(environment or {})},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == status, f"{done.stdout[-3000:]}\n{done.stderr[-5000:]}"
    return done.stdout


def _environment() -> Mapping[str, str]:
    """Nothing of what other programs of these packages were told; Java starts soon, with room for its code."""
    others = ("SPARK_", "PYSPARK_", "AIRFLOW_", "DAGSTER_")
    own = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"}
    return {name: value for name, value in os.environ.items() if not name.startswith(others)} | own
