"""The files that this process has mapped: none is truncated while a view of it is held.

A system ends a process that reads a mapping beyond its file's end (SIGBUS), and lets it see what takes the place of
bytes that were cut off. So whoever cuts a file asks here first. Mappings are tracked by file (device and inode), not by
the object that made them: they outlive logs that are closed, and files have several names. Mappings of other
processes are not known.
"""

from __future__ import annotations

import errno
import mmap
import os
from stat import S_ISREG
from threading import RLock
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from epoch import base
from epoch.base.resource_limits import NamingLimits, refuse_beyond_limit
from logstore.errors import ReentrantCallError

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

    from epoch.filesystem import FileSystem

_COPY_BYTES: Final = 1 << 20

_held: Final[dict[int, tuple[tuple[int, int], int, ref[Any]]]] = {}
"""By the owner's id: the file, how many of its bytes are mapped, and the owner, which the views keep alive."""
_lock = RLock()
"""Held while a file is mapped, and from the question whether one is to its cut.

A signal handler may take it again: to map a file while its thread maps one, and not while its thread cuts one.
"""
_is_cutting = False
"""Whether the holder of the lock is between that question and the cut."""


def map_file(path: Path, size: int) -> memoryview:
    """Map the first `size` bytes of a file, which are more than none, and return them.

    Raises OSError, with EIO where the file is shorter; ReentrantCallError in a signal handler within a cut.
    """
    import numpy as np  # noqa: PLC0415  plain readers do without

    with _lock, NamingLimits(path):
        _refuse_within_a_cut(path)
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            stat = os.fstat(descriptor)
            if stat.st_size < size:
                what = (
                    f"{size:,} bytes were written, and the file has {stat.st_size:,}: another process has truncated it"
                )
                raise OSError(errno.EIO, what, str(path))
            mapping = base.mapping.map_descriptor(descriptor, size, path)
        finally:
            os.close(descriptor)
        _hold(mapping, stat, size)
    return np.asarray(mapping).data


def open_regular(path: Path) -> FileIO:
    """Open a file to be read; for a pipe nobody waits. Raises OSError, with EINVAL for what is no regular file."""
    file = open(path, "rb", buffering=0, opener=_open_at_once)  # noqa: SIM115  the caller closes it
    if not S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def map_whole_file(path: Path) -> memoryview:
    """Map a file as it is now; an empty one gives no bytes. Raises what `open_regular` and `map_file` raise."""
    with _lock, NamingLimits(path), open_regular(path) as file:
        return map_open_file(file, path)


def map_open_file(file: FileIO, path: Path) -> memoryview:
    """Map what was opened as `path`, as `map_whole_file` does, wherever the name leads by now."""
    with _lock, NamingLimits(path):
        _refuse_within_a_cut(path)
        try:
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:  # an empty file cannot be mapped
            return memoryview(b"")
        except OSError as error:
            refuse_beyond_limit(error, path)
            raise
        _hold(mapping, os.fstat(file.fileno()), len(mapping))
    return memoryview(mapping)


def cut_file(filesystem: FileSystem, path: Path, size: int) -> None:
    """Cut a file to its first `size` bytes; where a view reaches further, a copy of them takes the file's place.

    Descriptors that are open lead to the old file then: close them before. Raises what `map_file` raises.
    """
    global _is_cutting  # noqa: PLW0603  the lock's holder is told
    with _lock:
        _refuse_within_a_cut(path)
        try:
            _is_cutting = True
            if not _reaches_beyond(path, size):
                filesystem.truncate(path, size)
                return
        finally:
            _is_cutting = False
    _replace_by_copy(filesystem, path, size)


def begin_file(filesystem: FileSystem, path: Path) -> int:
    """Open a file that is to be empty; one that is still mapped gives up its name. Return its descriptor."""
    global _is_cutting  # noqa: PLW0603  as above
    with _lock:
        _refuse_within_a_cut(path)
        try:
            _is_cutting = True
            if path.exists() and _reaches_beyond(path, 0):
                filesystem.unlink(path)
            return filesystem.open(path, truncate=True)
        finally:
            _is_cutting = False


def _refuse_within_a_cut(path: Path) -> None:
    if _is_cutting:
        raise ReentrantCallError(
            "this thread is just cutting a file, and none is mapped or cut meanwhile",
            file=path,
            advice="read again when the signal handler has returned",
        )


def _hold(owner: object, stat: os.stat_result, size: int) -> None:
    key = id(owner)
    # Called before the id can be another's.
    _held[key] = (stat.st_dev, stat.st_ino), size, ref(owner, lambda _: _held.pop(key, None))


def _reaches_beyond(path: Path, size: int) -> bool:
    stat = path.stat()
    file = stat.st_dev, stat.st_ino
    return any(held == file and end > size and owner() is not None for held, end, owner in list(_held.values()))


def _replace_by_copy(filesystem: FileSystem, path: Path, size: int) -> None:
    copy = path.with_name(f"{path.name}.tmp")
    descriptor = filesystem.open(copy, truncate=True)
    try:
        with open(path, "rb") as file:
            for start in range(0, size, _COPY_BYTES):
                filesystem.write(descriptor, file.read(min(_COPY_BYTES, size - start)))
        filesystem.fsync(descriptor)
    finally:
        filesystem.close(descriptor)
    filesystem.rename(copy, path)
    filesystem.fsync_directory(path.parent)


def _after_fork_in_child() -> None:
    global _lock, _is_cutting  # the thread that holds it is not in the child
    _lock, _is_cutting = RLock(), False


os.register_at_fork(after_in_child=_after_fork_in_child)
