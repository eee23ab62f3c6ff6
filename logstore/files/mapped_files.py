"""The files that this process has mapped: none is truncated while a view of it is held.

A system ends a process that reads a mapping beyond its file's end (SIGBUS), and lets it see what takes the place of
bytes that were cut off. So whoever cuts a file asks here first. Mappings are tracked by file (device and inode), not by
the object that made them: they outlive logs that are closed, and files have several names. Mappings of other
processes are not known.
"""

import ctypes
import errno
import mmap
import os
from io import FileIO
from pathlib import Path
from threading import RLock
from typing import Any, Final
from weakref import ref

from epoch.base.resource_limits import NamingLimits, refuse_beyond_limit
from epoch.filesystem import FileSystem
from logstore.errors import ReentrantCallError

_COPY_BYTES: Final = 1 << 20

_libc: Final = ctypes.CDLL(None, use_errno=True)
_mmap: Final = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
_munmap: Final = _libc.munmap
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED: Final = ctypes.c_void_p(-1).value

_held: Final[dict[int, tuple[tuple[int, int], int, "ref[Any]"]]] = {}
"""By the owner's id: the file, how many of its bytes are mapped, and the owner, which the views keep alive."""
_lock = RLock()
"""Held while a file is mapped, and from the question whether one is to its cut.

A signal handler may take it again: to map a file while its thread maps one, and not while its thread cuts one.
"""
_is_cutting = False
"""Whether the holder of the lock is between that question and the cut."""


class Mapping:
    """A read-only mapping that ends with the last view of it, and keeps no descriptor meanwhile.

    `mmap.mmap` keeps one up to Python 3.12, and readers that hold many views would use up what the process may have.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_address", "_size")

    def __init__(self, address: int, size: int) -> None:
        """Own memory that was mapped."""
        self._address = address
        self._size = size
        self.__array_interface__: dict[str, object] = {
            "data": (address, True),
            "shape": (size,),
            "typestr": "|u1",
            "version": 3,
        }

    def __del__(self, unmap: Any = _munmap) -> None:
        """Unmap: no view is left."""
        unmap(self._address, self._size)


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
            mapping = Mapping(_map(descriptor, size, path), size)
        finally:
            os.close(descriptor)
        _hold(mapping, stat, size)
    return np.asarray(mapping).data


def map_whole_file(path: Path) -> memoryview:
    """Map a file as it is now; an empty one gives no bytes. Raises OSError, and ReentrantCallError as `map_file`."""
    with _lock, NamingLimits(path), open(path, "rb", buffering=0) as file:
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


def _map(descriptor: int, size: int, path: Path) -> int:
    address: int = _mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        number = ctypes.get_errno()
        error = OSError(number, os.strerror(number), str(path))
        refuse_beyond_limit(error, path)
        raise error
    return address


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
