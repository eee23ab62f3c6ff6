"""What a terminal shows in red: that acknowledged records are lost, or will be."""

import os
import re
import sys
from typing import Final, TextIO

_CRITICAL: Final = re.compile("critical(?=:)|Exit status 3(?=:)")
_RED: Final = "\033[1;31m"
_PLAIN: Final = "\033[0m"


def emphasized(line: str, *, stream: TextIO | None = None) -> str:
    """Return a line with `critical` at its beginning in red, where it goes to a terminal that has colours."""
    found = _CRITICAL.match(line)
    has_colours = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    if found is None or not has_colours or not (stream or sys.stdout).isatty():
        return line
    return f"{_RED}{found[0]}{_PLAIN}{line[found.end() :]}"
