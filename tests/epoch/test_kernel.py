"""Kernels are plain Python where nothing is compiled, and may borrow their callers' arrays."""

import sys
from pathlib import Path

import numpy as np

from epoch.kernel import borrowed, inlined, kernel
from tests.epoch.kernel_package import KernelPackage


def test_without_compilation_kernels_and_helpers_are_plain_python(tmp_path: Path) -> None:
    program = (
        "from package.kernels import add_one; from package.helpers import increment; import numpy as np;"
        "print(add_one(np.int64(2**63 - 1)), type(add_one).__name__, type(increment).__name__)"
    )
    assert KernelPackage(tmp_path).python(program, NUMBA_DISABLE_JIT="1") == f"{-(2**63)} function function"


@inlined
def last_or_zero(array: np.ndarray, count: int) -> int:
    if count == 0:
        return 0
    return array[count - 1]


@kernel
def add_last(array: np.ndarray) -> int:
    array = borrowed(array)
    return last_or_zero(array, array.size) + last_or_zero(array, 0)


def test_a_borrowed_array_is_the_array_and_stays_the_caller_s() -> None:
    numbers = np.arange(5)
    before = sys.getrefcount(numbers)
    assert add_last(numbers) == 4
    assert borrowed(numbers) is numbers
    assert sys.getrefcount(numbers) == before
