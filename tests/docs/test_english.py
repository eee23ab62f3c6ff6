"""Docstrings say what a thing is or does, as in Python's and Kafka's own documentation."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data.replicas import PROJECT

PACKAGES = ("epoch", "logstore", "replication", "epochlog", "bench")
ODD_BEGINNING = re.compile(r"(Tells?|Told|Lets?|Says?|Have|Take|Be|Do so)\b")
"""Instead: Return, Report, Raise, Whether, Create, or a noun phrase."""


def docstrings_of(source: Path) -> Iterator[str]:
    """Every docstring of a file, those of attributes included."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value.strip()


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_begin_with_what_a_thing_is_or_does(package: str) -> None:
    sources = sorted((PROJECT / package).rglob("*.py"))
    docstrings = [(source.relative_to(PROJECT), each) for source in sources for each in docstrings_of(source)]
    odd = [f"{source}: {each.splitlines()[0]}" for source, each in docstrings if ODD_BEGINNING.match(each)]
    assert docstrings
    assert odd == []
