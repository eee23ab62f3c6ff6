"""The `epochlog` command: its commands, and how errors become one line and exit status 2."""

import io
import os
import re
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Final, TextIO, cast

import typer

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from logstore.text.address_secrets import take_in
from replication.base.errors import ACCESS_ADVICE, ReplicationError
from replication.base.missing_package import extra_of
from replication.cli.commands.advise import advise
from replication.cli.commands.audit import audit
from replication.cli.commands.broker import broker
from replication.cli.commands.cluster import cluster
from replication.cli.commands.controller import controller
from replication.cli.commands.demo import demo
from replication.cli.commands.dump import dump
from replication.cli.commands.elect import ElectCommand, elect
from replication.cli.commands.epochs import epochs
from replication.cli.commands.explain import explain
from replication.cli.commands.format import format  # noqa: A004  the command's name
from replication.cli.commands.incident import incident
from replication.cli.commands.mirror import mirror
from replication.cli.commands.plan import plan
from replication.cli.commands.reconcile import reconcile
from replication.cli.commands.recover import recover
from replication.cli.commands.repair import repair
from replication.cli.commands.salvage import salvage
from replication.cli.commands.schema import schema
from replication.cli.commands.serve import serve
from replication.cli.commands.transactions import transactions
from replication.cli.commands.truncate import truncate
from replication.cli.commands.verify import verify
from replication.cli.commands.version import print_version, version
from replication.cli.commands.warm import warm
from replication.cli.output.failure import (
    MissingPackageError,
    ReportedError,
    UsageError,
    print_failure,
    wants_json,
)
from replication.cli.output.help_text import GroupedCommands, PlainUsage, long_help, short_help
from replication.cli.output.printing import (
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

GROUPS: Final = {
    "Incident": (incident, audit, advise, salvage),
    "Inspect": (verify, epochs, dump, plan, explain, reconcile),
    "Change": (recover, repair, truncate),
    "Clusters": (cluster, elect, transactions, mirror),
    "Brokers": (serve, format, broker, controller),
    "Tool": (demo, schema, warm, version),
}
"""The commands by what somebody comes for."""

EMPTY_ARGUMENT: Final = re.compile("(--[a-z-]+=)?")


app = typer.Typer(
    name="epochlog",
    cls=GroupedCommands,
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

    `epochlog help COMMAND` prints a command's options and examples.

    Exit status: 0 nothing wrong, 1 findings, 2 failed in whole or in part, 3 acknowledged records are at stake.
    """  # noqa: D205  typer takes the first paragraph whole
    if version:
        print_version()
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help(), file=sys.stderr)
        raise typer.Exit(EXIT_FAILED)


for group, commands in GROUPS.items():
    for command in commands:
        app.command(
            cls=ElectCommand if command is elect else PlainUsage,
            help=long_help(command),
            short_help=short_help(command),
            rich_help_panel=group,
        )(command)


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
        failure, message = _unforeseen(error, arguments)
    if wants_json(arguments):
        print_failure(failure, message=message)
    complain(message)
    return EXIT_FAILED


def _unforeseen(error: Exception, arguments: Sequence[str]) -> tuple[Exception, str]:
    """Return the failure and its message: the extra that a command needs, or an error of ours, with its traceback."""
    extra = extra_of(error) if isinstance(error, ModuleNotFoundError) else None
    if isinstance(error, ModuleNotFoundError) and extra is not None:
        failure = MissingPackageError(f"`{arguments[0]}` needs", error, extra)
        return failure, told(failure)
    traceback.print_exc()
    return error, f"internal error in epochlog: {type(error).__name__}: {told(error)}"


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
    if context and type(error).__name__ == "MissingParameter":
        message += f"; write {context.command_path} {_needed(context)}"
    if message.endswith("is not readable"):
        message += f"; {ACCESS_ADVICE}"
    return f"{message} (see `{context.command_path} --help`)" if context else message


def _needed(context: typer.Context) -> str:
    """Return what a command cannot do without, as it is typed: arguments first, then options."""
    needed = [each for each in context.command.params if each.required]
    arguments = [str(each.metavar) for each in needed if each.param_type_name == "argument"]
    options = [f"{each.opts[0]} {each.metavar}" for each in needed if each.param_type_name == "option"]
    return " ".join([*arguments, *options])
