"""Read from a file within a kernel what the system has in memory: a call of Python's for each header costs more."""

import os
from collections.abc import Callable
from typing import Any, Final

from epoch.compiling.kernel import COMPILES
from logstore.kernels.bytes import Data

AT_ONCE: Final[int | None] = getattr(os, "RWF_NOWAIT", None)
"""Linux's flag for what need not be read from the disk."""


def read_cached(descriptor: int, buffer: Data, at: int, count: int, position: int) -> int:
    """Read up to `count` bytes from `position` of a file on into `buffer[at:]`, which has room for them.

    How many there were: 0 at the end of the file, and -1 where they are not in the page cache, or cannot be read.
    """
    if AT_ONCE is None:
        return -1
    try:
        return os.preadv(descriptor, [buffer.data[at : at + count]], position, AT_ONCE)
    except OSError:
        return -1


def _lower() -> None:
    """Define how numba compiles it."""
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import lower_builtin, type_callable

    word, number = ir.IntType(64), ir.IntType(32)

    @type_callable(read_cached)
    def _type(_context: Any) -> Callable[..., Any]:
        return lambda descriptor, buffer, at, count, position: types.int64  # noqa: ARG005  numba takes the arity from these names

    @lower_builtin(read_cached, types.Integer, types.Array, types.Integer, types.Integer, types.Integer)  # type: ignore[no-untyped-call]
    def _compile(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Call the C library's preadv2, which is where Python has the flag from."""
        if AT_ONCE is None:
            return word(-1)
        buffer = context.make_array(signature.args[1])(context, builder, arguments[1])
        descriptor = context.cast(builder, arguments[0], signature.args[0], types.int32)
        count, position = (context.cast(builder, arguments[each], signature.args[each], types.int64) for each in (3, 4))
        to = builder.gep(buffer.data, [arguments[2]])
        piece = cgutils.alloca_once(builder, ir.LiteralStructType([to.type, word]))  # type: ignore[no-untyped-call]
        builder.store(to, cgutils.gep_inbounds(builder, piece, 0, 0))  # type: ignore[no-untyped-call]
        builder.store(count, cgutils.gep_inbounds(builder, piece, 0, 1))  # type: ignore[no-untyped-call]
        signature = ir.FunctionType(word, [number, piece.type, number, word, number])
        function = cgutils.get_or_insert_function(builder.module, signature, "preadv2")  # type: ignore[no-untyped-call]
        return builder.call(function, [descriptor, piece, number(1), position, number(AT_ONCE)])


if COMPILES:
    _lower()
