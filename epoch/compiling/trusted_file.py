"""Files that are executed once they are read: nobody but this user and root can have written them.

Whoever may write a file, or the directory that names it, decides what it holds, and whoever may rename that directory
decides which one it is. So all of them are looked at, as sshd looks at a user's keys, and what is looked at is what is
read: by descriptor, not by name a second time.
"""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_OPEN: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
"""Neither through a link, which another user may have placed, nor waiting for the other end of a pipe."""


class UntrustedFileError(PermissionError):
    """Another user may have written this file, or may still write to it."""

    def __init__(self, path: Path, fault: str) -> None:
        super().__init__(errno.EPERM, fault, str(path))


def read_trusted(path: Path, *, below: Path | None = None) -> bytes:
    """Read a file that only this user or root can have written. Raises what `open_trusted` raises."""
    with open_trusted(path, below=below) as file:
        return file.read()


def open_trusted(path: Path, *, below: Path | None = None) -> BinaryIO:
    """Open a file that only this user or root can have written, in a directory of which the same is true.

    With `below`, a directory above both, also nobody else may be able to put another one in the place of that, or of
    those between. Raises UntrustedFileError, and OSError where it cannot be read.
    """
    directory = _open_trusted_directory(path.parent, below)
    try:
        if stat.S_ISLNK(os.stat(path.name, dir_fd=directory, follow_symlinks=False).st_mode):
            raise UntrustedFileError(path, "it is a symbolic link")
        descriptor = os.open(path.name, _OPEN, dir_fd=directory)
    finally:
        os.close(directory)
    file = open(descriptor, "rb")  # noqa: SIM115  the caller closes it
    try:
        _ensure_our_file(path, os.fstat(descriptor))
    except OSError:
        file.close()
        raise
    return file


def ensure_trusted_directory(path: Path, *, below: Path | None = None) -> None:
    """See that `read_trusted` would read from a directory. Raises the same errors."""
    os.close(_open_trusted_directory(path, below))


def _open_trusted_directory(path: Path, below: Path | None) -> int:
    if below is not None:
        _ensure_way(below)
    if path.is_symlink():
        raise UntrustedFileError(path, "it is a symbolic link")
    descriptor = os.open(path, _OPEN | os.O_DIRECTORY)
    try:
        _ensure_ours(path, os.fstat(descriptor))
    except UntrustedFileError:
        os.close(descriptor)
        raise
    return descriptor


def _ensure_our_file(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no file", str(path))
    _ensure_ours(path, found)


def _ensure_ours(path: Path, found: os.stat_result) -> None:
    _ensure_owner(path, found)
    if found.st_mode & _OTHERS:
        raise UntrustedFileError(path, f"other users may write it (mode {stat.S_IMODE(found.st_mode):04o})")


def _ensure_owner(path: Path, found: os.stat_result) -> None:
    if found.st_uid not in {0, os.geteuid()}:
        raise UntrustedFileError(
            path, f"it belongs to user {found.st_uid}, not to {os.geteuid()}, who runs this, nor to root"
        )


def _ensure_way(path: Path) -> None:
    """See that nobody else can rename what leads to a directory, nor the directory, nor change a link on the way."""
    given, real = path.absolute(), path.resolve()
    for step in dict.fromkeys((*reversed(given.parents), given, *reversed(real.parents), real)):
        found = os.lstat(step)
        _ensure_owner(step, found)
        if stat.S_ISDIR(found.st_mode) and _may_rename(found):
            raise UntrustedFileError(
                step, f"other users may rename what is in it (mode {stat.S_IMODE(found.st_mode):04o}, no sticky bit)"
            )


def _may_rename(found: os.stat_result) -> bool:
    """Whether others may rename the entries of a directory: not where it is sticky, nor those in root's or our group.

    Where each user has a group, whose number is the user's (and the umask 0002), nobody else is in it.
    """
    writers = stat.S_IWOTH if found.st_gid in {0, os.geteuid()} else _OTHERS
    return bool(found.st_mode & writers) and not found.st_mode & stat.S_ISVTX
