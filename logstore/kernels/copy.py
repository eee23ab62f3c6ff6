"""Copy bytes between arrays as C does: too short for a loop to pay, too many for slices."""

from collections.abc import Callable
from typing import Any

from epoch.compiling.kernel import COMPILES
from logstore.kernels.bytes import Data


def copy(target: Data, at: int, source: Data, start: int, length: int) -> None:
    """Copy `length` bytes of `source` from `start` on to `at` in `target`; the caller has checked all bounds."""
    target[at : at + length] = source[start : start + length]


def _lower() -> None:
    """Define how numba compiles it."""
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    @type_callable(copy)
    def _type(_context: Any) -> Callable[..., Any]:
        return lambda target, at, source, start, length: types.void  # noqa: ARG005  numba takes the arity from these names

    @lower_builtin(copy, types.Array, types.Integer, types.Array, types.Integer, types.Integer)  # type: ignore[no-untyped-call]
    def _compile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target = context.make_array(signature.args[0])(context, builder, arguments[0])
        source = context.make_array(signature.args[2])(context, builder, arguments[2])
        to, start = builder.gep(target.data, [arguments[1]]), builder.gep(source.data, [arguments[3]])
        length = context.cast(builder, arguments[4], signature.args[4], types.int64)
        cgutils.raw_memcpy(builder, to, start, length, 1)  # type: ignore[no-untyped-call]
        return context.get_dummy_value()


if COMPILES:
    _lower()
