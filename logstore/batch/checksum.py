"""CRC-32C of a few bytes, by the crc32c package. Kernels have their own.

The package is loaded on first use: it looks for its own version among all that is installed, which takes longer than
what a command on a large log imports besides.
"""

from collections.abc import Callable
from functools import cache


def crc32c(data: bytes | bytearray | memoryview) -> int:
    """Return the checksum of contiguous bytes."""
    return _package()(data)


@cache
def _package() -> Callable[[bytes | bytearray | memoryview], int]:
    from crc32c import crc32c as function  # noqa: PLC0415  start-up time

    return function
