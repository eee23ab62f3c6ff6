"""The x86 instructions that CRC kernels are made of, as numba intrinsics over vectors of 64-bit integers.

Compiling one that the target lacks ends the process, so `crc.py` asks for the target's features first.
"""

# ruff: noqa: ARG001  numba takes an intrinsic's arity from its parameters; the code reads the arguments, not the types

from collections.abc import Callable
from typing import Any, cast

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, models, register_model

instruction: Callable[[Callable[..., Any]], Callable[..., Any]] = cast("Any", intrinsic)
"""numba passes the typing context itself, which its own types do not say."""

INT8, INT32, INT64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
MULTIPLY = {2: "llvm.x86.pclmulqdq", 4: "llvm.x86.pclmulqdq.256", 8: "llvm.x86.pclmulqdq.512"}


class Vector(types.Type):
    """`width` 64-bit integers in one register."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Vector({width})")


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """A vector is LLVM's own vector type."""

    def __init__(self, manager: Any, vector: Vector) -> None:
        super().__init__(manager, vector, llvm_type(vector))  # type: ignore[no-untyped-call]


def llvm_type(vector: Vector) -> ir.VectorType:
    """LLVM's name for a vector type."""
    return ir.VectorType(INT64, vector.width)


def call(builder: Any, name: str, result: ir.Type, arguments: list[Any]) -> Any:
    """Emit a call of one of LLVM's own functions."""
    signature = ir.FunctionType(result, [argument.type for argument in arguments])
    function = cgutils.get_or_insert_function(builder.module, signature, name)  # type: ignore[no-untyped-call]
    return builder.call(function, arguments)


@instruction
def load(_context: Any, data: Any, position: Any, width: Any) -> Any:
    """Load a vector from anywhere in a byte array."""
    if not isinstance(width, types.IntegerLiteral):
        return None
    vector = Vector(width.literal_value)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        address = builder.gep(array.data, [arguments[1]])
        pointer = builder.bitcast(address, llvm_type(vector).as_pointer())
        return builder.load(pointer, typ=llvm_type(vector), align=1)

    return vector(data, types.int64, width), generate


@instruction
def repeat(_context: Any, low: Any, high: Any, width: Any) -> Any:
    """Fill a vector with pairs of (low, high)."""
    if not isinstance(width, types.IntegerLiteral):
        return None
    vector = Vector(width.literal_value)

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        value = ir.Constant(llvm_type(vector), ir.Undefined)
        for i in range(vector.width):
            value = builder.insert_element(value, arguments[i % 2], INT32(i))
        return value

    return vector(types.uint64, types.uint64, width), generate


@instruction
def add_first(_context: Any, vector: Any, value: Any) -> Any:
    """Add (over GF(2): exclusive or) an integer to a vector's first element."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        zeros = ir.Constant(llvm_type(vector), [0] * vector.width)
        return builder.xor(arguments[0], builder.insert_element(zeros, arguments[1], INT32(0)))

    return vector(vector, types.uint64), generate


@instruction
def fold(_context: Any, vector: Any, constants: Any, following: Any) -> Any:
    """Move each 128-bit lane forward onto the lane that follows it at the constants' distance."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        lanes, factors, onto = arguments
        name, result = MULTIPLY[vector.width], llvm_type(vector)
        low = call(builder, name, result, [lanes, factors, INT8(0x00)])
        high = call(builder, name, result, [lanes, factors, INT8(0x11)])
        return builder.xor(builder.xor(low, high), onto)

    return vector(vector, vector, vector), generate


@instruction
def lane(_context: Any, vector: Any, index: Any) -> Any:
    """Extract one 128-bit lane from a vector."""
    if not isinstance(index, types.IntegerLiteral):
        return None
    first = 2 * index.literal_value

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        unused = ir.Constant(llvm_type(vector), ir.Undefined)
        elements = ir.Constant(ir.VectorType(INT32, 2), [first, first + 1])
        return builder.shuffle_vector(arguments[0], unused, elements)

    return Vector(2)(vector, index), generate


@instruction
def element(_context: Any, vector: Any, index: Any) -> Any:
    """Extract one integer from a vector."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], builder.trunc(arguments[1], INT32))

    return types.uint64(vector, types.int64), generate


@instruction
def crc32_uint64(_context: Any, crc: Any, value: Any) -> Any:
    """Continue a CRC-32C with eight bytes."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return call(builder, "llvm.x86.sse42.crc32.64.64", INT64, list(arguments))

    return types.uint64(types.uint64, types.uint64), generate


@instruction
def crc32_uint8(_context: Any, crc: Any, value: Any) -> Any:
    """Continue a CRC-32C with one byte."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        crc, value = builder.trunc(arguments[0], INT32), arguments[1]
        return builder.zext(call(builder, "llvm.x86.sse42.crc32.32.8", INT32, [crc, value]), INT64)

    return types.uint64(types.uint64, types.uint8), generate
