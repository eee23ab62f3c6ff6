"""Whether the disk of a root has space: a full one has not failed, and all goes on once there is some again."""

import os
from pathlib import Path
from typing import Final

from epoch.base.resource_limits import OUT_OF_SPACE
from epoch.filesystem import FileSystem

LOOK_INTERVAL_MS: Final = 2_000
_TRIED_BYTES: Final = 256 << 10
"""More than a checkpoint takes, or what producers send at once by default."""
_TRIED_NAME: Final = "space-check.tmp"


class DiskSpace:
    """There is none from the first call that finds none, until nobody has met that for a while and a file is written.

    Any thread may note what it has met. Who writes without trouble pays nothing.
    """

    def __init__(self, root: Path, filesystem: FileSystem) -> None:
        """Assume that there is space."""
        self._tried: Final = root / _TRIED_NAME
        self._filesystem: Final = filesystem
        self.shortage: OSError | None = None
        """What was answered last to a call that found no space; None while there is some."""
        self._seen: OSError | None = None

    def note(self, error: OSError) -> None:
        """Note an error of a call on the disk; one that is not for want of space is ignored."""
        if error.errno in OUT_OF_SPACE:
            # Not itself: it would keep what the call had in its hands.
            self.shortage = OSError(error.errno, os.strerror(error.errno), error.filename)

    def look(self) -> None:
        """See whether there is space again, where there was none. Raises OSError, where the disk has failed."""
        shortage = self.shortage
        if shortage is not self._seen:
            self._seen = shortage  # somebody has met it since the last look
        elif shortage is not None and self._takes_a_file() and self.shortage is shortage:
            self.shortage = self._seen = None

    def _takes_a_file(self) -> bool:
        """Write one, of what no file system makes smaller."""
        try:
            descriptor = self._filesystem.open(self._tried, truncate=True)
            try:
                self._filesystem.write(descriptor, os.urandom(_TRIED_BYTES))
                self._filesystem.fsync(descriptor)
            finally:
                self._filesystem.close(descriptor)
                self._filesystem.unlink(self._tried)
        except OSError as error:
            if error.errno not in OUT_OF_SPACE:
                raise
            return False
        return True
