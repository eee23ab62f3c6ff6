"""Bytes that end where the process may read no further: a kernel that reads beyond them ends the test run."""

import ctypes
import mmap

import numpy as np
from numpy.typing import NDArray

NO_ACCESS = 0
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


def guarded(data: bytes) -> NDArray[np.uint8]:
    """Copy `data` right before a page that cannot be read."""
    pages = -(-len(data) // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 1) * mmap.PAGESIZE)
    whole = np.frombuffer(memory, np.uint8)
    end = pages * mmap.PAGESIZE
    array = whole[end - len(data) : end]
    array[:] = np.frombuffer(data, np.uint8)
    if _LIBC.mprotect(whole.ctypes.data + end, mmap.PAGESIZE, NO_ACCESS) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")
    array.flags.writeable = False
    return array
