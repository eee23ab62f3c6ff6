"""How numba's machine code takes its arguments, as far as kernels are called without numba.

A number is handed over as such. Of a one-dimensional array it is who counts references to its memory and Python's
object, neither of which whoever calls from here has, how many elements of how many bytes there are, the address, the
shape, and the stride.
"""

import ctypes
from typing import Any, Final, NamedTuple

import numpy as np

_INT64: Final = range(-(2**63), 2**63)


class Parameter(NamedTuple):
    """One value that is handed over: LLVM's name for its type, and ctypes'."""

    llvm: str
    ctype: Any


_POINTER, _NUMBER = Parameter("ptr", ctypes.c_void_p), Parameter("i64", ctypes.c_int64)
_BOOL: Final = Parameter("i8", ctypes.c_bool)
_ARRAY: Final = (_POINTER, _POINTER, _NUMBER, _NUMBER, _POINTER, _NUMBER, _NUMBER)


def type_of(argument: Any) -> str:
    """Return an argument's type as far as machine code depends on it; empty if it cannot be passed from here."""
    if isinstance(argument, np.ndarray):
        flags = argument.flags
        is_plain = argument.ndim == 1 and flags.c_contiguous and flags.aligned
        return f"{argument.dtype.str} {flags.writeable}" if is_plain else ""
    if isinstance(argument, bool):
        return "bool"
    return "int" if type(argument) is int and argument in _INT64 else ""


def parameters(arguments: tuple[Any, ...]) -> list[Parameter]:
    """Return the parameters that the machine code for such arguments takes."""
    return [each for argument in arguments for each in _parameters(argument)]


def handed_over(arguments: tuple[Any, ...]) -> list[Any]:
    """Lay arguments out as `parameters` says."""
    return [each for argument in arguments for each in _values(argument)]


def _parameters(argument: Any) -> tuple[Parameter, ...]:
    if isinstance(argument, np.ndarray):
        return _ARRAY
    return (_BOOL if isinstance(argument, bool) else _NUMBER,)


def _values(argument: Any) -> tuple[Any, ...]:
    if not isinstance(argument, np.ndarray):
        return (argument,)
    return None, None, argument.size, argument.itemsize, argument.ctypes.data, argument.size, argument.strides[0]
