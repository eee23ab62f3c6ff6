"""JSON Schemas of what commands print with --json: one file a command, and `common.json` for what several print.

A command's file has the definitions of its outputs in `$defs`. One file refers to those of another as
`FILE.json#/$defs/NAME`; `schema_of` puts all that is referred to into one schema that stands alone.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any, Final

SUFFIX: Final = ".json"
COMMON: Final = "common.json"
FORM: Final = "x-form"
"""`object` for a command that prints one, and `lines` for one that prints one a line."""
_DEFINITIONS: Final = "#/$defs/"


def documented_commands() -> list[str]:
    """Return the names of the commands that have a schema, sorted."""
    names = (resource.name for resource in files(__name__).iterdir())
    return sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX) and name != COMMON)


def schema_of(command: str) -> dict[str, Any]:
    """Return the schema of a command's output, complete in itself. Raises LookupError where it has none."""
    if command not in documented_commands():
        raise LookupError(command)
    file = command + SUFFIX
    definitions: dict[str, Any] = {}
    schema: dict[str, Any] = _resolved({**_load(file), "$defs": {}}, file, definitions)
    return {**schema, "$defs": definitions}


def _resolved(node: Any, file: str, definitions: dict[str, Any]) -> Any:
    """Return a part of `file` whose references are local, with what they refer to added to `definitions`."""
    if isinstance(node, list):
        return [_resolved(each, file, definitions) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" not in node:
        return {name: _resolved(each, file, definitions) for name, each in node.items()}
    place, _, name = node["$ref"].partition(_DEFINITIONS)
    origin = place or file
    if name not in definitions:
        definitions[name] = None  # it may refer to itself
        definitions[name] = _resolved(_load(origin)["$defs"][name], origin, definitions)
    return {**node, "$ref": _DEFINITIONS + name}


@cache
def _load(file: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((files(__name__) / file).read_text(encoding="utf-8"))
    return schema
