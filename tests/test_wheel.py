"""The wheel holds all that the packages need at run time."""

import subprocess
import sys
import zipfile
from pathlib import Path

from tests.data.replicas import PROJECT

PACKAGES = ("epoch", "epochlog", "logstore", "replication")


def test_the_wheel_has_every_file_of_the_packages(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = {*archive.namelist()}
    files = (path.relative_to(PROJECT) for package in PACKAGES for path in (PROJECT / package).rglob("*.*"))
    expected = {str(path) for path in files if "__pycache__" not in path.parts}
    assert expected <= packed
    assert "replication/cli/schemas/verify.json" in packed
