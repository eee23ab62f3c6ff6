"""The option by which commands are given topics."""

from collections.abc import Iterable
from typing import Annotated

import typer

from replication.cli.output.printing import separated

TopicsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--topics",
        metavar="NAMES",
        help="Only these topics: names, or patterns such as 'orders*', separated by commas.",
    ),
]


def chosen_topics(given: Iterable[str] | None) -> list[str]:
    """Return the names and patterns of an option that may be given several times.

    Raises BadParameter where it was given and names nothing: without a name all topics would be chosen.
    """
    chosen = [name for names in given or () for name in separated(names)]
    if given and not chosen:
        raise typer.BadParameter("it names no topic; is it a shell variable that is not set?", param_hint="--topics")
    return chosen
