"""Where a backup is made: under a name of its own until it is whole, and then under the one that was asked for."""

from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from epoch.filesystem import FileSystem
from logstore.files.backup_mark import BACKUP_MARK, BackupMark
from logstore.files.directory_lock import LOCK_NAME, DirectoryLock

PARTIAL_SUFFIX: Final = ".partial"
"""Of a backup that is being made, or was broken off: the next one goes on with it."""
REPLACED_SUFFIX: Final = ".replaced"
"""Of the earlier backup, from when the new one is whole until it has taken its place."""

_FIRST_NAMES: Final = frozenset({LOCK_NAME, f"{BACKUP_MARK}.tmp"})
"""All that is there until the mark is."""


class BackupPlace:
    """Locked while a backup is made in it.

    >>> with BackupPlace(path, source, filesystem) as place:
    ...     ...  # into place.partial
    ...     place.complete()
    """

    def __init__(self, path: Path, source: Path, filesystem: FileSystem) -> None:
        """Touch nothing yet. Raises ValueError where the backup would lie in its source, or the other way round."""
        if path == source or source in path.parents or path in source.parents:
            raise ValueError(f"{path} and {source} overlap: name a directory outside of what is backed up")
        self.path = path
        self.partial: Path = path.with_name(path.name + PARTIAL_SUFFIX)
        self._replaced = path.with_name(path.name + REPLACED_SUFFIX)
        self._source = source
        self._filesystem = filesystem
        self._lock = DirectoryLock(self.partial / LOCK_NAME)

    def __enter__(self) -> Self:
        """Make and lock the directory of what is not whole yet.

        Raises FileExistsError if something else than an earlier backup of the same source has one of the names;
        DirectoryLockedError while another call makes this backup, or while the earlier one is open; OSError.
        """
        filesystem = self._filesystem
        filesystem.make_directories(self.path.parent)
        self._ensure_backup(self.partial)
        if not self.partial.exists():
            filesystem.mkdir(self.partial)
        self._lock.take()
        try:
            self._settle()
            BackupMark(str(self._source)).write(self.partial, filesystem)
        except BaseException:
            self._lock.release()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._lock.release()

    def complete(self) -> None:
        """Put what is whole into its place, durably. Raises OSError."""
        filesystem, parent = self._filesystem, self.path.parent
        filesystem.fsync_directory(self.partial)
        if self.path.exists():
            DirectoryLock.ensure_free(self.path)
            filesystem.rename(self.path, self._replaced)
        filesystem.rename(self.partial, self.path)
        filesystem.fsync_directory(parent)
        self._remove_replaced()

    def _settle(self) -> None:
        """Finish what a crash has left of an earlier call, and see that the earlier backup may be replaced."""
        self._ensure_backup(self._replaced)
        if self._replaced.exists() and not self.path.exists():
            self._filesystem.rename(self._replaced, self.path)
        self._remove_replaced()
        self._ensure_backup(self.path)
        if self.path.exists():
            ensure_unwritten(self.path)
            DirectoryLock.ensure_free(self.path)

    def _remove_replaced(self) -> None:
        """Remove the earlier backup, its mark last: whoever goes on with that knows it by its mark."""
        filesystem, replaced = self._filesystem, self._replaced
        if replaced.exists():
            for path in sorted(replaced.iterdir(), key=lambda path: path.name == BACKUP_MARK):
                remove(path, filesystem)
            filesystem.rmdir(replaced)

    def _ensure_backup(self, directory: Path) -> None:
        if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
            raise FileExistsError(f"{directory} is no directory: name another one for the backup")
        if not directory.exists() or not {path.name for path in directory.iterdir()} - _FIRST_NAMES:
            return
        mark = BackupMark.of(directory)
        if mark is None:
            raise FileExistsError(f"{directory} is there and is no backup: name a directory that does not exist yet")
        if mark.source != str(self._source):
            raise FileExistsError(
                f"{directory} is a backup of {mark.source} and not of {self._source}: name another, or remove it"
            )


def ensure_unwritten(directory: Path) -> None:
    """Raise FileExistsError where somebody has written to a backup: what that was would be lost. Raises OSError."""
    mark = BackupMark.of(directory)
    if mark is not None and not mark.is_unchanged(directory):
        raise FileExistsError(
            f"{directory} was written to since it was made, and is a log of its own now: name another directory for "
            "the backup, or remove this one"
        )


def remove(path: Path, filesystem: FileSystem) -> None:
    """Remove whatever it is; where a link leads stays. Raises OSError."""
    (filesystem.remove_tree if path.is_dir() and not path.is_symlink() else filesystem.unlink)(path)


def remove_if_there(path: Path, filesystem: FileSystem) -> None:
    """Remove a file that may be missing. Raises OSError."""
    with suppress(FileNotFoundError):
        filesystem.unlink(path)
