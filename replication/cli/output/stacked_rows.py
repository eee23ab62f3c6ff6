"""A table that has no room side by side: each cell a line, each row a paragraph."""

from collections.abc import Iterator, Sequence
from typing import Final

from replication.cli.output.prose import broken

NARROW: Final = 100
"""Columns of a terminal below which text is laid out for reading, and a table that is wider is stacked."""
INDENT: Final = "  "


def stacked(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Yield lines of at most `width` letters, `name: value` for each cell with something in it.

    Rows are set apart by empty lines. No word is broken: one that is longer than a line, such as a path, stays whole.

    >>> list(stacked(("replica", "file"), [("broker-1", "a.log"), ("broker-2", "")], 80))
    ['  replica: broker-1', '  file: a.log', '', '  replica: broker-2']
    """
    for number, row in enumerate(rows):
        if number:
            yield ""
        for name, value in zip(columns, row, strict=True):
            if value:
                yield from wrapped(f"{INDENT}{name}: {value}", width)


def wrapped(text: str, width: int) -> list[str]:
    """Break a line between words, and indent what follows by one step more than its beginning."""
    own = text[: len(text) - len(text.lstrip(" "))]
    return broken(text, width, "", own + INDENT) or [""]
