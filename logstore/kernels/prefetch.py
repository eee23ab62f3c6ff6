"""Ask the memory for bytes ahead of their use: the walk over records is too irregular for the CPU to run ahead."""

from collections.abc import Callable
from typing import Any

from epoch.compiling.kernel import COMPILES
from logstore.kernels.bytes import Data

READ, KEEP, INTO_DATA_CACHE = 0, 3, 1


def prefetch(data: Data, position: int) -> None:
    """Begin to load the cache line of `position`, which may lie beyond the data: nothing is accessed."""


def _lower() -> None:
    """Define how numba compiles it."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    @type_callable(prefetch)
    def _type(_context: Any) -> Callable[[Any, Any], Any]:
        return lambda data, position: types.void  # noqa: ARG005  numba takes the arity from these names

    @lower_builtin(prefetch, types.Array, types.Integer)  # type: ignore[no-untyped-call]
    def _compile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(array.data, [arguments[1]])
        number = ir.IntType(32)
        signature = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, signature, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        builder.call(function, [address, number(READ), number(KEEP), number(INTO_DATA_CACHE)])
        return context.get_dummy_value()


if COMPILES:
    _lower()
