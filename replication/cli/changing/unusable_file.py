"""What keeps a log from being repaired: a file of it that is none, or that may not be read or written."""

import os
from pathlib import Path
from stat import S_ISDIR, S_ISFIFO, S_ISLNK, S_ISREG
from typing import Final

from logstore.file_name import FileFate, FileKind, parse_file_name
from replication.base.errors import ACCESS_ADVICE
from replication.cli.output.failure import CommandError

_NEEDED: Final = frozenset({FileKind.LOG, FileKind.LEADER_EPOCH_CHECKPOINT})
"""Files whose content is looked for; indexes and snapshots are made anew in the place of all but a directory."""
_WITHOUT: Final = frozenset(
    {
        FileKind.UNKNOWN,
        FileKind.TEMPORARY,
        FileKind.PARTITION_METADATA,
        FileKind.METADATA_SNAPSHOT,
        FileKind.QUORUM_STATE,
    }
)
"""What recovery neither reads nor writes."""
_ADVICE: Final = (
    "move it out of the partition's directory, and put the file in its place from a copy; or remove the whole "
    "directory, once it is known that another replica holds its records: a broker copies them from the leader again"
)


class UnusableFileError(CommandError):
    """A file of a log that is to be repaired, or its directory, cannot be used; nothing was changed."""

    def __init__(self, file: Path, what: str, advice: str) -> None:
        """Create it with what is wrong with the file, and what to do next."""
        super().__init__(f"{file}: {what}; {advice}")
        self.file = file


def ensure_usable(directory: Path, *, is_changed: bool) -> None:
    """Raise UnusableFileError where recovery could not read a file of a log, or write it where it `is_changed`."""
    modes = os.R_OK | (os.W_OK if is_changed else 0)
    _ensure_allowed(directory, modes | os.X_OK)
    for path in sorted(directory.iterdir()):
        parsed = parse_file_name(path.name)
        if parsed.kind in _WITHOUT or parsed.fate is not FileFate.LIVE:
            continue
        mode = path.lstat().st_mode
        if S_ISDIR(mode) or (parsed.kind in _NEEDED and not S_ISREG(mode) and not _is_replaced(parsed.kind, mode)):
            raise UnusableFileError(path, f"{named(mode)} stands where this file belongs", _ADVICE)
        if S_ISREG(mode):
            _ensure_allowed(path, modes)


def _is_replaced(kind: FileKind, mode: int) -> bool:
    return kind is FileKind.LEADER_EPOCH_CHECKPOINT and S_ISLNK(mode)


def _ensure_allowed(path: Path, modes: int) -> None:
    if not os.access(path, modes, effective_ids=os.access in os.supports_effective_ids):
        what = "may not be read and written" if modes & os.W_OK else "may not be read"
        raise UnusableFileError(path, f"{what} by this user", ACCESS_ADVICE)


def named(mode: int) -> str:
    """Return what stands in the place of a file, by its mode."""
    if S_ISDIR(mode):
        return "a directory"
    if S_ISFIFO(mode):
        return "a pipe"
    return "a symbolic link" if S_ISLNK(mode) else "a socket or a device"
