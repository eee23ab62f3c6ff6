"""A program that uses all that is public, for type checkers: each public name, and each public member of a class.

Public is what docs/api.md lists, and what the examples of the pages import beside it.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from textwrap import dedent

from docs.make_api_reference import MODULES, public_names
from tests.docs.examples import PAGES, blocks_of

PACKAGES = ("epoch", "epochlog", "logstore", "replication")


def program() -> str:
    """Return the source: each line that ends in a call of `reveal_type` says what a checker knows of one thing."""
    names = sorted(names_in_the_reference() | names_in_the_examples())
    imports = [f"import {module}" for module in sorted({module for module, _ in names})]
    uses = [line for module, name in names for line in _uses(module, name)]
    return "\n".join(["from typing import reveal_type", "", *imports, "", *uses, ""])


def names_in_the_reference() -> set[tuple[str, str]]:
    """Return the names that docs/api.md lists, with their modules."""
    return {(module, name) for module in MODULES for name in public_names(module)}


def names_in_the_examples() -> set[tuple[str, str]]:
    """Return the names that Python examples import from our packages."""
    blocks = (block for page in PAGES for block in blocks_of(page.read_text()) if block.language == "python")
    nodes = (node for block in blocks for node in ast.walk(ast.parse(block.body)))
    imports = (node for node in nodes if isinstance(node, ast.ImportFrom))
    return {
        (node.module, alias.name)
        for node in imports
        if node.module and node.module.split(".")[0] in PACKAGES
        for alias in node.names
    }


def _uses(module: str, name: str) -> Iterator[str]:
    yield f"reveal_type({module}.{name})"
    value = getattr(import_module(module), name)
    if isinstance(value, type):
        yield f"def use_{module.replace('.', '_')}_{name}(each: {module}.{name}) -> None:"
        yield "    reveal_type(each)"
        yield from (f"    reveal_type(each.{member})" for member in sorted(set(_members(value))))


def _members(kind: type) -> Iterator[str]:
    """Give the public members that a class and its bases of ours define, in their bodies or on `self`."""
    for base in kind.__mro__:
        if base.__module__.split(".")[0] in PACKAGES:
            names = (*vars(base), *inspect.get_annotations(base), *_assigned(base))
            yield from (name for name in names if not name.startswith("_") and not _is_of_pyarrow(vars(base).get(name)))


_OF_PYARROW = re.compile(r"\b(?:pyarrow|pa)\.")


def _is_of_pyarrow(member: object) -> bool:
    """Tell what gives tables or rows of pyarrow, which tells type checkers nothing of itself."""
    function = getattr(member, "fget", None) or getattr(member, "func", None) or member
    return (
        inspect.isfunction(function)
        and _OF_PYARROW.search(str(inspect.get_annotations(function).get("return"))) is not None
    )


def _assigned(kind: type) -> Iterator[str]:
    for node in ast.walk(ast.parse(dedent(inspect.getsource(kind)))):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store(), attr=name):
                yield name
