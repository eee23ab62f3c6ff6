"""Memory that shows a file, and keeps no descriptor of it."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import TYPE_CHECKING, Any, Final

from epoch.base.resource_limits import refuse_beyond_limit

if TYPE_CHECKING:
    from pathlib import Path

_libc: Final = ctypes.CDLL(None, use_errno=True)
_mmap: Final = _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64)
_munmap: Final = _libc.munmap
_munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_FAILED: Final = ctypes.c_void_p(-1).value


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


def map_descriptor(descriptor: int, size: int, path: Path) -> Mapping:
    """Map the first `size` bytes of an open file, to be read. Raises OSError."""
    address: int = _mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        number = ctypes.get_errno()
        error = OSError(number, os.strerror(number), str(path))
        refuse_beyond_limit(error, path)
        raise error
    return Mapping(address, size)
