"""Whether the disk of a root works (Kafka: LogDirFailureChannel, for one directory)."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from epoch.base.resource_limits import NamingLimits, is_passing
from logstore.closing import do_all
from logstore.directory.state.disk_space import DiskSpace
from logstore.directory.state.partitions import Partitions
from logstore.errors import LogPoisonedError, LogStoreError, OfflineDirectoryError


class DiskWatch:
    """Takes the root offline when its disk fails: all its logs are let go."""

    def __init__(self, root: Path, partitions: Partitions, space: DiskSpace) -> None:
        """Watch a disk that works."""
        self._root = root
        self._partitions = partitions
        self.space: DiskSpace = space
        """Whether it is full."""
        self.failure: OSError | None = None
        """What took the root offline; None while it is online."""
        self._noted: OSError | None = None

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Mark the root offline when the disk fails, but not for a full disk or a limit of the process."""
        try:
            with NamingLimits(self._root):
                yield
        except LogStoreError:
            raise
        except OSError as error:
            self.space.note(error)
            if not is_passing(error):
                self.fail(error)
            raise

    def note(self, error: OSError) -> None:
        """Note what has failed in a thread that does not hold the directory's lock; see `notice_failures`."""
        self.space.note(error)
        if not is_passing(error):
            self._noted = error

    def notice_failures(self) -> None:
        """Mark the root offline if a write or fsync of a log has failed; not for one whose call was interrupted."""
        if self._noted is not None:
            self.fail(self._noted)
            return
        for log in self._partitions.open_logs.values():
            if log.failure is not None and not isinstance(log.failure, LogPoisonedError):
                self.fail(log.failure)
                return

    def fail(self, error: OSError) -> None:
        """Close all logs of the root; the other roots go on (Kafka: handleLogDirFailure)."""
        self.failure, self._noted = error, None
        with suppress(OSError, LogStoreError):  # `error` is reported
            do_all([log.abandon for log in self._partitions.open_logs.values()], f"the logs in {self._root}")
        self._partitions.let_go()

    def ensure_works(self) -> None:
        """Raise OfflineDirectoryError once the disk has failed."""
        if self.failure is not None:
            raise OfflineDirectoryError(
                f"the directory is offline since its disk failed: {self.failure}",
                file=self._root,
                advice="replace the disk, or open the directory again once it works",
            ) from self.failure
