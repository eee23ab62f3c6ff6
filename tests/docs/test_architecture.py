"""docs/architecture.md names what there is: modules, packages, and the layers that import-linter checks."""

import re
import tomllib

import pytest

from tests.data.replicas import PROJECT
from tests.docs.examples import blocks_of

PAGE = (PROJECT / "docs/architecture.md").read_text()
CONTRACTS = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
LAYERS = [contract for contract in CONTRACTS if contract["type"] == "layers"]
PACKAGES = r"(?:epoch|epochlog|logstore|replication)"

Layers = list[set[str]]


def layers_of(contract: dict[str, list[str]]) -> Layers:
    return [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]


def pictures() -> list[Layers]:
    drawn = [re.findall(r"^│ (.+) │$", block.body, re.MULTILINE) for block in blocks_of(PAGE)]
    return [[set(line.split()) for line in lines] for lines in drawn]


def packages() -> set[str]:
    """`epoch` and `epochlog`, and the packages right below the other two."""
    below = {each.parent for top in ("logstore", "replication") for each in (PROJECT / top).glob("*/__init__.py")}
    return {"epoch", "epochlog", *(str(each.relative_to(PROJECT)) for each in below)}


def test_every_module_and_package_that_it_names_exists() -> None:
    named = set(re.findall(rf"`({PACKAGES}(?:/\w+)+(?:\.py)?)`", PAGE))
    dotted = {name.replace(".", "/") for name in re.findall(rf"`({PACKAGES}(?:\.[a-z_]+)+)`", PAGE)}
    assert len(named) > 50
    assert [name for name in sorted(named | dotted) if not (PROJECT / name).exists()] == []


@pytest.mark.parametrize("contract", LAYERS, ids=lambda contract: contract["name"])
def test_the_layers_of_every_contract_are_drawn(contract: dict[str, list[str]]) -> None:
    assert layers_of(contract) in pictures()


def test_no_other_layers_are_drawn() -> None:
    assert len(pictures()) == len(LAYERS)


def test_it_says_of_every_package_what_belongs_there() -> None:
    described = re.findall(rf"^\| `({PACKAGES}(?:/\w+)?)` \|", PAGE, re.MULTILINE)
    assert sorted(described) == sorted(packages())
