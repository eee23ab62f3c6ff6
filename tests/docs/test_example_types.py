"""Type checkers accept the Python examples of the pages whose examples are whole, and each says what it knows.

Functions of examples have no annotations; all that they call and all that is outside of them is checked.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.data.replicas import PROJECT
from tests.docs.examples import ALONE, PAGES, blocks_of

UNTYPED = ("--allow-untyped-defs", "--allow-untyped-calls", "--allow-untyped-decorators")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a program for each example, also for those that are not run."""
    directory = tmp_path_factory.mktemp("programs")
    for page in PAGES:
        for block in blocks_of(page.read_text()) if page.name in ALONE else ():
            if block.language == "python":
                (directory / f"{page.stem}_{block.line}.py").write_text(block.body)
    return directory


def test_mypy_accepts_them(programs: Path) -> None:
    options = ["--strict", "--check-untyped-defs", *UNTYPED, "--cache-dir", str(programs / "cache")]
    names = sorted(path.name for path in programs.glob("*.py"))
    assert len(names) > 20
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", *options, *names],
        cwd=programs,
        env=os.environ | {"MYPYPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout == f"Success: no issues found in {len(names)} source files\n", checked.stderr


def test_pyright_accepts_them(programs: Path) -> None:
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(PROJECT)], "include": ["*.py"]}
    (programs / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable, "--outputjson", "--project", "."]
    checked = subprocess.run(command, cwd=programs, capture_output=True, text=True, check=False)
    found = json.loads(checked.stdout)
    assert found["summary"]["filesAnalyzed"] == len(list(programs.glob("*.py")))
    assert [(Path(each["file"]).name, each["message"]) for each in found["generalDiagnostics"]] == []
