"""The wheel holds all that the packages need at run time, and all that a type checker wants to know of them."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path
from sysconfig import get_path

import pytest
from readme_renderer import markdown

from epoch.compiling.shipping.shared_object import LEVELS, can_be_made, lacking
from logstore import Log
from tests.campaign import is_full, run_seed
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


with_machine_code = pytest.mark.skipif(not can_be_made(), reason="machine code is shipped for Linux on x86-64 alone")
NO_COMPILER = "raise ModuleNotFoundError('it is not to be found here', name='{}')\n"
CHOSEN = "from epoch.compiling import shipped_code as s; import json; print(json.dumps([*s.processor_features()]))"


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


@with_machine_code
def test_the_wheel_has_machine_code_for_each_level_that_this_processor_can_run(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        made = [name for name in archive.namelist() if "/machine_code/" in name]
    levels = {f"epoch/compiling/machine_code/{level}.so" for level in LEVELS["x86_64"] if not lacking(level)}
    assert {*made} == levels | {"epoch/compiling/machine_code/manifest.json"}
    assert wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl")


@pytest.fixture(scope="module")
def without_numba(installed: Path) -> Path:
    """Return a directory with what the wheel installs, and the tests, in which numba cannot be imported."""
    directory = installed.parents[2] / "without-numba"
    [packages] = installed.parents[1].glob("lib/python3*/site-packages")
    for name in PACKAGES:
        shutil.copytree(packages / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("numba", "llvmlite"):
        (directory / name).mkdir()
        (directory / name / "__init__.py").write_text(NO_COMPILER.format(name))
    (directory / "tests").symlink_to(PROJECT / "tests")
    shutil.copy(PROJECT / "pyproject.toml", directory)
    return directory


@with_machine_code
@pytest.mark.parametrize("optimized", ["", "1"])
def test_the_first_command_of_an_installation_runs_machine_code(without_numba: Path, optimized: str) -> None:
    root = without_numba / f"root{optimized}"
    root.mkdir()
    with Log.open(root / "t-0") as log:
        log.append([b"value"] * 200)
    environment = {name: os.environ[name] for name in os.environ.keys() - {"HOME", "XDG_CACHE_HOME"}}
    environment |= {"PYTHONPATH": str(without_numba), "PYTHONOPTIMIZE": optimized, "PYTHONDONTWRITEBYTECODE": "1"}
    program = (
        "import sys; from epochlog.__main__ import run; sys.argv = ['epochlog', 'verify', '--records', sys.argv[1]];"
        "\ntry: run()\nexcept SystemExit as end: assert not end.code, end.code"
        "\nfrom epoch.compiling.shipped_code import shipped; from logstore.kernels import crc"
        "\nprint(len(shipped()) > 40, crc.NAME.startswith('crc32c_'), sys.modules.get('numba'), __debug__)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program, root],
        cwd=without_numba,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout.splitlines()[-1]) == ("", f"True True None {not optimized}")


@with_machine_code
@pytest.mark.parametrize("number", range(len(LEVELS["x86_64"]) if is_full() else 1))
def test_kernels_equal_their_twins_as_they_are_shipped(without_numba: Path, number: int) -> None:
    """Those that the processor can run: of one level, by the seed, or of all."""
    place = without_numba / "epoch/compiling/machine_code"
    program = [sys.executable, "-P", "-c", CHOSEN]
    environment = os.environ | {"PYTHONPATH": str(without_numba)}
    told = subprocess.run(program, cwd=without_numba, env=environment, capture_output=True, check=True)
    features = set(json.loads(told.stdout))
    manifest = json.loads((place / "manifest.json").read_text())
    files = [each for each in manifest["files"] if features.issuperset(each["features"])]
    chosen = files[(run_seed() + number) % len(files)]
    (place / "manifest.json").write_text(json.dumps(manifest | {"files": [chosen]}))
    try:
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        tests = ["tests/logstore/kernels", "tests/epoch/test_bulk.py"]
        done = subprocess.run(
            [*command, *tests], cwd=without_numba, env=environment, capture_output=True, text=True, check=False
        )
    finally:
        (place / "manifest.json").write_text(json.dumps(manifest))
    assert done.returncode == 0, f"{chosen['file']}\n{done.stdout[-4_000:]}"
    assert " passed" in done.stdout


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
