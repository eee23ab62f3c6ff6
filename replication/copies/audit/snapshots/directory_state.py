"""How the files of a directory stand at one moment, and which of them have moved by a later one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from logstore.file_name import FileFate, FileKind, parse_file_name
from replication.base.counted import counted
from replication.copies.audit.snapshots.remote.stored_file import StoredFile
from replication.copies.audit.snapshots.storage import Storage

_PASSING: Final = frozenset({FileFate.DELETED, FileFate.CLEANED, FileFate.BEGUN})
"""The fates of files that come and go beside a log: what is being removed, and what the cleaner or a roll has begun."""
_LOG_SUFFIX: Final = f".{FileKind.LOG}"


@dataclass(frozen=True, slots=True)
class DirectoryState:
    """The names of files, their sizes and the times of their last modification."""

    files: Mapping[str, StoredFile]
    """None where the directory is gone."""
    unread: str | None = None
    """Why the directory could not be listed."""

    @classmethod
    def of(cls, storage: Storage) -> Self:
        """Look at the files of a directory alone, but for those that only come and go."""
        try:
            files = storage.stored_files()
        except OSError as error:
            return cls({}, str(error))
        return cls({name: file for name, file in files.items() if parse_file_name(name).fate not in _PASSING})

    @property
    def is_there(self) -> bool:
        """Whether there is anything, be it only something that cannot be listed."""
        return bool(self.files) or self.unread is not None

    @property
    def sizes(self) -> dict[str, int]:
        """Bytes by file name."""
        return {name: file.size for name, file in self.files.items()}

    def movement(self, later: Self) -> str | None:
        """Describe what has changed since, by the first file that has; None where nothing has.

        >>> DirectoryState({"a.log": StoredFile(1, 5)}).movement(DirectoryState({"a.log": StoredFile(2, 6)}))
        'a.log had 1 byte, then 2'
        """
        if self.is_there != later.is_there:
            return "the directory was there, then gone" if self.is_there else "the directory was not there, then was"
        if self.unread != later.unread:
            return f"the directory could not be listed each time ({self.unread or later.unread})"
        moved = [name for name in {*self.files, *later.files} if self.files.get(name) != later.files.get(name)]
        if not moved:
            return None
        first = min(moved, key=lambda name: (not name.endswith(_LOG_SUFFIX), name))
        others = f", and {len(moved) - 1:,} more moved too" if len(moved) > 1 else ""
        return f"{_became(first, self.files.get(first), later.files.get(first))}{others}"


def _became(name: str, before: StoredFile | None, after: StoredFile | None) -> str:
    if before is None:
        return f"{name} was not there, then was"
    if after is None:
        return f"{name} was there, then gone"
    if before.size == after.size:
        return f"{name} was written to, and has {_bytes(after.size)} as before"
    return f"{name} had {_bytes(before.size)}, then {after.size:,}"


def _bytes(count: int) -> str:
    return counted(count, "byte")
