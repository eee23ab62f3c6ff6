"""`spark-submit` with the file of docs/audit-clusters.md runs the command under the master that it was given."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.replicas import PROJECT, replicas

pytestmark = pytest.mark.usefixtures("_java")


def test_the_file_of_the_page_audits_under_spark_submit(tmp_path: Path) -> None:
    page = (PROJECT / "docs/audit-clusters.md").read_text()
    shown = re.search(r"wants a Python file.*?```python\n(.*?)```", page, re.DOTALL)
    assert shown is not None
    script = tmp_path / "audit.py"
    script.write_text(shown[1])
    programs = Path(sys.executable).parent
    done = subprocess.run(
        ["spark-submit", "--master", "local[1]", script, "audit", replicas("diverged"), "--topics", "hwloss", "--json"],
        env=os.environ | {"PATH": f"{programs}:{os.environ['PATH']}"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 3, done.stderr[-3000:]  # acknowledged records are lost
    (partition,) = json.loads(done.stdout)["partitions"]
    assert (partition["topic"], partition["verdict"]) == ("hwloss", "forked")
