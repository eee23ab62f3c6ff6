"""The option for which consumers records are looked at."""

from enum import StrEnum
from typing import Annotated

import typer


class Isolation(StrEnum):
    """Which consumer is asked about: `isolation.level`."""

    COMMITTED = "read_committed"
    UNCOMMITTED = "read_uncommitted"


IsolationOption = Annotated[
    Isolation,
    typer.Option(
        "--isolation", metavar="LEVEL", help="The consumer's isolation.level: read_committed or read_uncommitted."
    ),
]
