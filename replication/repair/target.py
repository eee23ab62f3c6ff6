"""Where a repaired copy goes: a new directory, of which there is nothing until it is whole."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from epoch.filesystem import REAL, new_part
from epoch.resource_limits import OUT_OF_SPACE
from replication.repair.errors import RepairTargetError


def ensure_new(path: Path, sources: Iterable[Path] = ()) -> None:
    """Raise RepairTargetError unless a directory of that name can be begun, outside of all that is only read."""
    for source in sources:
        if path.resolve().is_relative_to(source.resolve()):
            raise RepairTargetError(path, f"lies in {source}, which is only read; name a directory outside of it")
    if os.path.lexists(path):
        raise RepairTargetError(path, "already exists; name a directory that does not exist yet")
    if not path.absolute().parent.is_dir():
        raise RepairTargetError(path, "the directory that it should be in does not exist; make it first")


@contextmanager
def open_target(path: Path, sources: Iterable[Path] = ()) -> Iterator[Path]:
    """Give the path of a directory to make and write to, which takes the name `path` once the block is over.

    Until then it is hidden, and its name ends in `.part`. Raises RepairTargetError where `path` exists or lies in one
    of `sources`, or the disk is full, and OSError: then, or where the block raises, nothing of it is left.
    """
    ensure_new(path, sources)
    part = new_part(path)
    try:
        yield part
        if os.path.lexists(path):
            raise RepairTargetError(path, "exists by now; name a directory that does not exist yet")
        REAL.fsync_directory(part)
        REAL.rename(part, path)
        REAL.fsync_directory(path.absolute().parent)
    except OSError as error:
        if error.errno not in OUT_OF_SPACE:
            raise
        advice = "nothing of it is left; make space, or name a directory on another disk, and run it again"
        raise RepairTargetError(path, f"the disk is full: {advice}") from error
    finally:
        if part.is_dir():
            REAL.remove_tree(part)
