"""A file or directory that somebody has named, of which there is nothing until it is whole."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from epoch.base.resource_limits import OUT_OF_SPACE
from epoch.filesystem import REAL, new_part

_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@contextmanager
def new_target(path: Path, what: str, refuse: Callable[[Path, str], Exception]) -> Iterator[Path]:
    """Give the path of what is to be made and written, which takes the name `path` once the block is over.

    Until then it is hidden, and its name ends in `.part`. `what` is what it is called, such as "a directory". Raises
    what `refuse` makes of the path and a reason where `path` has come to exist, cannot be made there, or the disk is
    full, and OSError: then, or where the block raises, nothing of it is left.
    """
    part = new_part(path)
    try:
        yield part
        if os.path.lexists(path):
            raise refuse(path, f"exists; name {what} that does not exist yet")
        if part.is_dir():
            REAL.fsync_directory(part)
        REAL.rename(part, path)
        REAL.fsync_directory(path.absolute().parent)
    except OSError as error:
        if error.errno not in OUT_OF_SPACE:
            _name(error, part, path)
            if error.errno in _REFUSED and error.filename == os.fspath(path):
                place = path.absolute().parent
                raise refuse(path, f"cannot be made in {place}: {error.strerror}; name {what} elsewhere") from error
            raise
        advice = f"nothing of it is left; make space, or name {what} on another disk, and run it again"
        raise refuse(path, f"the disk is full: {advice}") from error
    finally:
        _remove(part)


@contextmanager
def replaced_target(path: Path) -> Iterator[Path]:
    """Give the path of what is to be made and written, which takes the place of `path` once the block is over.

    A link stays one, and who may read a file goes on to. What is no file or directory, such as a pipe, or lies where
    nothing can be made, is written itself. Raises OSError: then, or where the block raises, nothing of the new one is
    left, and what was there before is.
    """
    if not is_replaced(path):
        yield path
        return
    target = path.resolve()
    part = new_part(target)
    try:
        if target.is_file():
            part.touch(0o600)  # before anything is in it
            part.chmod(target.stat().st_mode)
        yield part
        _flush(part)
        REAL.rename(part, target)
        REAL.fsync_directory(target.parent)
    except OSError as error:
        _name(error, part, path)
        raise
    finally:
        _remove(part)


def is_replaced(path: Path) -> bool:
    """Whether what is written to a path is written aside, as it can be in the place of a file, directory or nothing."""
    is_place = not path.exists() or path.is_file() or path.is_dir()
    return is_place and os.access(path.resolve().parent, os.W_OK)


def _name(error: OSError, part: Path, path: Path) -> None:
    """Give an error the name that somebody gave, in place of the hidden one, which is gone when it is read."""
    if error.filename is None:
        return
    found, hidden = Path(os.fsdecode(error.filename)).absolute(), part.absolute()
    if found.is_relative_to(hidden):
        error.filename = os.fspath(path / found.relative_to(hidden))


def _flush(part: Path) -> None:
    if part.is_dir():
        REAL.fsync_directory(part)
        return
    with open(part, "rb") as file:
        REAL.fsync(file.fileno())


def _remove(part: Path) -> None:
    if part.is_dir():
        REAL.remove_tree(part)
    else:
        part.unlink(missing_ok=True)
