"""The file that marks a directory as a backup, and says of what.

Kafka does not mind it. It keeps a log that is in use, or somebody else's directory, from being taken for an earlier
backup and replaced.
"""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from epoch.filesystem import REAL, FileSystem
from logstore.file_name import FileKind, parse_file_name
from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT

BACKUP_MARK: Final = ".epochlog-backup"
_MAX_BYTES: Final = 64 << 20
_VERSION: Final = 0
_LAST_BYTES: Final = 4 << 10
"""Of each file, looked at to see whether it is still the same: an append, or a truncation, changes them."""


@dataclass(frozen=True, slots=True)
class BackupMark:
    """What a backup was made of."""

    source: str
    """The directory of the log, or the root of several."""
    files: Mapping[str, int] = field(default_factory=dict)
    """What shows whether somebody has written since (`told_of`); nothing of a root, and of what is not complete."""

    @classmethod
    def of(cls, directory: Path) -> Self | None:
        """Read the mark of a backup; None where there is none that can be read. Raises OSError."""
        try:
            with open(directory / BACKUP_MARK, "rb") as file:
                content = json.loads(file.read(_MAX_BYTES))
            source, files, version = content["source"], content["files"], content["version"]
        except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
            return None
        is_valid = version == _VERSION and isinstance(source, str) and isinstance(files, dict)
        return cls(source, files) if is_valid else None

    def write(self, directory: Path, filesystem: FileSystem = REAL) -> None:
        """Mark a directory, durably. Raises OSError."""
        content = {"version": _VERSION, "source": self.source, "files": dict(self.files)}
        filesystem.write_atomically(directory / BACKUP_MARK, json.dumps(content).encode())

    def is_unchanged(self, directory: Path) -> bool:
        """Whether nobody has written since. Raises OSError."""
        return not self.files or told_of(directory) == self.files


def told_of(directory: Path) -> dict[str, int]:
    """Return the checksums of the ends of those files that whoever writes to a log changes, by name. Raises OSError."""
    return {path.name: _checksum_of_end(path) for path in directory.iterdir() if _tells(path.name)}


def _tells(name: str) -> bool:
    return name == LOG_START_OFFSET_CHECKPOINT or parse_file_name(name).kind in {FileKind.LOG, FileKind.CURSOR}


def _checksum_of_end(path: Path) -> int:
    with open(path, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - _LAST_BYTES, 0))
        return zlib.crc32(size.to_bytes(8) + file.read(_LAST_BYTES))
