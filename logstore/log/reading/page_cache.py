"""Whether what is mapped is in memory, and getting it there while other threads run."""

import ctypes
import mmap
import zlib
from typing import Any, Final

_mincore: Final = ctypes.CDLL(None).mincore
_mincore.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p)


def is_in_memory(data: memoryview) -> bool:
    """Whether nothing has to be read from a disk to read these bytes; True where the system does not say."""
    if not data:
        return True
    from numpy import frombuffer, uint8  # noqa: PLC0415  start-up time

    array: Any = frombuffer(data, uint8)
    first: int = array.ctypes.data
    start = first // mmap.PAGESIZE * mmap.PAGESIZE
    pages = ctypes.create_string_buffer(-(-(first + len(data) - start) // mmap.PAGESIZE))
    if _mincore(start, first + len(data) - start, pages):
        return True
    return all(page & 1 for page in pages.raw)


def load(data: memoryview) -> None:
    """Read bytes into memory. Of more than a few thousand no other thread waits for it."""
    zlib.crc32(data)
