"""The checkpoint files of roots, as they are by now: parsed again only once one was written."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS
from logstore.files.root_checkpoints import RootCheckpoints

ROOTS: Final = 32
"""Roots of which this process remembers what it has parsed."""

States = tuple[tuple[int, int, int, int] | None, ...]


def checkpoints_now(root: Path) -> RootCheckpoints:
    """Return what a root's checkpoint files say: with thousands of partitions parsing takes longer than looking at one.

    A broker puts new files in place of old ones, so that each has an inode and a time of its own.
    """
    return _read(root, tuple(_state(root / name) for name in (*OFFSET_CHECKPOINTS, CLEAN_SHUTDOWN_NAME)))


@lru_cache(ROOTS)
def _read(root: Path, _states: States) -> RootCheckpoints:
    return RootCheckpoints.read(root)


def _state(path: Path) -> tuple[int, int, int, int] | None:
    try:
        stat = os.lstat(path)
    except OSError:
        return None
    return stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns
