"""Sentences on a terminal, broken between words."""

import shutil
import sys
import textwrap
from collections.abc import Iterable
from typing import Final

from logstore.shown_text import shown
from replication.cli.output.emphasis import emphasized

PIPE_COLUMNS: Final = 100


def wrapped(text: str, indent: str = "", first: str | None = None) -> Iterable[str]:
    """Return the lines of a text, without what a terminal would take for more than characters."""
    return broken(shown(text), _width(), indent if first is None else first, indent)


def broken(text: str, width: int, first: str, rest: str) -> list[str]:
    """Break a text into lines, the first and the others indented; no word is broken, however long it is."""
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def print_status(status: int, why: str) -> None:
    """Print as a command's last line why its exit status is not 0."""
    print(emphasized("\n".join(wrapped(f"Exit status {status}: {why}."))))


def _width() -> int:
    """Return the columns of the terminal; of a pipe, as many as a line of prose should have."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLUMNS
