"""Whether all kernels of a package are kept on disk, so that to load one compiles nothing, and who is making them."""

import fcntl
import hashlib
import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import Final

from epoch.compiling.standalone_kernel import CHOSEN, files_of, version_of

_CPUINFO: Final = Path("/proc/cpuinfo")
_LOCK: Final = "being-made"


class Completion:
    """What is noted of one package's kernels once all are kept: for its sources of today, this numba and processor.

    It is noted by a file beside them. Where a kernel is missing all the same, whoever loads it compiles it.
    """

    def __init__(self, package: str) -> None:
        self._files = files_of(package)

    def is_noted(self) -> bool:
        """Whether all were kept."""
        return self._files is not None and self._files.read(_file_name()) is not None

    def note(self) -> None:
        """Note that all are kept; where nothing can be written, warn once a process."""
        if self._files is not None:
            self._files.keep(_file_name(), b"")

    def lock(self) -> int:
        """Wait for the one process that may make them; return the locked file's descriptor.

        The lock ends with whoever has that descriptor, however it ends. Raises OSError where nothing can be kept.
        """
        if self._files is None:
            raise OSError("the sources do not lie in directories, so that nothing is kept of their kernels")
        descriptor = self._files.open(_LOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor


@cache
def _file_name() -> str:
    settings = sorted(each for each in os.environ.items() if each[0].startswith("NUMBA_") and each[0] != CHOSEN)
    made_by = [_version(name) for name in ("numba", "llvmlite")], sys.implementation.cache_tag, sys.abiflags
    digest = hashlib.sha256(repr((settings, made_by, _processor())).encode()).hexdigest()
    return f"{digest[:24]}.all"


def _version(package: str) -> str:
    try:
        return version_of(package)
    except FileNotFoundError:
        return ""


def _processor() -> list[str]:
    """Return the processor's name and features as the system lists them: asking LLVM means loading it."""
    try:
        lines = _CPUINFO.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        lines = [platform.processor()]
    kinds = ("model", "flags", "Features", "CPU ", "isa")
    return [platform.machine(), *sorted({line for line in lines if line.startswith(kinds)})]
