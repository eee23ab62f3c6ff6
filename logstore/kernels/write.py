"""Write to a file out of compiled code: one call of the interpreter then checks bytes and writes them."""

import os
from collections.abc import Callable
from typing import Any

from epoch.compiling.kernel import COMPILES
from logstore.kernels.bytes import Data


def write(descriptor: int, data: Data) -> int:
    """Write by one system call: how many bytes that were, which may not be all; -1 where it failed."""
    try:
        return os.write(descriptor, data.data)
    except OSError:
        return -1


def _lower() -> None:
    """Define how numba compiles it."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    @type_callable(write)
    def _type(_context: Any) -> Callable[[Any, Any], Any]:
        return lambda descriptor, data: types.int64  # noqa: ARG005  numba takes the arity from these names

    @lower_builtin(write, types.Integer, types.Array)  # type: ignore[no-untyped-call]
    def _compile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[1])(context, builder, arguments[1])
        size = array.nitems
        address = builder.bitcast(array.data, cgutils.voidptr_t)
        system_call = ir.FunctionType(size.type, [ir.IntType(32), address.type, size.type])
        function = cgutils.get_or_insert_function(builder.module, system_call, "write")  # type: ignore[no-untyped-call]
        return builder.call(function, [builder.trunc(arguments[0], ir.IntType(32)), address, size])


if COMPILES:
    _lower()
