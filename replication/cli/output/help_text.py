"""How `--help` is laid out: commands in groups, examples a line each."""

import inspect
from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from replication.cli.output.renamed_options import renamed


class GroupedCommands(TyperGroup):
    """Lists the commands by their group, and takes `help COMMAND` for `COMMAND --help`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # click's Context is typer's base
        """Parse the arguments."""
        while args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]  # as above
        """Write a section for each group, in the order in which the commands were added."""
        groups: dict[str, list[tuple[str, str]]] = {}
        width = max(map(len, self.list_commands(ctx)))
        for name, command in self.commands.items():
            group = str(getattr(command, "rich_help_panel", ""))
            groups.setdefault(group, []).append((name.ljust(width), command.get_short_help_str()))
        for group, rows in groups.items():
            with formatter.section(group):
                formatter.write_dl(rows)


class PlainUsage(TyperCommand):
    """Shows arguments in the usage line as they are called, without typer's braces; knows options by old names too."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]  # as above
        """Parse the arguments."""
        return super().parse_args(ctx, args if ctx.resilient_parsing else renamed(str(self.name), args))

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]  # as above
        """Give the parts of the usage line."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def short_help(command: Callable[..., None]) -> str:
    """Return the first sentence of a command's help, which typer would cut to a line."""
    return " ".join((command.__doc__ or "").partition("\n\n")[0].split())


def long_help(command: Callable[..., None]) -> str:
    r"""Return a command's help, whose examples keep their lines: click leaves a paragraph alone that begins with \b."""
    return inspect.cleandoc(command.__doc__ or "").replace("\nExamples:\n", "\n\b\nExamples:\n")
