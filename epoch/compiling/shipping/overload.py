"""Kernels as numba has compiled them, for each kind of arguments that Python can hand over."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from numba import types
from numba.core.types.common import Buffer

from epoch.compiling.kernel_cache import KernelCache

_SIGNED, _UNSIGNED = ("long long", "L"), ("unsigned long long", "K")
_TAKEN: Final = {types.int64: _SIGNED, types.uint64: _UNSIGNED, types.boolean: ("char", "p")}
_RETURNED: Final = {types.int32: ("int", "i"), types.int64: _SIGNED, types.uint64: _UNSIGNED}


class Value(NamedTuple):
    """What is taken or returned."""

    ctype: str
    """C's name for its type; that of an array is not used."""
    letters: str
    """Of an array, those that buffers have for its elements; of a number, the one by which Python converts it."""
    size: int = 0
    """Of an array, bytes of an element; else 0."""
    is_written: bool = False


class Overload(NamedTuple):
    """A kernel as compiled for arguments of certain kinds."""

    name: str
    symbol: str
    taken: tuple[Value, ...]
    returned: tuple[Value, ...]
    is_tuple: bool
    keeps_gil: bool
    library: Any
    """numba's, with the code of all that it calls."""


def kernels_of(packages: Iterable[str]) -> Iterator[Any]:
    """Yield all kernels of these packages' modules, as far as they are imported."""
    for module_name, module in sorted(sys.modules.items()):
        if module_name.partition(".")[0] in packages:
            for key, value in list(vars(module).items()):
                # By another name it is some other module's.
                if isinstance(getattr(value, "_cache", None), KernelCache) and name_of(value) == f"{module_name}.{key}":
                    yield value


def name_of(kernel: Any) -> str:
    """Return a kernel's name with its module's."""
    return f"{kernel.py_func.__module__}.{kernel.py_func.__name__}"


def overloads_of(kernel: Any) -> Iterator[Overload]:
    """Yield one for each kind of arguments; of two that differ in what may be written, which has the same code, one."""
    chosen: dict[Any, Overload] = {}
    for signature, compiled in kernel.overloads.items():
        taken = [value for each in signature if (value := _taken(each)) is not None]
        returned = _returned(compiled.signature.return_type)
        kind = tuple((each.letters, each.size) for each in taken)
        if len(taken) < len(signature) or returned is None:
            continue
        if kind in chosen and _writes(chosen[kind].taken) <= _writes(taken):
            continue
        chosen[kind] = Overload(
            name_of(kernel),
            compiled.fndesc.llvm_func_name,
            tuple(taken),
            returned,
            isinstance(compiled.signature.return_type, types.BaseTuple),
            not kernel.targetoptions["nogil"],
            compiled.library,
        )
    yield from chosen.values()


def _writes(taken: Iterable[Value]) -> int:
    return sum(each.is_written for each in taken)


def _taken(given: Any) -> Value | None:
    """Return how an argument is taken; None where Python cannot hand it over, as one of 32 bits."""
    if isinstance(given, Buffer) and given.ndim == 1 and given.layout == "C":
        return Value("", *_element(given.dtype), bool(given.mutable))
    return Value(*_TAKEN[given]) if given in _TAKEN else None


def _element(dtype: Any) -> tuple[str, int]:
    if dtype == types.boolean:
        return "?", 1
    letters = {8: "b", 16: "h", 32: "il", 64: "lq"}[dtype.bitwidth]
    return letters if dtype.signed else letters.upper(), dtype.bitwidth // 8


def _returned(given: Any) -> tuple[Value, ...] | None:
    """Return the values that a kernel returns: none of None, several of a tuple; None where C has no such type."""
    if given == types.none:
        return ()
    values = []
    for each in getattr(given, "types", [given]):
        if isinstance(each, types.Boolean | types.BooleanLiteral):
            values.append(Value("char", "N"))
        elif each in _RETURNED:
            values.append(Value(*_RETURNED[each]))
        else:
            return None
    return tuple(values)
