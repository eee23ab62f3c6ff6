"""A log file that a broker may be writing: its tail is read again before it is called damaged."""

import time
from pathlib import Path
from typing import Final

from logstore.offline.log_file import LogFile

TAIL_READS: Final = 5
"""How often a tail is read again at most: under constant writes it may be torn each time."""
TAIL_PAUSE_SECONDS: Final = 0.05
"""What a broker that is in the middle of a write is given to end it."""


class TailRereader:
    """Opens a log file again for as long as that may bring more than was seen of it. Nothing is locked."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reads_left = TAIL_READS
        self._seen = (0, 0)

    def open(self) -> LogFile:
        """Map the file as it is now. Raises OSError."""
        # The state of before: what is written between the two counts as a change.
        self._seen = self._state()
        return LogFile.open(self._path)

    def has_changed(self) -> bool:
        """Whether the file was written to since it was opened. False as well once it is gone."""
        try:
            return self._state() != self._seen
        except OSError:
            return False

    def is_worth_another_read(self) -> bool:
        """Give the writer of a torn tail time to finish, and return whether it wrote; False after some reads."""
        if not self._reads_left:
            return False
        self._reads_left -= 1
        time.sleep(TAIL_PAUSE_SECONDS)
        return self.has_changed()

    def _state(self) -> tuple[int, int]:
        """Size and time of the last write: a preallocated file is written to without growing."""
        stat = self._path.stat()
        return stat.st_size, stat.st_mtime_ns
