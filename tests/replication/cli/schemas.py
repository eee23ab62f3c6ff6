"""What commands print with --json, held against the JSON Schemas that ship."""

import json
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from replication.cli.schemas import FORM, documented_commands, schema_of


@cache
def validator_of(command: str, part: str | None = None) -> Draft202012Validator:
    schema = schema_of(command)
    return Draft202012Validator(schema if part is None else {"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]})


def validate_output(command: str, output: str) -> None:
    """Fail unless a command's whole output is as its schema says; one that is not known may only fail."""
    name = command if command in documented_commands() else "version"
    if schema_of(name)[FORM] == "lines" or not output.startswith("{\n"):
        documents = [json.loads(line) for line in output.splitlines()]
    else:
        documents = [json.loads(output)]
    assert documents or schema_of(name)[FORM] == "lines", f"{command} has printed nothing"
    for document in documents:
        validate(name, document)


def validate(command: str, document: Any, part: str | None = None) -> None:
    """Fail where an object is not one that the command's schema knows, or the definition `part` of that."""
    wrong = best_match(validator_of(command, part).iter_errors(document))
    if wrong is not None:
        pytest.fail(f"epochlog {command} --json: {wrong.json_path}: {wrong.message}; {json.dumps(document)[:2_000]}")
