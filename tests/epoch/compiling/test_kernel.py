"""Kernels are plain Python where nothing is compiled, and may borrow their callers' arrays and skip looks at types."""

import sys
from pathlib import Path

import numpy as np
import pytest

from epoch.compiling.kernel import borrowed, inlined, kernel, machine_code
from tests.epoch.compiling.kernel_package import KernelPackage


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


@kernel
def add_bytes(data: memoryview, first: int) -> int:
    return first + np.frombuffer(data, np.uint8).sum()


def test_machine_code_answers_as_its_kernel_for_any_bytes_and_leaves_them_as_they_were() -> None:
    add = machine_code(add_bytes, memoryview(b""), 0)
    data = bytearray(b"\1\2\3")
    for given in (data, bytes(data), memoryview(data), memoryview(data).toreadonly()):
        assert add(given, 4) == add_bytes(memoryview(data), 4) == 10
    del given
    data.append(1)  # which a buffer that is still held would refuse
    with pytest.raises(TypeError):
        add("text", 4)


@kernel
def item(numbers: np.ndarray, at: int) -> int:
    return numbers[at]


def test_where_the_working_directory_is_gone_no_file_is_blamed_for_what_cannot_be_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.setattr(item._cache, "load_overload", lambda *_: None)  # it may have been kept
    with monkeypatch.context() as here:
        here.chdir(gone)
        gone.rmdir()
        with pytest.raises(RuntimeError, match="item cannot be compiled: the working directory"):
            item(np.arange(3), 1)
        here.chdir(tmp_path)
        assert item(np.arange(3), 1) == 1
