"""A copy that was examined, with a way back to its bytes where a comparison needs them."""

from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from replication.base.errors import CopyUnreadableError
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.examination.range_digests import RangeDigests

OpenLogs = Callable[[Collection[str]], AbstractContextManager[Path]]
"""Is given the names of `.log` files; the directory that it opens holds at least those as long as it is entered."""


@dataclass(frozen=True, slots=True)
class ExaminedCopy:
    """What a comparison takes of each copy."""

    summary: CopySummary
    digests: RangeDigests
    open_logs: OpenLogs
    directory: str
    """Where it is, for people: a path, or a URI."""

    @property
    def replica(self) -> str:
        """Whose copy it is."""
        return self.summary.replica

    @contextmanager
    def logs(self, names: Collection[str]) -> Iterator[Path]:
        """Open the directory of the copy's `.log` files, of these at least.

        Raises CopyUnreadableError where that cannot be, or what is done with it raises OSError.
        """
        try:
            with self.open_logs(names) as directory:
                yield directory
        except OSError as error:
            raise CopyUnreadableError(self.replica, self.summary.topic_partition, error) from error


def in_place(directory: Path) -> OpenLogs:
    """Open the logs of a copy where they stand."""

    @contextmanager
    def open_logs(_names: Collection[str]) -> Iterator[Path]:
        yield directory

    return open_logs
