"""The wheel holds all that the packages need at run time, and all that a type checker wants to know of them."""

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path
from sysconfig import get_path

import pytest
from readme_renderer import markdown

from tests.data.replicas import PROJECT
from tests.public_program import PACKAGES, program

OF_OTHERS = re.compile(
    r"tuple\[(?:Any|int), \.\.\.\](?=, \S*dtype\[)|(?<=ndarray\[)Any\b|_SupportsArray\[(?:numpy\.)?dtype\[Any\]\]"
    r"|Coroutine(?:Type)?\[Any, Any"
)
"""Where numpy leaves types open, the number of dimensions and the elements of what can be made an array; and what an
event loop exchanges with the functions that it runs."""
OPEN = re.compile(r"\.(?:args|as_json|document|difference_rows|examined|judged|LocalAudit)\)$")
"""The arguments of Python's exceptions, JSON objects as `json.loads` reads them, and rows as pyarrow takes them: both
are `dict[str, Any]`."""
NOT_KNOWN = re.compile(r"\b(?:Any|Unknown)\b")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("wheel")
    # What is set up is taken as it is, however old.
    as_it_is = [word for name in (".demo", ".done") for word in ("-o", f"{sys.prefix}/{name}")]
    command = ["make", "dist", f"DIST={directory}", f"VENV={sys.prefix}", *as_it_is]
    subprocess.run(command, cwd=PROJECT, check=True, capture_output=True)
    [wheel] = directory.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """Return the interpreter of an environment with the wheel, and with what it requires as it is here."""
    directory = wheel.parent / "environment"
    venv.create(directory)
    python = directory / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    [packages] = directory.glob("lib/python3*/site-packages")
    (packages / "requirements.pth").write_text(f"{get_path('purelib')}\n")
    return python


@pytest.fixture(scope="module")
def use(wheel: Path) -> Path:
    """Return the program that uses all that is public, in a directory of its own."""
    file = wheel.parent / "program/use.py"
    file.parent.mkdir()
    file.write_text(program())
    return file


def test_the_wheel_has_every_file_of_the_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {*archive.namelist()}
    files = (path.relative_to(PROJECT) for package in PACKAGES for path in (PROJECT / package).rglob("*.*"))
    expected = {str(path) for path in files if "__pycache__" not in path.parts}
    assert expected <= packed
    assert "replication/cli/schemas/verify.json" in packed


def test_a_package_index_shows_the_readme_without_what_it_does_not_have(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
    assert metadata["Description-Content-Type"] == "text/markdown"
    text = metadata.get_payload(decode=True)
    assert isinstance(text, bytes)
    page = markdown.render(text.decode())
    assert page is not None
    assert [kind for kind in ("<table>", "<pre", "<td>Incidents</td>") if kind not in page] == []
    targets = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert [target for target in targets if not target.startswith(("https://", "#"))] == []


def test_every_public_name_is_there_once_the_wheel_is_installed(installed: Path, use: Path) -> None:
    subprocess.run([installed, "-I", use], check=True, capture_output=True)


def test_mypy_knows_the_type_of_every_public_name(installed: Path, use: Path) -> None:
    options = ["--strict", "--python-executable", str(installed), "--cache-dir", str(installed.parents[2] / "mypy")]
    command = [sys.executable, "-m", "mypy", *options, use.name]
    checked = subprocess.run(command, cwd=use.parent, capture_output=True, text=True, check=False)

    assert re.findall(r"^.*: error: .*$", checked.stdout, re.MULTILINE) == []
    told = re.findall(r"^use\.py:(\d+): note: Revealed type is (.*)$", checked.stdout, re.MULTILINE)
    ensure_all_known(use, {int(line): revealed for line, revealed in told})


def test_pyright_knows_the_type_of_every_public_name(installed: Path, use: Path) -> None:
    (use.parent / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    command = [sys.executable, "-m", "basedpyright", "--pythonpath", str(installed), "--outputjson", "--project", "."]
    checked = subprocess.run(command, cwd=use.parent, capture_output=True, text=True, check=False)

    told = json.loads(checked.stdout)["generalDiagnostics"]
    assert [each for each in told if each["severity"] != "information"] == []
    ensure_all_known(use, {each["range"]["start"]["line"] + 1: each["message"] for each in told})


@pytest.mark.parametrize(
    ("package", "least"), [("epoch", 1), ("logstore", 0.99), ("replication", 0.96), ("epochlog", 1)]
)
def test_pyright_infers_few_types_of_all_that_is_exported(installed: Path, package: str, least: float) -> None:
    """Of every module, whoever imports it: `--verifytypes` says what another type checker might take for another type.

    It looks for packages beside the interpreter that is first on PATH.
    """
    if "OLDEST" in os.environ:
        pytest.skip("the oldest numba says less of its own types, and our classes derive from them")
    command = [sys.executable, "-m", "basedpyright", "--verifytypes", package, "--ignoreexternal", "--outputjson"]
    path = f"{installed.parent}:{os.environ['PATH']}"
    checked = subprocess.run(
        command, cwd=installed.parent, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )

    completeness = json.loads(checked.stdout)["typeCompleteness"]
    inferred = [each["name"] for each in completeness["symbols"] if not each["isTypeKnown"]]
    assert completeness["completenessScore"] >= least, inferred


def ensure_all_known(use: Path, revealed: dict[int, str]) -> None:
    lines = {number: line.strip() for number, line in enumerate(use.read_text().splitlines(), 1)}
    uses = {number: line for number, line in lines.items() if line.startswith("reveal_type(")}
    assert len(uses) > 1_000
    assert uses.keys() == revealed.keys()
    types = {line: OF_OTHERS.sub("", revealed[number]) for number, line in uses.items()}
    assert {line: known for line, known in types.items() if NOT_KNOWN.search(known) and not OPEN.search(line)} == {}
