"""How kernels are compiled: numba without the GIL, cached on disk, recompiled when any source beside them changes.

    @kernel
    def count_zeros(data: NDArray[np.uint8]) -> int: ...

With NUMBA_DISABLE_JIT=1 kernels and their helpers run as plain Python.
"""

import hashlib
import inspect
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numba import config, njit, types
from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.runtime.nrt import rtsys
from numba.extending import lower_builtin, type_callable

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

Function = TypeVar("Function", bound=Callable[..., Any])
Array = TypeVar("Array", bound=np.ndarray[Any, Any])


def kernel(function: Function) -> Function:
    """Compile a module-level function on its first call and keep the machine code on disk.

    The code is kept where numba keeps it: NUMBA_CACHE_DIR, else `__pycache__` beside the source, else the user's
    cache directory. Where none of them can be written it is compiled anew in each process.
    """
    if config.DISABLE_JIT:  # type: ignore[attr-defined]  # set while numba is imported
        # Machine integers wrap around silently; NumPy's scalars, which stand in for them here, would warn.
        return np.errstate(over="ignore")(function)
    dispatcher: Any = njit(nogil=True, error_model="numpy", boundscheck=False)(function)
    with suppress(RuntimeError):  # raised where numba finds no directory that can be written
        dispatcher._cache = KernelCache(function)  # noqa: SLF001  what numba's cache=True does with its own class
    return cast("Function", dispatcher)


def inlined(function: Function) -> Function:
    """Compile a helper into each kernel that calls it. LLVM inlines it, which costs half of numba's own inlining."""
    return cast("Function", njit(nogil=True, error_model="numpy", boundscheck=False, forceinline=True)(function))


def borrowed(array: Array) -> Array:
    """View an array of the caller's without counting references to it; for kernels that hand it to helpers.

    The caller holds the array as long as the kernel runs. numba counts even so, atomically and at each call of a
    helper that returns in more than one place: ten times the cost of what such a helper does.
    """
    return array


@type_callable(borrowed)
def _type_of_borrowed(_context: Any) -> Callable[[Any], Any]:
    return lambda array: array if isinstance(array, types.Array) else None


@lower_builtin(borrowed, types.Array)  # type: ignore[no-untyped-call,untyped-decorator]
def _compile_borrowed(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    view = context.make_array(signature.return_type)(context, builder, arguments[0])
    view.meminfo = view.meminfo.type(None)
    view.parent = view.parent.type(None)
    return view._getvalue()  # noqa: SLF001  numba's name for it


class KernelCache(FunctionCache):
    """numba's disk cache of one kernel, stale as soon as any source file of the kernel's package changes.

    numba itself compares only the file that defines the kernel, and would go on using machine code into which
    older helpers of neighbouring modules were inlined.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)  # type: ignore[no-untyped-call]
        package = Path(inspect.getfile(function)).parent
        if package.is_dir():
            stamp = fingerprint(package)
        else:
            stamp = fingerprint(_in_archive(function.__module__))  # type: ignore[arg-type]  # its classes can be hashed
            self._share(stamp)
        self._cache_file = IndexDataCacheFile(  # type: ignore[no-untyped-call]
            cache_path=self.cache_path, filename_base=self._impl.filename_base, source_stamp=stamp
        )

    def _share(self, stamp: str) -> None:
        """Keep the code of archived sources by their content: clusters unpack the same archive in ever new places."""
        locator = self._impl.locator
        place = Path(locator.get_cache_path())
        locator._cache_path = self._cache_path = str(place.with_name(f"{place.name.partition('_')[0]}_{stamp}"))  # noqa: SLF001  numba offers no other way
        try:
            locator.ensure_cache_path()
        except OSError as error:
            raise RuntimeError("no directory for compiled kernels can be written") from error

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Load the machine code without first loading all that compiling needs, which numba does: 0.1 s a process.

        Whatever has to be compiled after all makes numba load it then.
        """
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)  # type: ignore[no-untyped-call]


def _name(source: "Traversable") -> str:
    return source.name


def _in_archive(module: str) -> "Traversable":
    """Return the package of a module that was imported from an archive."""
    from importlib.resources import files  # noqa: PLC0415  only where a cluster was sent the packages

    return files(module.rpartition(".")[0])


@cache
def fingerprint(package: "Traversable") -> str:
    """Hash all sources of a package of kernels, and this file with them."""
    own = Path(__file__)
    sources = [source for source in package.iterdir() if source.name.endswith(".py")]
    digest = hashlib.sha256()
    for source in (own if own.exists() else _in_archive(__name__) / own.name, *sorted(sources, key=_name)):
        content = source.read_bytes()
        digest.update(f"{source.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()
