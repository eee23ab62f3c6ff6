"""Sentences on a terminal, broken between words."""

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Final

from replication.cli.output import shown

PIPE_COLUMNS: Final = 100


def wrapped(text: str, indent: str = "", first: str | None = None) -> Iterable[str]:
    """Return the lines of a text, without what a terminal would take for more than characters."""
    return textwrap.wrap(
        shown(text),
        _width(),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _width() -> int:
    """Return the columns of the terminal; of a pipe, as many as a line of prose should have."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLUMNS
