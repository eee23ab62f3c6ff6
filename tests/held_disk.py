"""A disk on which a sync of a file takes as long as a test says, and which counts them."""

from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock

from epoch.filesystem import FileSystem


class HeldDisk(FileSystem):
    """Holds each fsync of a `.log` file from `hold` on, until `let_go`."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self.fsyncs = 0
        self.directory_fsyncs = 0
        self.failure: BaseException | None = None
        """Raised in place of the next fsync of a file."""
        self.meanwhile: Callable[[], object] | None = None
        """Called in the next fsync of a `.log` file."""
        self.is_reached = Event()
        self._may_go_on = Event()
        self._may_go_on.set()
        self._lock = Lock()

    def hold(self) -> None:
        """Let the next fsync wait, and all that follow."""
        self.is_reached.clear()
        self._may_go_on.clear()

    def let_go(self) -> None:
        """Let all of them go on."""
        self._may_go_on.set()

    def fsync(self, descriptor: int) -> None:
        """Wait; the descriptor must stay open all the time."""
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        if path.endswith(".log"):
            self.is_reached.set()
            meanwhile, self.meanwhile = self.meanwhile, None
            if meanwhile is not None:
                meanwhile()
            assert self._may_go_on.wait(60)
        assert str(Path(f"/proc/self/fd/{descriptor}").readlink()).removesuffix(" (deleted)") == path
        with self._lock:
            self.fsyncs += 1
            failure, self.failure = self.failure, None
        if failure is not None:
            raise failure
        super().fsync(descriptor)

    def fsync_directory(self, path: Path) -> None:
        """Count it."""
        self.directory_fsyncs += 1
        super().fsync_directory(path)
