"""The three packages notice when one of them is another distribution's, or of another version."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from epoch import __distribution__
from epoch.belonging import NAMES
from tests.replication.cli.schemas import validate_output

ROOT = Path(__file__).parents[2]
COMMAND = "epochlog"
OTHER_VERSION = "epochlog 0.0.9"
PAIRS = [(name, other) for name in NAMES for other in NAMES if name != other]
NEEDED = [(name, other) for name, other in PAIRS if NAMES.index(other) < NAMES.index(name)]
NOT_NEEDED = [pair for pair in PAIRS if pair not in NEEDED]
FOREIGN = '"""Counts epochs."""\nfrom pathlib import Path\n'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a directory with all three packages, as pip installs them."""
    directory = tmp_path / "site"
    for name in (*NAMES, COMMAND):
        shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__", "data"))
    install(directory, __distribution__, *(f"{name}/__init__.py" for name in NAMES))
    return directory


def install(directory: Path, distribution: str, *files: str) -> None:
    """Leave the traces of an installed distribution."""
    name, version = distribution.split()
    info = directory / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


def imported(name: str, *path: Path) -> subprocess.CompletedProcess[str]:
    """Import a package in a process of its own, from these places alone."""
    program = f"import sys; sys.path[:0] = {[str(each) for each in path]}; import {name}; print('imported')"
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    arguments = [sys.executable, "-I", "-S", "-c", program]
    return subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)


def refusal(name: str, *path: Path) -> str:
    done = imported(name, *path)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {name} is of {__distribution__}, and ")
    return last


def overwrite(site: Path, name: str) -> None:
    """Install another distribution with a package of this name over ours."""
    (site / name / "__init__.py").write_text(FOREIGN)
    install(site, f"{name} 1.2", f"{name}/__init__.py", f"{name}/counter.py")


def metadata() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project


def test_all_have_the_same_file_and_the_same_mark() -> None:
    assert __distribution__ == f"epochlog {metadata()['version']}"
    for name in (*NAMES, "epochlog"):
        assert import_module(name).__version__ == metadata()["version"]
    for home in ("logstore", "replication/base", COMMAND):
        assert (ROOT / home / "belonging.py").read_bytes() == (ROOT / "epoch/belonging.py").read_bytes()
    for name in (*NAMES, COMMAND):
        assert f'\n__distribution__ = "{__distribution__}"\n' in (ROOT / name / "__init__.py").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_what_belongs_together_is_imported_in_silence(site: Path, tmp_path: Path, name: str) -> None:
    archive = Path(shutil.make_archive(str(tmp_path / "packages"), "zip", site))
    for place in (site, archive, ROOT):
        done = imported(name, place)
        assert (done.returncode, done.stdout, done.stderr) == (0, "imported\n", "")


@pytest.mark.parametrize("name", NAMES)
def test_one_of_them_may_be_used_alone(site: Path, name: str) -> None:
    for other in NAMES:
        if other != name:
            shutil.rmtree(site / other)
    done = imported(name, site)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_the_distribution_that_overwrote_a_package_is_named(site: Path, name: str, other: str) -> None:
    overwrite(site, other)
    said = refusal(name, site)
    assert f"and {other} is not: {site / other / '__init__.py'} was installed by {other} 1.2; " in said
    assert said.endswith(f"pip uninstall {other}; pip install --force-reinstall 'epochlog==0.2.0'")


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_another_version_is_named(site: Path, name: str, other: str) -> None:
    init = site / other / "__init__.py"
    init.write_text(init.read_text().replace(__distribution__, OTHER_VERSION))
    shutil.rmtree(site / "epochlog-0.2.0.dist-info")
    assert f"{init} is not installed; rename it, or take {site} off sys.path" in refusal(name, site)
    install(site, OTHER_VERSION, f"{other}/__init__.py")
    assert f"{init} was installed by {OTHER_VERSION}; pip uninstall epochlog; pip install " in refusal(name, site)


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_what_the_removal_of_another_distribution_took_along_is_named(site: Path, name: str, other: str) -> None:
    init = site / other / "__init__.py"
    init.unlink()
    assert refusal(name, site).endswith(f"{init} is missing; pip install --force-reinstall 'epochlog==0.2.0'")


def as_package(place: Path, name: str) -> Path:
    (place / name).mkdir(parents=True)
    init = place / name / "__init__.py"
    init.write_text(FOREIGN)
    return init


def as_module(place: Path, name: str) -> Path:
    place.mkdir()
    module = place / f"{name}.py"
    module.write_text(FOREIGN)
    return module


@pytest.mark.parametrize("shadow", [as_package, as_module])
@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_a_package_elsewhere_that_comes_first_is_refused_where_it_is_needed(
    site: Path, tmp_path: Path, name: str, other: str, shadow: Callable[[Path, str], Path]
) -> None:
    file = shadow(tmp_path / "program", other)
    told = f"and {other} is not: {file} is not installed; rename it, or take {tmp_path / 'program'} off sys.path"
    if (name, other) in NEEDED:
        assert told in refusal(name, tmp_path / "program", site)
        return
    done = imported(name, tmp_path / "program", site)
    assert (done.returncode, done.stdout) == (0, "imported\n")
    assert done.stderr.count("RuntimeWarning") == 1
    assert told in done.stderr


@pytest.mark.parametrize(("name", "other"), NOT_NEEDED)
def test_a_directory_of_data_is_no_package(site: Path, tmp_path: Path, name: str, other: str) -> None:
    shutil.rmtree(site / other)
    (tmp_path / "program" / other).mkdir(parents=True)
    done = imported(name, tmp_path / "program", site)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["logstore", "replication"])
def test_nothing_is_imported_to_find_out(name: str) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import {name};"
        "print(sorted({'pathlib', 'importlib.util', 'importlib.metadata', 'epoch'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def start(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Start the command as its script does, where another program's packages come first on the path."""
    program = f"from {metadata()['scripts'][COMMAND].replace(':', ' import ')}; run()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(place), str(ROOT))), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("shadow", [as_package, as_module])
@pytest.mark.parametrize("name", NAMES)
def test_the_command_names_the_package_that_is_in_its_way(
    tmp_path: Path, name: str, shadow: Callable[[Path, str], Path]
) -> None:
    file = shadow(tmp_path / "program", name)
    done = start(tmp_path / "program", "version")
    advice = f"{file} is not installed; rename it, or take {tmp_path / 'program'} off sys.path"
    said = f"{COMMAND} is of {__distribution__}, and {name} is not: {advice}"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"epochlog: {said}\n")
    done = start(tmp_path / "program", "version", "--json")
    validate_output("version", done.stdout)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["message"], error["file"]) == (2, said, str(file))


def test_the_command_starts_where_all_packages_are_its_own(tmp_path: Path) -> None:
    done = start(tmp_path, "version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{__distribution__}\n", "")
