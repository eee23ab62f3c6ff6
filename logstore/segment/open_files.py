"""A limit to how many segment files are open at once, shared by all logs of a directory, or that stand alone."""

import resource
from collections import OrderedDict
from threading import RLock
from typing import Final, Protocol

from epoch.base.forked import detach_after_fork

MOST: Final = 8_192
"""Open files. Each holds up to one descriptor and one mapping; systems allow 65,530 mappings to a process."""


def default_limit() -> int:
    """Return how many files may be open so that a third of the process's descriptors stays for others."""
    descriptors, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if descriptors == resource.RLIM_INFINITY else max(1, min(MOST, 2 * descriptors // 3))


class Idle(Protocol):
    """What can be let go and opened again on its next use."""

    used: bool
    """Set at every use; cleared here."""

    def release(self) -> bool:
        """Give back descriptors and mapping; False where that must not be now."""


class OpenFiles:
    """Limits how many segment files are open: those not used recently are closed first.

    Each use only sets a flag, so it costs readers nothing. Over the limit, files are visited in the order in which they
    were opened: a file with the flag loses it and is kept, and the first file without it is closed.
    """

    def __init__(self, limit: int) -> None:
        """Allow `limit` files. Raises ValueError below 1."""
        if limit < 1:
            raise ValueError(f"the limit of open files is {limit}, and must be at least 1")
        self.limit = limit
        # One step to put a file in, and one to take it out: in between something may be raised.
        self._files: OrderedDict[int, Idle] = OrderedDict()
        self._lock = RLock()  # a signal handler that reads may come in between

    def __repr__(self) -> str:
        return f"OpenFiles({len(self)} of at most {self.limit})"

    def __len__(self) -> int:
        return len(self._files)

    def opened(self, file: Idle) -> None:
        """Count a file that has just been opened, and close others as needed."""
        with self._lock:
            self._files.setdefault(id(file), file)
            file.used = True
            self._shrink(file)

    def closed(self, file: Idle) -> None:
        """Forget a file that was closed for good."""
        with self._lock:
            self._files.pop(id(file), None)

    def detach(self) -> None:
        """Count anew in a forked process: what its parent has open is the parent's, and so may be the lock."""
        self._files = OrderedDict()
        self._lock = RLock()

    def _shrink(self, newest: Idle) -> None:
        files = self._files
        # Two rounds: the first may only clear flags. Files that refuse stay, and the limit is passed for a while.
        for _ in range(2 * len(files)):
            if len(files) <= self.limit:
                return
            key, file = next(iter(files.items()))
            if file is newest or file.used or not file.release():
                file.used = file is newest
                files.move_to_end(key)
            else:
                del files[key]


_OF_PROCESS: Final = OpenFiles(default_limit())
detach_after_fork(_OF_PROCESS)


def open_files_of_process() -> OpenFiles:
    """Return what limits the files of all logs that stand alone in this process, by what it may have open now."""
    _OF_PROCESS.limit = default_limit()
    return _OF_PROCESS
