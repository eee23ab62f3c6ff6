"""Where a repaired copy goes: a new directory, of which there is nothing until it is whole."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from replication.base.new_target import new_target
from replication.copies.repair.errors import RepairTargetError


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
    with new_target(path, "a directory", RepairTargetError) as part:
        yield part
