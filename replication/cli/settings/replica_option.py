"""The option `--replica`."""

from typing import Annotated

import typer

ReplicaOption = Annotated[
    str | None,
    typer.Option(
        "--replica",
        metavar="NAME",
        help="The copy whose log counts: its directory's name or node.id. By default the one with the latest "
        "leader epoch.",
        show_default=False,
    ),
]
