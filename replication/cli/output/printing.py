"""How commands print: tables on a terminal, plain text in a pipe, JSON where asked."""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Final, Protocol, TextIO

import typer

from logstore.errors import LogStoreError
from logstore.shown_text import shown as shown  # noqa: PLC0414  what prints imports it from here
from logstore.text.address_secrets import redacted
from replication.base.errors import ACCESS_ADVICE
from replication.base.json_object import SCHEMA_VERSION
from replication.cli.output.emphasis import emphasized

EXIT_CLEAN = 0
EXIT_FINDINGS = 1
EXIT_FAILED = 2
EXIT_CRITICAL = 3
"""Acknowledged records are lost, or will be: this status takes precedence over the others."""
EXIT_OUTPUT_CLOSED = 141
"""As a shell counts any command whose reader went away (128 + SIGPIPE)."""

UNREADABLE = "file-unreadable"
"""The kind of the findings that leave open whether there is damage: the command could not do all of it."""

WIDEST: Final = 1_000_000
"""More columns than a table has that is not broken anywhere."""
_SURROGATE: Final = re.compile(r"\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\udc(?P<byte>[89a-f][0-9a-f])")
"""What Python takes for a byte that is no text; before it what may look like it: a backslash, half a pair."""

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
RemoteOption = Annotated[
    bool | None,
    typer.Option(
        "--remote-storage/--no-remote-storage",
        help="Whether the topic has remote storage (remote.storage.enable); by default as in the cluster's metadata, "
        "if that lies beside the copies.",
        show_default=False,
    ),
]


def separated(names: str) -> list[str]:
    """Return the names that an option has, separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


def told(error: BaseException) -> str:
    """Give an error's message, a system's as `FILE: what is wrong; what to do`, with all that was noted."""
    message = str(error)
    if isinstance(error, OSError) and not isinstance(error, LogStoreError) and error.strerror:
        message = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
        if isinstance(error, PermissionError):
            message += f"; {ACCESS_ADVICE}"
    return "; ".join([message, *getattr(error, "__notes__", ())])


class OutputError(Exception):
    """Standard output cannot be written, as its cause says: no matter of the files that are read."""

    def __init__(self, cause: OSError) -> None:
        super().__init__(f"standard output: {cause.strerror}")
        self.is_closed = isinstance(cause, BrokenPipeError)


class RedactedStream:
    """A stream for text that is given no secret of an address; in all else the one that it is made of."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # whatever a stream has
        """Return what the stream itself has under that name."""
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write all of it. Raises OSError."""
        return self._stream.write(redacted(text))


class StandardOutput(RedactedStream):
    """Standard output, whose failures are OutputError."""

    def write(self, text: str) -> int:
        """Write all of it."""
        try:
            return super().write(text)
        except OSError as error:
            raise OutputError(error) from error

    def flush(self) -> None:
        """Write what was printed so far."""
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputError(error) from error


class Output:
    """Standard output for bytes, whose failures are OutputError."""

    def __init__(self) -> None:
        self._out = sys.stdout.buffer

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write all of it."""
        try:
            self._out.write(data)
        except OSError as error:
            raise OutputError(error) from error


def complain_of(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line, without the place in the source; for `warnings.showwarning`."""
    complain(str(message))


def complain(text: str, *, at: str = "") -> None:
    """Print one line on standard error, after what was printed so far; a log line begins with its time, `at`.

    Raises OutputError.
    """
    sys.stdout.flush()
    line = f"epochlog: {text}"
    try:
        print(shown(f"{at} {line}" if at else line), file=sys.stderr, flush=True)
    except OSError:  # there is no stream left to report this on
        let_go_of(sys.stderr)


def complain_in_json(document: Mapping[str, object]) -> None:
    """Print an object as one line on standard error."""
    try:
        print(json_text({"schema_version": SCHEMA_VERSION, **document}), file=sys.stderr, flush=True)
    except OSError:  # there is no stream left to report this on
        let_go_of(sys.stderr)


def let_go_of(stream: TextIO) -> None:
    """Write nothing more to a stream that failed: Python would try once more at its end, and speak of it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def json_text(document: object, *, indent: int | None = None) -> str:
    r"""Write JSON that every parser reads: a file name that is no text has its bytes as \xNN, and no number is NaN."""
    return redacted(_SURROGATE.sub(_without_surrogate, json.dumps(document, indent=indent, allow_nan=False)))


def _without_surrogate(match: re.Match[str]) -> str:
    return rf"\\x{match['byte']}" if match["byte"] else match[0]


def print_json(document: Mapping[str, object]) -> None:
    """Print the one JSON object that a command prints, which begins with the version of its schema."""
    sys.stdout.write(f"{json_text({'schema_version': SCHEMA_VERSION, **document}, indent=2)}\n")


def print_json_line(document: Mapping[str, object]) -> None:
    """Print an object as one line, now."""
    sys.stdout.write(f"{json_text({'schema_version': SCHEMA_VERSION, **document})}\n")
    sys.stdout.flush()


def print_line(text: str) -> None:
    """Print a line, whatever is in it; a terminal's is broken between words."""
    from replication.cli.output.stacked_rows import wrapped

    width = _terminal_width()
    line = shown(text)
    print(line if width is None else emphasized("\n".join(wrapped(line, width))))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table: drawn on a terminal, tab-separated without frills in a pipe.

    On a narrow terminal one that is wider is stacked, each cell a line; on any terminal one whose words would be
    broken.
    """
    if not sys.stdout.isatty():
        print_row(columns)
        for row in rows:
            print_row(row)
        return
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    from replication.cli.output.stacked_rows import NARROW, stacked

    table = Table(title=title, title_justify="left")
    cells = [[_cell(value) for value in row] for row in rows]
    for number, column in enumerate(columns):
        numbers = bool(rows) and all(isinstance(row[number], int) or row[number] is None for row in rows)
        whole = not any(" " in row[number] for row in cells)
        table.add_column(
            column,
            justify="right" if numbers else "left",
            overflow="fold",
            no_wrap=whole,
            min_width=len(column) if whole else None,
        )
    for row in cells:
        table.add_row(*map(Text, row))
    console = Console()
    room = Measurement.get(console, console.options.update(max_width=WIDEST), table)
    if console.width < (room.maximum if console.width < NARROW else room.minimum):
        print("\n".join([title, *stacked(columns, cells, console.width)]))
    else:
        console.print(table)


def _terminal_width() -> int | None:
    """Return how many columns the terminal has to which standard output goes; None for a pipe or a file."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console().width


def print_row(row: Iterable[object]) -> None:
    """Print one tab-separated line, now."""
    print("\t".join(map(_cell, row)), flush=True)


def _cell(value: object) -> str:
    return "" if value is None else shown(str(value))


class Advance(Protocol):
    """Called with how many more bytes, or other units of work, are done."""

    def __call__(self, amount: int, /) -> None:
        """Advance."""
        ...


@contextmanager
def progress_bar(description: str, total: int, *, wanted: bool = True) -> Iterator[Advance]:
    """Show progress in bytes on a terminal's error stream; nothing in a pipe.

    What is printed meanwhile is wrapped to the terminal where it goes there too: a bar is not wanted beside JSON.
    """
    if not (wanted and sys.stderr.isatty()):
        yield lambda _amount, /: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    # The bar lets what is printed to the same terminal pass above itself; it must not draw what goes to a file there.
    beside = sys.stdout.isatty()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, redirect_stdout=beside) as bar:
        task = bar.add_task(description, total=total)
        yield lambda amount, /: bar.advance(task, amount)
