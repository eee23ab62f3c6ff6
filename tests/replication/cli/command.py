"""Run the command line within the test's process."""

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from replication.cli.main import GROUPS, main
from tests.replication.cli.schemas import validate_output

COMMANDS = [command for group in GROUPS.values() for command in group]


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and its exit status."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


def epochlog(*arguments: object) -> Outcome:
    """Run `epochlog` with these arguments, its output a pipe; JSON is held against the command's schema."""
    # Not StringIO: `dump` writes bytes.
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
    status: object = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
    outcome = Outcome(int(str(status or 0)), out.buffer.getvalue().decode(), err.getvalue())
    if "--json" in arguments:
        validate_output(str(arguments[0]), outcome.out)
    return outcome
