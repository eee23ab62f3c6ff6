"""Writes docs/cli.md from the help of every command: `python docs/make_cli_reference.py`."""  # noqa: INP001  a script

import io
import os
from contextlib import redirect_stdout, suppress
from pathlib import Path
from unittest.mock import patch

from replication.cli.main import COMMANDS, app

PAGE = Path(__file__).parent / "cli.md"
WIDTH = "80"
HEAD = """\
# Command line

This page is made from the commands' own `--help` by `docs/make_cli_reference.py`. Do not edit it by hand.

What holds for all commands:

- Exit status 0: nothing wrong. 1: findings (damage, differences, records that would be lost). 2: failed in
  whole or in part: each failure is one line on standard error, and the rest is still done.
  `elect` exits with 1 instead of 2, as Kafka's own tool does. 3 (`advise`, `audit`, `recover`, `repair`
  and `truncate`): acknowledged records are lost, or will be under the leader that Kafka elects; this takes precedence.
- Exit status 141 if the reader of the output goes away before its end (`| head`), as with any command that a shell
  counts as ended by SIGPIPE. Nothing is printed then.
- `--json` prints one object with `schema_version`, or for `dump` and `mirror` one per line; errors too. See
  [JSON](json.md).
- On a terminal tables are drawn; on one of less than 100 columns those that do not fit are stacked, a line for each
  cell. In a pipe they are tab-separated, with one heading line.
- Nothing is changed in the directories that are read, and a broker may be at work in them: `verify`, `epochs`, `plan`,
  `advise` and `dump` list a directory again if files vanish from it, and leave out partitions that are deleted.
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
