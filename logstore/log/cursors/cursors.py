"""The cursors of a log, each in a file of its own beside the segments."""

import re
from typing import Final

from logstore.log.cursors.cursor import Cursor
from logstore.log.cursors.cursor_keeper import CursorKeeper

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")


class Cursors:
    """Makes cursors, one of each name."""

    def __init__(self, keeper: CursorKeeper) -> None:
        """Make none yet."""
        self._keeper = keeper
        self._open: dict[str, Cursor] = {}

    def names(self) -> list[str]:
        """List the cursors that have committed. Raises LogClosedError, OSError."""
        return [name for name in self._keeper.committed_names() if _NAME.fullmatch(name)]

    def open(self, name: str) -> Cursor:
        """Return the cursor of this name, the same one each time; see `Log.cursor`."""
        if not isinstance(name, str):
            raise TypeError(f"a cursor's name is text, and not {name!r}: pass a str")
        if _NAME.fullmatch(name) is None:
            raise ValueError(
                f"{name!r} cannot be a cursor's name: pass 1 to 200 of the letters a to z and A to Z, digits, '.', '_' "
                "and '-', of which file names can consist everywhere"
            )
        self._keeper.ensure_usable()
        with self._keeper.lock:
            if name not in self._open:
                self._open[name] = Cursor(self._keeper, name, *self._keeper.find(name))
            return self._open[name]
