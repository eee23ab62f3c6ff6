"""Writes docs/cli.md from the help of every command: `python docs/make_cli_reference.py`."""  # noqa: INP001  a script

import io
import os
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

from replication.cli.main import GROUPS, app

COMMANDS = [command for group in GROUPS.values() for command in group]
PAGE = Path(__file__).parent / "cli.md"
WIDTH = "80"
HEAD = """\
# Command line

*For users of the command. Needs [`[cli]`](getting-started.md#install).*

This page is made from the commands' own `--help` by `docs/make_cli_reference.py`. Do not edit it by hand.

What holds for all commands:

- The [exit status](commands.md#exit-status) says whether anything was found.
- `--json` prints one object with `schema_version`, or for `dump` and `mirror` one per line; errors too. See
  [JSON](json.md).
- On a terminal tables are drawn; on one of less than 100 columns those that do not fit are stacked, a line for each
  cell. In a pipe they are tab-separated, with one heading line.
- What is only read is not changed, and a broker may be at work in it: `verify`, `epochs`, `plan`, `advise` and `dump`
  list a directory again if files vanish from it, and leave out partitions that are deleted.
  [Security](security.md#what-is-written-and-what-is-sent) lists what each command writes.
- `epochlog --install-completion` installs completion for your shell.
"""


def reference() -> str:
    """Return the page."""
    parts = [HEAD, _section("epochlog", ["--help"])]
    parts += [_section(f"epochlog {command.__name__}", [command.__name__, "-h"]) for command in COMMANDS]
    return "\n".join(parts)


def _section(title: str, arguments: list[str]) -> str:
    return f"## {title}\n\n```text\n{_printed(arguments).rstrip()}\n```\n"


def _printed(arguments: list[str]) -> str:
    printed = io.StringIO()
    with patch.dict(os.environ, COLUMNS=WIDTH), redirect_stdout(printed), suppress(SystemExit):
        app(arguments, prog_name="epochlog")
    return "".join(f"{line.rstrip()}\n" for line in printed.getvalue().splitlines())


if __name__ == "__main__":
    PAGE.write_text(reference())
