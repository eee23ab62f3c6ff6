"""The file that marks a directory as a backup, and says of what.

Kafka does not mind it. It keeps a log that is in use, or somebody else's directory, from being taken for an earlier
backup and replaced.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self

from epoch.filesystem import REAL, FileSystem

BACKUP_MARK: Final = ".epochlog-backup"
_MAX_BYTES: Final = 1 << 16
_VERSION: Final = 0


@dataclass(frozen=True, slots=True)
class BackupMark:
    """What a backup was made of."""

    source: str
    """The directory of the log, or the root of several."""
    last_segment: str = ""
    """The name of the last segment's file; none of a root, and of a backup that is not complete."""
    last_size: int = 0
    """Its bytes: if they are others by now, somebody has written."""

    @classmethod
    def of(cls, directory: Path) -> Self | None:
        """Read the mark of a backup; None where there is none that can be read. Raises OSError."""
        try:
            with open(directory / BACKUP_MARK, "rb") as file:
                content = json.loads(file.read(_MAX_BYTES))
            mark = cls(content["source"], content["last_segment"], content["last_size"])
            is_valid = content["version"] == _VERSION and list(map(type, asdict(mark).values())) == [str, str, int]
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return mark if is_valid else None

    def write(self, directory: Path, filesystem: FileSystem = REAL) -> None:
        """Mark a directory, durably. Raises OSError."""
        filesystem.write_atomically(directory / BACKUP_MARK, json.dumps({"version": _VERSION, **asdict(self)}).encode())

    def is_unchanged(self, directory: Path) -> bool:
        """Whether the last segment is still as the backup has left it."""
        last = directory / Path(self.last_segment).name
        return not self.last_segment or (last.is_file() and last.stat().st_size == self.last_size)
