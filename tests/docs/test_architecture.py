"""docs/architecture.md names what there is: modules, packages, and the layers that import-linter checks."""

import ast
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
    """`epoch` and `epochlog`, packages right below `epoch` and `logstore`, and `replication`'s rooms with theirs."""
    inits = [init for name in ("epoch", "logstore", "replication") for init in (PROJECT / name).glob("*/__init__.py")]
    inits += [each for each in (PROJECT / "replication").glob("*/*/__init__.py") if each.parts[-3] != "testing"]
    below = {each.parent for each in inits}
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
    described = re.findall(rf"^\| `({PACKAGES}(?:/\w+){{0,2}})` \|", PAGE, re.MULTILINE)
    assert sorted(described) == sorted(packages())


def walks() -> dict[str, str]:
    """The lists of "Where do I change ...", by their titles."""
    section = PAGE.split("## Where do I change ...")[1].split("\n## ")[0]
    _, *parts = re.split(r"^\*\*(.+)\*\*$", section, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


WALKS = walks()


def defined_in(file: str) -> set[str]:
    """What a module defines: its classes, functions, methods and names."""
    tree = ast.parse((PROJECT / file).read_text())
    found = {each.name for each in ast.walk(tree) if isinstance(each, ast.ClassDef | ast.FunctionDef)}
    names = (target for each in tree.body for target in getattr(each, "targets", [getattr(each, "target", None)]))
    return found | {each.id for each in names if isinstance(each, ast.Name)}


def test_there_are_walks_through_ten_changes() -> None:
    assert len(WALKS) == 10


@pytest.mark.parametrize("title", WALKS)
def test_each_step_of_a_walk_names_what_is_there(title: str) -> None:
    words = re.findall(r"`([\w./-]+)`", WALKS[title])
    files = [each for each in words if "/" in each]
    assert files
    assert [each for each in files if not (PROJECT / each).exists()] == []
    for file, name in named_in(words):
        assert name in defined_in(file), f"{file} does not define {name}"


@pytest.mark.parametrize("title", WALKS)
def test_a_walk_comes_back_to_no_file(title: str) -> None:
    files = re.findall(r"`([\w-]+/[\w./-]+)`", WALKS[title])
    assert len(files) == len(set(files))


def decided() -> dict[str, list[str]]:
    """The rows of "Where is it decided ...": of each question, what stands in backticks in its answer."""
    section = PAGE.split("## Where is it decided ...")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| (`.+) \|$", section, re.MULTILINE)
    return {question: re.findall(r"`([\w./]+)`", answer) for question, answer in rows}


DECIDED = decided()


def test_it_says_where_the_decisions_are_that_one_looks_for_first() -> None:
    assert len(DECIDED) >= 18


@pytest.mark.parametrize("question", DECIDED)
def test_each_place_of_a_decision_names_what_is_there(question: str) -> None:
    named = named_in(DECIDED[question])
    assert named
    for file, name in named:
        assert name in defined_in(file), f"{file} does not define {name}"


def named_in(words: list[str]) -> list[tuple[str, str]]:
    """Each module of a walk with the names that follow it."""
    named, file = [], ""
    for word in words:
        if "/" in word:
            file = word if word.endswith(".py") else ""
        elif file and "." not in word and "-" not in word:
            named.append((file, word))
    return named
