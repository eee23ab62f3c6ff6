"""What numba keeps of a kernel on disk, from one process to the next: see `KernelFiles`.

A file holds one kernel as compiled for one signature and one kind of processor.
"""

import hashlib
import pickle
import sys
from collections.abc import Callable
from functools import partial
from inspect import getfile
from pathlib import Path
from typing import Any

import numba
from numba import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps

from epoch.compiling.fingerprint import constants, fingerprint
from epoch.compiling.kernel_files import KernelFiles


class KernelCache(NullCache):
    """The machine code of one kernel on disk.

    numba's own cache has an index beside the code, which is written first: whoever reads or dies in between takes old
    machine code for new. Of two processes that compile different signatures at once it keeps one under the other's
    name. It fails on a torn file and on a full disk, and does not look where it cannot write.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        package = function.__module__.rpartition(".")[0]
        chosen: str = config.CACHE_DIR  # type: ignore[attr-defined]  # set while numba is imported
        self._files = KernelFiles(Path(getfile(function)), package, partial(fingerprint, function), chosen)

    @property
    def cache_path(self) -> str:
        """The first of the directories: numba's name for it."""
        return str(self._files.places[0].path / self._files.directory_name)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the kernel as compiled before, or None.

        numba would first load all that compiling needs, 0.1 s a process. Whatever has to be compiled after all makes
        it do so then.
        """
        rtsys.initialize(target_context)
        content = self._files.read(self._file_name(signature, target_context.codegen()))
        if content is None:
            return None
        rebuild: Any = CompileResult._rebuild  # noqa: SLF001  numba's name for it
        return rebuild(target_context, *pickle.loads(content))  # noqa: S301  what `save_overload` wrote

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep a kernel that was just compiled; where no directory can be written, warn once a process."""
        if compiled.library.has_dynamic_globals:  # addresses of this process are in it
            return
        content: bytes = dumps(compiled._reduce())  # type: ignore[no-untyped-call]  # noqa: SLF001  as above
        self._files.keep(self._file_name(signature, compiled.codegen), content)

    def _file_name(self, signature: Any, codegen: Any) -> str:
        """Name the file after all that the code depends on beside the sources."""
        function = self._function
        made_by = (numba.__version__, sys.implementation.cache_tag, sys.abiflags)
        line = function.__code__.co_firstlineno
        key = repr((signature, codegen.magic_tuple(), line, constants(function), made_by))
        digest = hashlib.sha256(key.encode()).hexdigest()
        return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}-{digest[:24]}.nbc"
