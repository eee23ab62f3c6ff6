"""The contracts of pyproject.toml notice each import that they forbid, and folders stay small."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import grimp
import pytest

from tests.data.replicas import PROJECT

CONTRACTS = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
PACKAGES = ("epoch", "epochlog", "logstore", "replication")
MOST_MODULES = 16

LARGER = {
    "logstore/kernels": "each kernel stands by itself",
    "logstore/verify": "one module for each kind of file that is checked",
    "replication/cli/commands": "one module for each command",
    "replication/records/metadata": "one module for each part of the image",
    "replication/wire/messages": "one module for each API",
}
"""Folders with more modules than the others, and why that does not make them hard to read."""

UNUSED = {
    "epoch.compiling.shipping.__main__": "what makes a wheel's machine code",
    "epochlog.__main__": "the command",
    "logstore.partition_directory": "an old name",
    "logstore.partition_metadata": "an old name",
    "replication.cluster.controller.classic.store.embedded_store": "what tests have in ZooKeeper's place",
    "replication.testing.history.__main__": "a program",
}
"""Modules that no other one uses, and why they are there."""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source, to plant imports in."""
    copy = tmp_path_factory.mktemp("source")
    shutil.copy(PROJECT / "pyproject.toml", copy)
    for package in PACKAGES:
        shutil.copytree(PROJECT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def forbidden_import(contract: dict[str, Any]) -> tuple[str, str]:
    """An import that the contract does not allow: who imports, and what."""
    match contract["type"]:
        case "layers":
            above, below = (contract["layers"][place].split(" | ")[0] for place in (0, -1))
            container = contract.get("containers", [""])[0]
            return f"{container}.{below}".strip("."), f"{container}.{above}".strip(".")
        case "forbidden":
            return contract["source_modules"][0], contract["forbidden_modules"][0]
        case "acyclic_siblings":
            return "logstore.log.observers.log_observer", "logstore.log.log"
        case other:
            raise AssertionError(f"say here which import a contract of type {other} forbids")


def file_of(source: Path, module: str) -> Path:
    package = source.joinpath(*module.split("."))
    return package / "__init__.py" if package.is_dir() else package.with_suffix(".py")


def lint(source: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"]
    return subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)


def broken(source: Path) -> set[str]:
    """Names of the contracts that the source does not keep."""
    done = lint(source)
    assert f" {len(CONTRACTS)} kept, 0 broken" in done.stdout or done.returncode == 1, done.stdout + done.stderr
    return {name for contract in CONTRACTS if f"\n{(name := contract['name'])} BROKEN" in done.stdout}


def test_every_contract_is_kept(source: Path) -> None:
    assert broken(source) == set()


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract["name"])
def test_every_contract_notices_an_import_that_it_forbids(contract: dict[str, Any], source: Path) -> None:
    importer, imported = forbidden_import(contract)
    file = file_of(source, importer)
    kept = file.read_text()
    file.write_text(f"{kept}\nimport {imported}\n")
    try:
        assert contract["name"] in broken(source)
    finally:
        file.write_text(kept)


@pytest.mark.parametrize(
    "container",
    ["replication", "replication.wire", "replication.cluster.broker", "replication.copies.audit", "logstore"],
)
def test_a_new_module_has_to_be_given_its_layer(container: str, source: Path) -> None:
    planted = source.joinpath(*container.split("."), "without_a_layer.py")
    planted.touch()
    try:
        told = lint(source)
    finally:
        planted.unlink()
    assert told.returncode == 1
    assert f"{container}.without_a_layer" in told.stdout


def test_no_folder_has_more_modules_than_one_takes_in_at_a_glance() -> None:
    folders = {each.parent for top in PACKAGES for each in (PROJECT / top).rglob("__init__.py")}
    modules = {str(each.relative_to(PROJECT)): len(list(each.glob("*.py"))) - 1 for each in folders}
    assert {folder for folder, count in modules.items() if count > MOST_MODULES} == LARGER.keys()


def test_every_module_is_used_by_another_one_or_public() -> None:
    graph = grimp.build_graph(*PACKAGES)
    files = [each for top in PACKAGES for each in (PROJECT / top).rglob("*.py*") if each.suffix in {".py", ".pyi"}]
    texts = "\n".join(each.read_text() for each in files)
    doors = {module for module in graph.modules if module.startswith("replication.") and module.count(".") == 1}
    unused = {
        module
        for module in graph.modules - doors
        if not (graph.find_modules_that_directly_import(module) or graph.find_children(module))
        # A stub has what is public; kernels and programs are named.
        and not (f"from {module} import" in texts or f'"{module}"' in texts)
    }
    assert unused == UNUSED.keys()
