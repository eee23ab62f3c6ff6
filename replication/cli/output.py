"""How commands print: tables on a terminal, plain text in a pipe, JSON where asked."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Protocol

import typer

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(document: object) -> None:
    """Print one JSON document."""
    json.dump(document, sys.stdout, indent=2)
    sys.stdout.write("\n")


def print_json_lines(documents: Iterable[dict[str, Any]]) -> None:
    """Print one JSON document a line: for streams."""
    for document in documents:
        sys.stdout.write(json.dumps(document) + "\n")


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: drawn on a terminal, tab-separated without frills in a pipe."""
    if not sys.stdout.isatty():
        print("\t".join(columns))
        for row in rows:
            print("\t".join(map(_cell, row)))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        numbers = bool(rows) and all(isinstance(row[number], int) or row[number] is None for row in rows)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    Console().print(table)


def _cell(value: object) -> str:
    return "" if value is None else str(value)


class Advance(Protocol):
    """Told how many more bytes, or other units of work, are done."""

    def __call__(self, amount: int, /) -> None:
        """Advance."""
        ...


@contextmanager
def progress_bar(description: str, total: int) -> Iterator[Advance]:
    """Show progress in bytes on a terminal's error stream; nothing in a pipe."""
    if not sys.stderr.isatty():
        yield lambda _amount, /: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda amount, /: bar.advance(task, amount)
