"""Compiled kernels are kept on disk, and dropped as soon as any source beside them changes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from epoch import kernel as kernel_module
from epoch.kernel import borrowed, inlined, kernel

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
compiled_only = pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")

HELPERS = """
from epoch.kernel import inlined

@inlined
def increment(x: int) -> int:
    return x + 1
"""
KERNELS = """
from epoch.kernel import kernel
from package.helpers import increment

@kernel
def add_one(x: int) -> int:
    return increment(x)
"""
PROGRAM = """
from package.kernels import add_one
print(add_one(5), sum(add_one.stats.cache_hits.values()), add_one._cache.cache_path, sep="|")
"""

Python = Callable[..., str]
Run = Callable[..., tuple[int, int, Path]]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with one kernel, and a copy of the decorator beside it."""
    for name in ("epoch", "package"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    shutil.copy(kernel_module.__file__, tmp_path / "epoch/kernel.py")
    (tmp_path / "package/helpers.py").write_text(HELPERS)
    (tmp_path / "package/kernels.py").write_text(KERNELS)
    return tmp_path / "package"


@pytest.fixture
def python(package: Path) -> Python:
    """Run a program over the package in a new process, for what it prints."""

    def call(program: str, **environment: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
        result = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            cwd=package.parent,
            env={**kept, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": str(package.parent), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return result.stdout.strip()

    return call


@pytest.fixture
def run(python: Python) -> Run:
    """Call the kernel in a new process: its answer, whether it came from disk, and where it is kept."""

    def call(**environment: str) -> tuple[int, int, Path]:
        answer, hits, path = python(PROGRAM, **environment).split("|")
        return int(answer), int(hits), Path(path)

    return call


@compiled_only
def test_machine_code_is_kept_beside_the_source(run: Run, package: Path) -> None:
    assert run() == (6, 0, package / "__pycache__")
    assert run() == (6, 1, package / "__pycache__")


@compiled_only
def test_an_edit_in_a_module_beside_the_kernel_is_noticed(run: Run, package: Path) -> None:
    run()
    (package / "helpers.py").write_text(HELPERS.replace("x + 1", "x + 2"))
    assert run()[:2] == (7, 0)
    assert run()[:2] == (7, 1)


@compiled_only
def test_an_edit_of_the_decorator_is_noticed(run: Run, package: Path) -> None:
    run()
    with open(package.parent / "epoch/kernel.py", "a") as source:
        source.write("# edited\n")
    assert run()[:2] == (6, 0)


@compiled_only
def test_machine_code_loads_without_what_only_compiling_needs(python: Python, run: Run) -> None:
    run()
    program = "import sys; from package.kernels import add_one; print(add_one(5), 'numba.np.linalg' in sys.modules)"
    assert python(program) == "6 False"


@compiled_only
def test_a_kernel_may_be_compiled_into_another_after_it_came_from_disk(python: Python, run: Run, package: Path) -> None:
    run()
    (package.parent / "later").mkdir()
    (package.parent / "later/kernels.py").write_text(
        "from epoch.kernel import kernel\nfrom package.kernels import add_one\n"
        "@kernel\ndef add_two(x: int) -> int:\n    return add_one(add_one(x))\n"
    )
    program = (
        "from package.kernels import add_one; from later.kernels import add_two;"
        "print(add_one(5), sum(add_one.stats.cache_hits.values()), add_two(5), sum(add_two.stats.cache_hits.values()))"
    )
    assert python(program) == "6 1 7 0"
    assert python(program) == "6 1 7 1"


@compiled_only
def test_numba_s_own_choice_of_directory_holds(run: Run, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    assert run(NUMBA_CACHE_DIR=str(chosen))[2].parent == chosen
    assert run(NUMBA_CACHE_DIR=str(chosen))[:2] == (6, 1)


@compiled_only
def test_where_the_package_is_read_only_the_user_s_directory_serves(run: Run, package: Path, tmp_path: Path) -> None:
    (package / "__pycache__").touch()  # a file, where no directory can be made: root may write anywhere else
    user = {"HOME": str(tmp_path / "home"), "XDG_CACHE_HOME": str(tmp_path / "home/.cache")}
    assert run(**user)[2].is_relative_to(tmp_path / "home")
    assert run(**user)[:2] == (6, 1)


@compiled_only
def test_without_any_directory_kernels_are_compiled_each_time(python: Python, package: Path, tmp_path: Path) -> None:
    (package / "__pycache__").touch()
    home = tmp_path / "home"
    home.touch()
    program = "from package.kernels import add_one; print(add_one(5))"
    assert python(program, HOME=str(home), XDG_CACHE_HOME=str(home)) == "6"


def test_without_compilation_kernels_and_helpers_are_plain_python(python: Python) -> None:
    program = (
        "from package.kernels import add_one; from package.helpers import increment; import numpy as np;"
        "print(add_one(np.int64(2**63 - 1)), type(add_one).__name__, type(increment).__name__)"
    )
    assert python(program, NUMBA_DISABLE_JIT="1") == f"{-(2**63)} function function"


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
