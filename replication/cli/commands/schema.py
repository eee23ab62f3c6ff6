"""`epochlog schema`."""

import sys
from typing import Annotated

import typer

from replication.cli.output.printing import JsonOption, json_text, print_json, print_table


def schema(
    command: Annotated[
        str | None, typer.Argument(metavar="[COMMAND]", help="A command; without it, all are listed.")
    ] = None,
    *,
    json: JsonOption = False,
) -> None:
    """Print the JSON Schema of what a command prints with --json.

    For a command that prints JSON lines, the schema describes one line. With --json, the schema is a member of an
    object.

    Examples:
      epochlog schema
      epochlog schema verify
    """
    from replication.cli.schemas import FORM, documented_commands, schema_of

    known = documented_commands()
    if command is not None and command not in known:
        raise typer.BadParameter(f"{command!r} is not one of {', '.join(known)}", param_hint="COMMAND")
    schemas = {name: schema_of(name) for name in ([command] if command else known)}
    if json:
        documents = [
            {"command": name, "form": each[FORM], "description": each["description"], "schema": each}
            for name, each in schemas.items()
        ]
        print_json({"schemas": documents})
    elif command:
        sys.stdout.write(f"{json_text(schemas[command], indent=2)}\n")
    else:
        print_table(
            "What each command prints with --json",
            ("command", "form", "output"),
            [(name, each[FORM], each["description"]) for name, each in schemas.items()],
        )
