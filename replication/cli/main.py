"""The `epochlog` command: its commands, and how errors become one line and exit status 2."""

import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Final, TextIO, cast

import typer
from typer.core import TyperCommand, TyperGroup

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.text.address_secrets import take_in
from replication.cli.advise import advise
from replication.cli.audit import audit
from replication.cli.broker import broker
from replication.cli.cluster import cluster
from replication.cli.demo import demo
from replication.cli.dump import dump
from replication.cli.elect import ElectCommand, elect
from replication.cli.epochs import epochs
from replication.cli.explain import explain
from replication.cli.failure import ReportedError, UsageError, print_failure, wants_json
from replication.cli.format import format  # noqa: A004  the command's name
from replication.cli.incident import incident
from replication.cli.mirror import mirror
from replication.cli.output import (
    EXIT_FAILED,
    EXIT_OUTPUT_CLOSED,
    OutputError,
    RedactedStream,
    StandardOutput,
    complain,
    complain_of,
    let_go_of,
    told,
)
from replication.cli.plan import plan
from replication.cli.recover import recover
from replication.cli.repair import repair
from replication.cli.salvage import salvage
from replication.cli.schema import schema
from replication.cli.serve import serve
from replication.cli.transactions import transactions
from replication.cli.truncate import truncate
from replication.cli.verify import verify
from replication.cli.version import print_version, version
from replication.cli.warm import warm
from replication.errors import ReplicationError

COMMANDS = (
    audit,
    incident,
    salvage,
    transactions,
    explain,
    dump,
    verify,
    epochs,
    plan,
    advise,
    recover,
    repair,
    truncate,
    serve,
    format,
    broker,
    mirror,
    cluster,
    elect,
    demo,
    schema,
    warm,
    version,
)

EMPTY_ARGUMENT: Final = re.compile("(--[a-z-]+=)?")


class InOrder(TyperGroup):
    """Lists the commands in the order in which a newcomer meets them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # click's Context is typer's base
        """Name the commands."""
        del ctx
        return [command.__name__ for command in COMMANDS]


class PlainUsage(TyperCommand):
    """Shows arguments in the usage line as they are called, without typer's braces."""

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # as above
        """Give the parts of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


app = typer.Typer(
    name="epochlog",
    cls=InOrder,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def epochlog(
    context: typer.Context,
    *,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Read and explain the logs of Kafka replicas: what is in them, what is damaged, who led when, and what each would
    truncate under which leader.

    Exit status: 0 nothing wrong, 1 findings, 2 failed in whole or in part, 3 acknowledged records are lost.
    """  # noqa: D205  typer takes the first paragraph whole
    if version:
        print_version()
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(EXIT_FAILED)


def _first_sentence(command: Callable[..., None]) -> str:
    return " ".join((command.__doc__ or "").partition("\n\n")[0].split())


for command in COMMANDS:
    # typer would cut the first sentence to a line.
    app.command(cls=ElectCommand if command is elect else PlainUsage, short_help=_first_sentence(command))(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    # Closed by the caller, who wants the exit status alone.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115  it is the process's own
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115  as above
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        # File names may be no text at all, and the terminal may know less of Unicode than they do.
        out.reconfigure(errors="backslashreplace")
    sys.stdout = cast("TextIO", StandardOutput(out))
    sys.stderr = cast("TextIO", RedactedStream(sys.stderr))
    warnings.showwarning = complain_of
    try:
        status = _run(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except OutputError as error:
        let_go_of(out)
        if error.is_closed:
            # The reader of our output went away (`| head`): there is nobody to report to.
            sys.exit(EXIT_OUTPUT_CLOSED)
        complain(str(error))
        status = EXIT_FAILED
    sys.exit(status)


def _run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit status. Raises OutputError."""
    failure: Exception
    for argument in arguments:
        take_in(argument)
    try:
        _refuse_empty(arguments)
        return app(arguments, prog_name="epochlog", standalone_mode=False) or 0
    except ReportedError as error:
        complain(told(error.__cause__ or error))
        return EXIT_FAILED
    except UsageError as error:
        failure, message = error, _usage_in_one_line(error)
    except (EpochError, LogStoreError, ReplicationError, OSError) as error:
        failure, message = error, told(error)
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001  a traceback alone ends with 1, which means findings
        traceback.print_exc()
        failure, message = error, f"internal error in epochlog: {type(error).__name__}: {told(error)}"
    if wants_json(arguments):
        print_failure(failure, message=message)
    complain(message)
    return EXIT_FAILED


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Raise UsageError where a shell most likely had nothing to put in."""
    if any(map(EMPTY_ARGUMENT.fullmatch, arguments)):
        raise UsageError("an argument is empty; is it a shell variable that is not set?")


def _usage_in_one_line(error: Exception) -> str:
    """Report what is wrong with the arguments, and which command's help to read."""
    context: typer.Context | None = getattr(error, "ctx", None)
    message = " ".join(error.format_message().split()).rstrip(".")  # type: ignore[attr-defined]  # see UsageError
    option = getattr(error, "option_name", "")
    if option.startswith("-") and not option.startswith("--"):
        message += ": names that begin with a dash go behind --"
    return f"{message} (see `{context.command_path} --help`)" if context else message
