"""Copy a partition directory or a whole log.dirs root, to repair the copy.

Blocks are shared with the original where the file system can (a reflink: both may change and neither sees it). Hard
links never: the copy's files are truncated and appended to in place.
"""

import os
from collections.abc import Callable, Container, Iterator
from pathlib import Path

from epoch.filesystem import REAL, FileSystem
from logstore.files.directory_lock import LOCK_NAME

OnBytes = Callable[[int], object]


def copy_directory(
    source: Path,
    target: Path,
    *,
    without: Container[Path] = (),
    filesystem: FileSystem = REAL,
    progress: OnBytes = lambda _: None,
) -> None:
    """Copy all regular files below `source` into `target`, which must not exist.

    Symbolic links and the directories in `without` are left out. `progress` is called with the number of bytes that
    were copied since the last call. The copy is not flushed: the caller that repairs it does that. Raises OSError;
    FileExistsError if `target` already exists.
    """
    if target.exists():
        raise FileExistsError(f"{target} already exists; name a directory that does not exist yet")
    target.parent.mkdir(parents=True, exist_ok=True)
    filesystem.mkdir(target)
    for path in _below(source, without):
        copy = target / path.relative_to(source)
        if path.is_dir():
            filesystem.mkdir(copy)
        elif path.name != LOCK_NAME:
            filesystem.copy(path, copy)
            progress(copy.stat().st_size)


def bytes_to_copy(source: Path, *, without: Container[Path] = ()) -> int:
    """Add up the sizes of the files that `copy_directory` copies."""
    return sum(path.stat().st_size for path in _below(source, without) if not path.is_dir())


def _below(directory: Path, without: Container[Path]) -> Iterator[Path]:
    for entry in sorted(os.scandir(directory), key=lambda entry: entry.name):
        path = Path(entry.path)
        if entry.is_symlink() or path in without:
            continue
        if entry.is_dir():
            yield path
            yield from _below(path, without)
        elif entry.is_file():
            yield path
