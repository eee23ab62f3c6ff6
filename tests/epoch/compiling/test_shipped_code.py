"""Machine code that came with an installation: what it answers and raises, and when it is not taken."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from epoch.compiling.shipping.shared_object import LEVELS, can_be_made
from tests.epoch.compiling.kernel_package import KernelPackage

LEVEL = "x86-64-v2"
pytestmark = pytest.mark.skipif(
    not can_be_made() or shutil.which(os.environ.get("CC", "cc")) is None,
    reason="there is no C compiler, or other system",
)

KERNELS = """
import numpy as np
from epoch.compiling.kernel import borrowed, brief_kernel, inlined, kernel

@inlined
def last_or_zero(array):
    return array[array.size - 1] if array.size else 0

@kernel
def total(numbers, first, negated):
    numbers, sum = borrowed(numbers), first
    for number in numbers:
        sum += number
    return (-sum if negated else sum), numbers.size, last_or_zero(numbers), sum > 100

@kernel
def is_rising(bytes, halves, words, flags):
    for row in range(1, min(bytes.size, halves.size, words.size, flags.size)):
        if bytes[row] < bytes[row - 1] or halves[row] < halves[row - 1] or words[row] < words[row - 1]:
            return flags[row]
    return True

@kernel
def fill(numbers, value):
    for row in range(numbers.size):
        numbers[row] = value + row

@kernel
def scrambled(seed):
    return seed * np.uint64(0x9E3779B97F4A7C15) ^ seed >> np.uint64(31)

@brief_kernel
def first_byte(data):
    return np.int64(np.frombuffer(data, np.uint8)[0]) if len(data) else -1

@brief_kernel
def largest(values):
    most = -1
    for value in values:
        most = max(most, np.int64(value))
    return most

@kernel
def fail(how):
    if how == 1:
        raise ValueError("one is no way")
    if how == 2:
        raise IndexError("beyond the end")
    if how == 3:
        raise ArithmeticError
    if how == 4:
        raise MemoryError("no room for \\"quotes\\" or ümlauts")
    return how

@kernel
def with_memory(count):
    return np.ones(count, np.int64).sum()
"""
WARM = """
def warm():
    from array import array
    import numpy as np
    from package import kernels
    numbers, bytes, text = np.arange(3), np.zeros(3, np.uint8), memoryview(b"abc")
    kernels.total(numbers, 0, False)
    kernels.is_rising(bytes, np.zeros(3, np.int16), np.zeros(3, np.int32), np.zeros(3, np.bool_))
    kernels.fill(numbers, 1)
    kernels.scrambled(np.uint64(1))
    kernels.first_byte(text)
    kernels.largest(array("i", [1]))
    kernels.largest(array("q", [1]))
    kernels.fail(0)
"""
BEGIN = """
import sys
sys.modules["numba"] = sys.modules["llvmlite"] = None
import random
from array import array
import numpy as np
from package.kernels import *
from epoch.compiling.shipped_code import shipped

def raised(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:
        return type(error).__name__, str(error)
"""


def package_in(root: Path) -> KernelPackage:
    package = KernelPackage(root)
    (package.directory / "__init__.py").write_text(WARM)
    (package.directory / "kernels.py").write_text(KERNELS)
    return package


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory with what was made of the package."""
    package = package_in(tmp_path_factory.mktemp("made"))
    package.python(
        "from epoch.compiling.shipping.shared_object import make_all; from pathlib import Path;"
        f"make_all('package', Path('made'), ['{LEVEL}'])"
    )
    return package.root / "made"


@pytest.fixture
def shipped(tmp_path: Path, made: Path) -> KernelPackage:
    """Return a package with its machine code."""
    package = package_in(tmp_path)
    place = directory(package)
    place.mkdir()
    for name in (f"{LEVEL}.so", "manifest.json"):
        shutil.copy(made / name, place)
    return package


def directory(package: KernelPackage) -> Path:
    return package.root / "epoch/compiling/machine_code"


def complaints(package: KernelPackage, program: str = BEGIN) -> tuple[str, str]:
    """What a program prints, and what it is warned of."""
    process = package.start(f"{program}\nprint(len(shipped()), total(np.arange(4), 1, False))")
    printed, warned = process.communicate()
    assert process.returncode == 0, warned
    return printed.strip(), warned


LOADED, PLAIN = "7 (7, 4, 3, False)", "0 (np.int64(7), 4, np.int64(3), np.False_)"


# --- what it answers


def test_it_answers_as_plain_python_does_without_numba(shipped: KernelPackage) -> None:
    program = """
chance = random.Random(5)
for case in range(300):
    size = chance.randrange(5)
    bytes, halves, words = (
        np.sort(np.array([chance.randrange(100) for _ in range(size)], kind)) for kind in (np.uint8, np.int16, np.int32)
    )
    if size and case % 3:
        words[0] = 99
    flags = np.array([chance.random() < 0.5 for _ in range(size)], np.bool_)
    numbers = np.array([chance.randrange(-(2**62), 2**62) for _ in range(size)], np.int64)
    cases = [
        (total, numbers, chance.randrange(-(2**62), 2**62), chance.random() < 0.5),
        (is_rising, bytes, halves, words, flags),
        (scrambled, np.uint64(chance.randrange(2**64))),
        (first_byte, memoryview(bytes.tobytes())),
        (largest, array("i", words.tolist())),
        (largest, array("q", numbers.tolist())),
    ]
    for function, *arguments in cases:
        [codes] = [codes for name, codes in shipped().items() if name == f"package.kernels.{function.__name__}"]
        answers = {repr(each) for code in codes if isinstance(each := raised(code, *arguments), (int, bool, tuple))}
        answer, plain = function(*arguments), function.__wrapped__(*arguments)
        assert answer == plain, (function, arguments)
        assert type(answer) in (int, bool, tuple) and not isinstance(answer, np.generic)
    filled, plainly = np.empty(size, np.int64), np.empty(size, np.int64)
    assert fill(filled, case) is fill.__wrapped__(plainly, case) is None
    assert filled.tolist() == plainly.tolist()
print(sorted(name.removeprefix("package.kernels.") for name in shipped()))
"""
    expected = ["fail", "fill", "first_byte", "is_rising", "largest", "scrambled", "total"]
    assert shipped.python(BEGIN + program) == str(expected)


def test_it_runs_under_any_start_of_a_process_and_loads_no_numba(shipped: KernelPackage) -> None:
    program = """
import multiprocessing, sys
from package import kernels

def answer():
    import numpy as np
    return kernels.fail(7), kernels.total(np.arange(3), 1, True), "numba" in sys.modules

if __name__ == "__main__":
    import numpy as np
    print(answer())
    with multiprocessing.get_context("fork").Pool(1) as pool:
        print(pool.apply(kernels.total, (np.arange(3), 1, True)))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(kernels.total, (np.arange(3), 1, True)))
        print(pool.apply(eval, ("'numba' in __import__('sys').modules",)))
"""
    (shipped.root / "program.py").write_text(program)
    run = "import runpy; runpy.run_path('program.py', run_name='__main__')"
    told = "(7, (-4, 3, 2, False), False)\n(-4, 3, 2, False)\n(-4, 3, 2, False)\nFalse"
    assert shipped.python(run) == told
    assert shipped.python(run, PYTHONOPTIMIZE="1") == told


def test_nothing_is_compiled_in_the_background(shipped: KernelPackage) -> None:
    program = """
import subprocess, sys
from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.compiling.kernel_maker import MAKER

def load():
    from package.kernels import fail
    return fail

load.__module__ = "package"
subprocess.Popen = None
kernel = AwaitedKernel(load, patience=2)
assert kernel.ready() is None and MAKER._thread is None
assert kernel.ready() is None
while thread := MAKER._thread:
    thread.join()
print(kernel.ready()(5), "numba" in sys.modules)
"""
    assert shipped.python(program, EPOCHLOG_COMPILE="background") == "5 False"


def test_a_hot_caller_gets_the_function_itself(shipped: KernelPackage) -> None:
    program = """
from epoch.compiling.kernel import machine_code
narrow, wide = (machine_code(largest, array(letter)) for letter in "iq")
print(narrow is not wide, narrow(array("i", [3])), wide(array("q", [2**40])), raised(narrow, array("q", [1]))[0])
print(machine_code(fail, 0) is machine_code(fail, 1), machine_code(largest, array("b"))(array("b", [7])))
"""
    assert shipped.python(BEGIN + program) == f"True 3 {2**40} TypeError\nTrue 7"


# --- what it refuses, and raises


def test_each_exception_of_a_kernel_is_raised(shipped: KernelPackage) -> None:
    program = "for how in range(6): print(raised(fail, how), raised(fail.__wrapped__, how))"
    answers = shipped.python(BEGIN + program).splitlines()
    raised = [
        "0",
        "('ValueError', 'one is no way')",
        "('IndexError', 'beyond the end')",
        "('ArithmeticError', '')",
        "('MemoryError', 'no room for \"quotes\" or ümlauts')",
        "5",
    ]
    assert answers == [f"{each} {each}" for each in raised]


def test_arguments_of_another_kind_are_refused_and_left_to_plain_python(shipped: KernelPackage) -> None:
    program = """
[code] = shipped()["package.kernels.total"]
numbers = np.arange(6)
given = [
    (numbers,), (numbers, 1, False, 2),
    (numbers[::2], 1, False), (numbers.reshape(2, 3), 1, False), (numbers.astype(np.int32), 1, False),
    (numbers.astype(np.uint64), 1, False), (numbers.astype(np.float64), 1, False), ("text", 1, False),
    (numbers, 1.5, False), (numbers, "one", False),
]
print([raised(code, *each)[0] for each in given] == ["TypeError"] * len(given))
print(raised(code, numbers, 2**63, False)[0], total(numbers[::2], 1, False)[:2] == (7, 3))
[code] = shipped()["package.kernels.fill"]
numbers.flags.writeable = False
print(raised(code, numbers, 1))
print(raised(fill, numbers, 1)[0])
"""
    others, numbers, written, plain = shipped.python(BEGIN + program).splitlines()
    assert (others, numbers, plain) == ("True", "OverflowError True", "ValueError")
    assert "argument 1 is not a contiguous array of type 'lq' with 8 bytes an element, which may be written" in written


def test_no_buffer_and_no_reference_is_kept(shipped: KernelPackage) -> None:
    program = """
numbers, data, value = np.arange(3), bytearray(b"abc"), 2**70
before = [sys.getrefcount(each) for each in (numbers, data, value, None, True)]
[code] = shipped()["package.kernels.total"]
for _ in range(1_000):
    total(numbers, 1, True), first_byte(memoryview(data)), raised(code, numbers, value, True), raised(code, numbers, 1)
    raised(fail, 1), fill(numbers, 1)
print([sys.getrefcount(each) - count < 100 for each, count in zip((numbers, data, value, None, True), before)])
data.append(1)
"""
    assert shipped.python(BEGIN + program) == str([True] * 5)


def test_a_kernel_lets_other_threads_run_unless_it_is_brief(made: Path) -> None:
    functions = (made / f"{LEVEL}.c").read_text().split("static PyObject *around_")[1:]
    lets_run = [
        {"Py_BEGIN_ALLOW_THREADS" in each for each in functions if name in each.partition("(")[0]}
        for name in ("total", "largest")
    ]
    assert lets_run == [{True}, {False}]


# --- when it is not taken


def test_code_that_was_changed_is_named_and_not_loaded(shipped: KernelPackage) -> None:
    assert complaints(shipped) == (LOADED, "")
    file = directory(shipped) / f"{LEVEL}.so"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    printed, warned = complaints(shipped)
    assert printed == PLAIN
    assert (
        f"MachineCodeNotLoadedWarning: the machine code in {directory(shipped)} is not loaded: {LEVEL}.so does not have"
        in warned
    )
    file.unlink()
    printed, warned = complaints(shipped)
    assert printed == PLAIN
    assert f"No such file or directory: '{file}'" in warned


def test_code_of_other_sources_is_named_and_not_loaded(shipped: KernelPackage) -> None:
    source = shipped.directory / "kernels.py"
    source.write_text(source.read_text().replace("100", "101"))
    printed, warned = complaints(shipped)
    assert printed == PLAIN
    assert "is not loaded: it was made of other sources than those beside it; numba compiles" in warned


def test_what_is_no_code_is_named_and_not_loaded(shipped: KernelPackage) -> None:
    manifest = directory(shipped) / "manifest.json"
    told = json.loads(manifest.read_text())
    told["files"][0]["file"] = "manifest.json"
    manifest.write_text(json.dumps(told))
    assert "does not have the checksum" in complaints(shipped)[1]
    (directory(shipped) / "text").write_text("no code")
    told["files"][0] |= {"file": "text", "sha256": "a41670a4a6a23bb1f0a1c3a2fc2f1ae6a7ed4e9c3fb2d3b39ec9d5d5d5d5d5d5"}
    manifest.write_text(json.dumps(told))
    assert complaints(shipped)[0] == PLAIN
    manifest.write_text("{")
    assert complaints(shipped)[0] == PLAIN


def test_a_processor_without_a_feature_does_without_it(shipped: KernelPackage) -> None:
    lacking = "flags : fpu " + " ".join(sorted(set(LEVELS["x86_64"][LEVEL].values()) - {"sse4_2"}))
    (shipped.root / "cpuinfo").write_text(f"processor : 0\n{lacking}\n")
    chosen = "from pathlib import Path; import epoch.compiling.shipped_code as s; s._CPUINFO = Path('{}')\n"
    assert complaints(shipped, chosen.format("cpuinfo") + BEGIN) == (PLAIN, "")
    assert complaints(shipped, chosen.format("missing") + BEGIN) == (PLAIN, "")
    (shipped.root / "cpuinfo").write_text(f"processor : 0\n{lacking} sse4_2\n")
    assert complaints(shipped, chosen.format("cpuinfo") + BEGIN) == (LOADED, "")


def test_without_compilation_nothing_is_loaded(shipped: KernelPackage) -> None:
    program = BEGIN + "print(len(shipped()), type(total).__name__)"
    assert shipped.python(program, NUMBA_DISABLE_JIT="1") == "0 function"


# --- what is made


def test_all_bytes_of_what_is_raised_are_read_as_llvm_writes_them() -> None:
    binding = pytest.importorskip("llvmlite.binding")
    from epoch.compiling.shipping.position_independent import escaped, unescaped

    every = bytes(range(256))
    written = str(binding.parse_assembly(f'@every = constant [256 x i8] c"{escaped(every)}"'))
    assert unescaped(written.partition('c"')[2].rpartition('"')[0]) == every


def test_code_may_lie_anywhere_and_names_no_library(made: Path) -> None:
    told = subprocess.run(
        ["readelf", "--dynamic", "--wide", made / f"{LEVEL}.so"], check=True, capture_output=True, text=True
    ).stdout
    assert "SONAME" not in told
    assert "NEEDED" not in told
    assert "TEXTREL" not in told


def test_a_kernel_that_needs_memory_of_numba_s_cannot_be_shipped(tmp_path: Path) -> None:
    package = package_in(tmp_path)
    (package.directory / "__init__.py").write_text(f"{WARM}    kernels.with_memory(3)\n")
    process = package.start(
        "from epoch.compiling.shipping.shared_object import make_all; from pathlib import Path;"
        f"make_all('package', Path('made'), ['{LEVEL}'])"
    )
    _, said = process.communicate()
    assert process.returncode
    assert "NotShippableError: the kernels need NRT_MemInfo_alloc_aligned, which only numba has" in said
