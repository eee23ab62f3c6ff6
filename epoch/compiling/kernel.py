"""How kernels are compiled: numba without the GIL, cached on disk, recompiled when any source beside them changes.

    @kernel
    def count_zeros(data: NDArray[np.uint8]) -> int: ...

Where machine code came with the installation (`shipped_code`) nothing is compiled, and numba is not loaded. Without
either, and with NUMBA_DISABLE_JIT=1, kernels and their helpers run as plain Python.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar, cast

import numpy as np

from epoch.compiling.shipped_code import Code, shipped, takes

Function = TypeVar("Function", bound=Callable[..., Any])
Array = TypeVar("Array", bound=np.ndarray[Any, Any])


def _settings() -> Any:
    """Return numba's; None where it is not installed, or not needed."""
    if shipped():
        return None
    try:
        from numba import config
    except ModuleNotFoundError:
        return None
    return config


_SETTINGS: Final = _settings()
COMPILES: Final[bool] = _SETTINGS is not None and not _SETTINGS.DISABLE_JIT
"""Whether kernels are compiled; what tells numba how to is imported only then."""
HAS_CODE: Final = _SETTINGS is not None or bool(shipped())
"""Whether there is machine code, or what makes it."""


def kernel(function: Function) -> Function:
    """Compile a module-level function on its first call and keep the machine code on disk.

    `KernelCache` says where. Where nothing can be written it is compiled anew in each process.
    """
    return _compiled(function, nogil=True)


def brief_kernel(function: Function) -> Function:
    """Compile a function of a microsecond: it keeps the GIL, and may look at arrays that other threads append to."""
    return _compiled(function, nogil=False)


def _compiled(function: Function, *, nogil: bool) -> Function:
    if not COMPILES:
        # Machine integers wrap around silently; NumPy's scalars, which stand in for them here, would warn.
        plain = np.errstate(over="ignore")(function)
        codes = shipped().get(_name(function))
        return plain if codes is None else cast("Function", _first_that_fits(codes, plain))
    from numba import njit

    from epoch.compiling.kernel_cache import KernelCache

    dispatcher: Any = njit(nogil=nogil, error_model="numpy", boundscheck=False)(function)
    dispatcher._cache = KernelCache(function)  # noqa: SLF001  what numba's cache=True does with its own class
    dispatcher.compile = _in_a_directory(dispatcher.compile, _name(function))
    return cast("Function", dispatcher)


def _in_a_directory(compile_: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Compile, and blame nobody's files where the working directory is gone, which numba names in messages of its own.

    Whoever reads a file with a kernel would take the error for the file's.
    """

    @wraps(compile_)
    def run(signature: Any) -> Any:
        try:
            return compile_(signature)
        except FileNotFoundError as error:
            if _has_directory():
                raise
            raise RuntimeError(
                f"{name} cannot be compiled: the working directory of this process has been removed; start it in one "
                "that exists, or run `epochlog warm` before"
            ) from error

    return run


def _has_directory() -> bool:
    try:
        os.getcwd()  # noqa: PTH109  as numba does
    except FileNotFoundError:
        return False
    return True


def _name(function: Callable[..., Any]) -> str:
    return f"{function.__module__}.{function.__name__}"


def _first_that_fits(codes: list[Code], plain: Code) -> Code:
    """Call shipped machine code, and what arguments of other types are given to as plain Python."""

    @wraps(plain)
    def run(*arguments: Any) -> Any:
        for code in codes:
            try:
                return code(*arguments)
            except TypeError:
                continue
        return plain(*arguments)

    return run


def machine_code(function: Function, *arguments: object) -> Function:
    """Return a kernel as compiled for the types of these arguments, at less than half the cost of a short call.

    A kernel looks at the type of each argument at each call; here nobody looks. All calls must have arguments of these
    types, or other buffers in place of buffers: contiguous, and of elements of the same size.
    """
    if not COMPILES:
        fitting = [code for code in shipped().get(_name(function), []) if takes(code, arguments)]
        return cast("Function", fitting[0]) if fitting else function
    from numba import typeof

    dispatcher: Any = function
    return cast("Function", dispatcher.compile(tuple(map(typeof, arguments))))


def inlined(function: Function) -> Function:
    """Compile a helper into each kernel that calls it. LLVM inlines it, which costs half of numba's own inlining."""
    if not COMPILES:
        return function
    from numba import njit

    return cast("Function", njit(nogil=True, error_model="numpy", boundscheck=False, forceinline=True)(function))


def borrowed(array: Array) -> Array:
    """View an array of the caller's without counting references to it; for kernels that hand it to helpers.

    The caller holds the array as long as the kernel runs. numba counts even so, atomically and at each call of a
    helper that returns in more than one place: ten times the cost of what such a helper does.
    """
    return array


def _lower_borrowed() -> None:
    """Define how numba compiles it."""
    from numba import types
    from numba.extending import lower_builtin, type_callable

    @type_callable(borrowed)
    def _type(_context: Any) -> Callable[[Any], Any]:
        return lambda array: array if isinstance(array, types.Array) else None

    @lower_builtin(borrowed, types.Array)  # type: ignore[no-untyped-call,untyped-decorator]
    def _compile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.return_type)(context, builder, arguments[0])
        view.meminfo = view.meminfo.type(None)
        view.parent = view.parent.type(None)
        return view._getvalue()  # noqa: SLF001  numba's name for it


if COMPILES:
    _lower_borrowed()
