"""The `epochlog` command: its commands, and how errors become one line and exit status 2."""

import io
import os
import sys
from collections.abc import Sequence

import typer
from typer.core import TyperGroup

from epoch.errors import EpochError
from logstore.errors import LogStoreError
from replication.cli.advise import advise
from replication.cli.demo import demo
from replication.cli.dump import dump
from replication.cli.epochs import epochs
from replication.cli.output import EXIT_FAILED, shown
from replication.cli.plan import plan
from replication.cli.recover import recover
from replication.cli.truncate import truncate
from replication.cli.verify import verify
from replication.cli.version import version
from replication.cli.warm import warm
from replication.errors import ReplicationError

COMMANDS = (dump, verify, epochs, plan, advise, recover, truncate, demo, warm, version)


class InOrder(TyperGroup):
    """Lists the commands in the order in which a newcomer meets them."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # click's Context is typer's base
        """Name the commands."""
        del ctx
        return [command.__name__ for command in COMMANDS]


app = typer.Typer(
    name="epochlog",
    cls=InOrder,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Read and explain the logs of Kafka replicas: what is in them, what is damaged, who led when, and what each "
    "would truncate under which leader.\n\nExit status: 0 nothing wrong, 1 findings, 2 could not do it.",
)
for command in COMMANDS:
    app.command()(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    if sys.stdout is None:
        # Closed by the caller, who wants the exit status alone.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115  it is the process's own
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names may be no text at all, and the terminal may know less of Unicode than they do.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app(arguments, prog_name="epochlog")
    except BrokenPipeError:
        # The reader of our output went away (`| head`): nobody is left to tell, and Python must not try at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_FAILED)
    except (EpochError, LogStoreError, ReplicationError, OSError) as error:
        print(shown(f"epochlog: {error}"), file=sys.stderr)
        sys.exit(EXIT_FAILED)
