"""CRC-32C of bytes, by the crc32c package. Kernels have their own.

Only the package's extension module is loaded: the package itself looks for its own version among all that is
installed, which takes as long as all else that a short program imports.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import Final, cast

Checksum = Callable[[bytes | bytearray | memoryview], int]


def _load() -> Checksum:
    package = find_spec("crc32c")
    found = PathFinder.find_spec("crc32c._crc32c", package.submodule_search_locations) if package else None
    if found is None or found.loader is None:  # another release, or an archive
        return cast("Checksum", import_module("crc32c").crc32c)
    module = module_from_spec(found)
    found.loader.exec_module(module)
    return cast("Checksum", module.crc32c)


crc32c: Final = _load()
"""The checksum of contiguous bytes."""
