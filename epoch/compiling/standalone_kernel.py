"""Kernels that run without numba once they are compiled, as to load numba takes a quarter of a second.

    check_batches = StandaloneKernel("logstore.kernels.decode", "check_batches")

What is kept is the object file of the kernel's own function (`object_code`), which is linked and called by ctypes.
Where nothing is kept that fits, numba compiles the kernel as ever. Where machine code came with the installation, that
is called.
"""

import ctypes
import hashlib
import json
import os
import sys
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from epoch.compiling.calling_convention import handed_over, parameters, type_of
from epoch.compiling.fingerprint import fingerprint_of_all
from epoch.compiling.kernel_files import KernelFiles
from epoch.compiling.shipped_code import shipped

CHOSEN: Final = "NUMBA_CACHE_DIR"
"""The setting that says where code is kept."""
_SETTINGS: Final = Path(".numba_config.yaml")
"""A file in the working directory from which numba takes settings, as from the environment."""

Run = Callable[..., Any]
Types = tuple[str, ...]


class StandaloneKernel:
    """A kernel by the names of its module and function, whose code is loaded or compiled at its first call.

    It takes one-dimensional arrays, ints and bools, and returns an int, a bool, or a tuple of ints. All constants that
    are compiled into it are its own top-level package's, or this one's.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name
        self._files = files_of(module.partition(".")[0])
        self._of_numba: Run | None = None
        self._linked: dict[Types, Run] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Do as the kernel does."""
        if self._of_numba is not None:
            return self._of_numba(*arguments)
        types = tuple(map(type_of, arguments))
        run = self._linked.get(types) or self._find(types, arguments)
        return run(*arguments)

    def _find(self, types: Types, arguments: tuple[Any, ...]) -> Run:
        if self._files is None or "" in types or _has_settings() or shipped():
            return self._compiled()
        try:
            name = self._file_name(types)
        except (ImportError, OSError):
            return self._compiled()
        content = self._files.read(name)
        if content is None:
            self._keep(self._files, name, arguments)
        elif "numba" not in sys.modules:
            run = self._linked[types] = self._link(content, arguments)
            return run
        return self._compiled()

    def _compiled(self) -> Run:
        run: Run = getattr(import_module(self._module), self._name)
        self._of_numba = run
        return run

    def _keep(self, files: KernelFiles, name: str, arguments: tuple[Any, ...]) -> None:
        from epoch.compiling.linker import host  # noqa: PLC0415  start-up time: only where kernels are called
        from epoch.compiling.object_code import object_code  # noqa: PLC0415  it needs numba

        made = object_code(self._compiled(), arguments, host())
        if made is not None:
            files.keep(name, json.dumps([made.symbol, made.results]).encode() + b"\n" + made.content)

    def _link(self, content: bytes, arguments: tuple[Any, ...]) -> Run:
        from epoch.compiling.linker import link  # noqa: PLC0415  as above

        head, _, code = content.partition(b"\n")
        symbol, results = json.loads(head)
        places = (ctypes.c_void_p, ctypes.c_void_p)
        function = ctypes.CFUNCTYPE(ctypes.c_int32, *places, *(each.ctype for each in parameters(arguments)))
        return partial(self._run, function(link(code, symbol)), results)

    def _run(self, function: Run, results: int, *arguments: Any) -> Any:
        """Call machine code, of which `results` says what it returns (see `ObjectCode`)."""
        returned = (ctypes.c_int64 * results)() if results else ctypes.c_bool()
        failure = ctypes.c_void_p()
        if function(ctypes.byref(returned), ctypes.byref(failure), *handed_over(arguments)):
            return self._compiled()(*arguments)  # which raises what is wrong
        if isinstance(returned, ctypes.c_bool):
            return returned.value
        return returned[0] if results == 1 else tuple(returned)

    def _file_name(self, types: Types) -> str:
        """Name the file after all that the code depends on beside the sources."""
        from epoch.compiling.linker import host  # noqa: PLC0415  as above

        key = repr((self._module, types, host(), _made_by()))
        digest = hashlib.sha256(key.encode()).hexdigest()
        return f"{self._module.rpartition('.')[2]}.{self._name}-{digest[:24]}.o"


def _has_settings() -> bool:
    """Whether numba may have been configured to compile in another way, or not at all."""
    return _SETTINGS.exists() or any(name.startswith("NUMBA_") and name != CHOSEN for name in os.environ)


@cache
def files_of(package: str) -> KernelFiles | None:
    """Return where code of a top-level package is kept; None where not all sources lie in directories."""
    file = sys.modules[package].__file__
    if file is None or not (Path(file).exists() and Path(__file__).exists()):
        return None
    digest = partial(fingerprint_of_all, package)
    # Not in a directory of `KernelCache`, which is named after other sources.
    return KernelFiles(Path(file), f"{package}.objects", digest, os.environ.get(CHOSEN, ""))


@cache
def _made_by() -> tuple[str, ...]:
    """Return the versions of what compiles.

    Raises ImportError without llvmlite, and OSError where numba's is not known without loading it.
    """
    import llvmlite  # noqa: PLC0415  as above

    made_by = llvmlite.__version__, str(sys.implementation.cache_tag), sys.abiflags
    return version_of("numba"), *made_by


def version_of(package: str) -> str:
    """Return what stands for the version of a package that has it in a `_version.py`, without loading it.

    Raises OSError where that cannot be read.
    """
    found = find_spec(package)
    version = Path(found.origin if found and found.origin else package).with_name("_version.py")
    return hashlib.sha256(version.read_bytes()).hexdigest()
