"""Kernels run without numba once they are compiled: the same code, kept as safely, and only as numba would compile."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.epoch.compiling.kernel_package import KernelPackage

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")

LOOPS = """
import numpy as np
from epoch.compiling.kernel import borrowed, inlined, kernel
from package.settings import STEP

@inlined
def last_or_zero(array, count):
    if count == 0:
        return 0
    return array[count - 1]

@kernel
def total(numbers, first, negated):
    numbers, sum = borrowed(numbers), first
    for number in numbers:
        sum += number + STEP
    return (-sum if negated else sum), numbers.size, last_or_zero(numbers, numbers.size)

@kernel
def fill(numbers, value):
    for i in range(numbers.size):
        numbers[i] = value + i
    return numbers.size

@kernel
def all_below(numbers, limit):
    for number in numbers:
        if number >= limit:
            return False
    return True

@kernel
def with_memory(count):
    return np.ones(count, np.int64).sum()

@kernel
def float_of(number):
    return number / 2

@kernel
def item(numbers, position):
    if position >= numbers.size:
        raise IndexError("there is no such item")
    return numbers[position]
"""
STANDING = """
from epoch.compiling.standalone_kernel import StandaloneKernel
total, fill, all_below, with_memory, float_of, item = (
    StandaloneKernel("package.loops", name)
    for name in ("total", "fill", "all_below", "with_memory", "float_of", "item")
)
"""
CALL = "total(np.arange(4), 10, False)"


class Answer(NamedTuple):
    """What a call returned in a process of its own."""

    value: object
    with_numba: bool


class Standing:
    """A package with kernels that stand alone."""

    def __init__(self, root: Path) -> None:
        self.package = KernelPackage(root)
        self.directory = self.package.directory
        (self.directory / "__init__.py").touch()
        (self.directory / "settings.py").write_text("STEP = 1\n")
        (self.directory / "loops.py").write_text(LOOPS)
        (self.directory / "standing.py").write_text(STANDING)

    def program(self, call: str, before: str = "pass") -> str:
        begin = f"import sys, numpy as np\nfrom package.standing import *\n{before}\n"
        return f"{begin}print(repr(({call})), 'numba' in sys.modules, sep='|')"

    def call(self, call: str = CALL, before: str = "pass", *, bound: bool = False, **environment: str) -> Answer:
        printed = self.package.python(self.program(call, before), bound=bound, **environment)
        value, with_numba = printed.split("|")
        return Answer(eval(value), with_numba == "True")  # noqa: S307  it is our own program that prints it

    def files(self, place: Path | None = None) -> list[Path]:
        return [file for file in self.package.files(place) if file.suffix == ".o"]


@pytest.fixture
def standing(tmp_path: Path) -> Standing:
    return Standing(tmp_path)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (CALL, (20, 4, 3)),
        ("total(np.arange(4), -(2**63), True)", (2**63 - 10, 4, 3)),
        ("total(np.arange(4, dtype=np.uint8), 2**63 - 11, False)", (2**63 - 1, 4, 3)),
        ("total(np.arange(0), 7, False)", (7, 0, 0)),
        ("total(np.frombuffer(bytes([1, 2]), np.uint8), 0, False)", (5, 2, 2)),
        ("fill(numbers := np.zeros(3, np.int32), 5), numbers.tolist()", (3, [5, 6, 7])),
        ("all_below(np.arange(4), 4), all_below(np.arange(4), 3)", (True, False)),
    ],
)
def test_what_was_compiled_once_runs_without_numba(standing: Standing, call: str, value: object) -> None:
    assert standing.call(call) == (value, True)
    assert standing.call(call) == (value, False)


def test_types_of_arguments_are_told_apart(standing: Standing) -> None:
    calls = [f"total(np.arange(3, dtype=np.{kind}), 0, False)" for kind in ("int64", "int32", "uint8")]
    for _ in range(2):
        assert [standing.call(call).value for call in calls] == [(6, 3, 2)] * 3
    assert standing.call(f"{calls[0]}, {calls[1]}, {calls[2]}") == (((6, 3, 2),) * 3, False)
    assert len(standing.files()) == 3


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("total(np.arange(8)[::2], 0, False)", (16, 4, 6)),
        ("all_below(np.arange(4), 3.5)", True),
        ("all_below(np.arange(4), np.int32(4))", True),
        ("with_memory(5)", 5),
        ("float_of(5)", 2.5),
    ],
)
def test_what_cannot_stand_alone_is_numbas(standing: Standing, call: str, value: object) -> None:
    assert standing.call(call) == (value, True)
    assert standing.call(call) == (value, True)
    assert not standing.files()


def test_what_a_kernel_raises_is_raised(standing: Standing) -> None:
    standing.call("item(np.arange(3), 2)")
    raising = "try:\n    item(np.arange(3), 3)\nexcept IndexError as error:\n    print(error)"
    assert (
        standing.package.python(f"import numpy as np\nfrom package.standing import *\n{raising}")
        == "there is no such item"
    )


def test_where_numba_is_loaded_it_is_used_and_what_is_not_kept_yet_is(standing: Standing) -> None:
    assert standing.call(before="from package.loops import total as compiled; compiled(np.arange(4), 10, False)")
    [file] = standing.files()
    kept = file.stat().st_mtime_ns
    signatures = "__import__('package.loops').loops.total.signatures"
    assert standing.call(f"{CALL}, len({signatures})", before="import numba") == (((20, 4, 3), 1), True)
    assert file.stat().st_mtime_ns == kept


def test_numba_may_be_loaded_after_all(standing: Standing) -> None:
    standing.call()
    later = f"({CALL}, with_memory(3), {CALL})"
    assert standing.call(later) == (((20, 4, 3), 3, (20, 4, 3)), True)


@pytest.mark.parametrize("edited", ["settings.py", "__init__.py", "../epoch/compiling/kernel.py"])
def test_an_edit_of_any_source_is_noticed(standing: Standing, edited: str) -> None:
    standing.call()
    with open(standing.directory / edited, "a") as source:
        source.write("STEP = 2\n")
    expected = (24 if edited == "settings.py" else 20, 4, 3)
    assert standing.call() == (expected, True)
    assert standing.call() == (expected, False)
    assert len(standing.files()) == 1, "what former sources compiled to is removed"


@pytest.mark.parametrize(
    "settings", [{"NUMBA_DISABLE_JIT": "1"}, {"NUMBA_CPU_NAME": "generic"}, {"NUMBA_CPU_FEATURES": ""}]
)
def test_where_numba_is_told_how_to_compile_it_does(standing: Standing, settings: dict[str, str]) -> None:
    standing.call()
    assert standing.call(f"tuple(map(int, {CALL}))", **settings) == ((20, 4, 3), True)
    assert len(standing.files()) == 1


def test_a_file_of_settings_tells_numba_too(standing: Standing) -> None:
    pytest.importorskip("yaml", reason="numba reads the file by PyYAML")
    standing.call()
    (standing.package.root / ".numba_config.yaml").write_text("cpu_name: generic\n")
    assert standing.call() == ((20, 4, 3), True)


def test_code_of_another_numba_is_not_used(standing: Standing, tmp_path: Path) -> None:
    other = tmp_path / "other/numba"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text("raise ImportError('another numba')\n")
    (other / "_version.py").write_text("version = 'another'\n")
    standing.call()
    places = f"{standing.package.root}:{other.parent}"
    process = standing.package.start(standing.program(CALL), PYTHONPATH=places)
    assert "another numba" in process.communicate()[1]
    (other / "_version.py").unlink()
    process = standing.package.start(standing.program(CALL), PYTHONPATH=places)
    assert "another numba" in process.communicate()[1]


def test_another_directory_can_be_chosen(standing: Standing, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    assert standing.call(NUMBA_CACHE_DIR=str(chosen)).with_numba
    assert not standing.call(NUMBA_CACHE_DIR=str(chosen)).with_numba
    assert len(standing.files(chosen)) == 1
    assert not standing.files()


def test_sources_in_an_archive_are_compiled_as_ever(
    standing: Standing, tmp_path_factory: pytest.TempPathFactory
) -> None:
    archive = shutil.make_archive(str(tmp_path_factory.mktemp("archive") / "all"), "zip", standing.package.root)
    for _ in range(2):
        assert standing.call(PYTHONPATH=archive, PYTHONSAFEPATH="1") == ((20, 4, 3), True)


@pytest.mark.parametrize(
    "tear",
    [
        lambda content: content[:0],
        lambda content: content[: len(content) // 2],
        lambda content: content[:-100] + bytes([content[-100] ^ 1]) + content[-99:],
    ],
    ids=["empty", "half", "a bit flipped"],
)
def test_a_torn_file_is_compiled_and_written_anew(standing: Standing, tear: Callable[[bytes], bytes]) -> None:
    standing.call()
    [file] = standing.files()
    file.write_bytes(tear(file.read_bytes()))
    assert standing.call() == ((20, 4, 3), True)
    assert standing.call() == ((20, 4, 3), False)


PLANT = """
import hashlib, sys
from pathlib import Path
file, other = map(Path, sys.argv[1:])
digest = hashlib.sha256().digest_size
content = other.read_bytes()[digest:]
file.write_bytes(hashlib.sha256(content).digest() + content)
"""


def plant(standing: Standing, chosen: Path) -> Path:
    """Put another kernel's code where `total` is looked for: its answer says whether it is what runs."""
    chosen.mkdir()
    standing.call(NUMBA_CACHE_DIR=str(chosen))
    [file] = standing.files(chosen)
    standing.call("total(np.arange(4), 10, True)", before="import package.settings", NUMBA_CACHE_DIR=str(chosen))
    (standing.directory / "settings.py").write_text("STEP = 100\n")
    standing.call(NUMBA_CACHE_DIR=str(chosen))
    (standing.directory / "settings.py").write_text("STEP = 1\n")
    [other] = [each for each in standing.files(chosen) if each != file]
    subprocess.run([sys.executable, "-c", PLANT, file, other], check=True)
    assert standing.call(NUMBA_CACHE_DIR=str(chosen)) == ((416, 4, 3), False), "as it is trusted"
    return file


def give_away(path: Path) -> None:
    os.chown(path, 65_534, 65_534)


def let_all_write(path: Path) -> None:
    path.chmod(0o777)


CHANGES = [let_all_write, *([give_away] if os.geteuid() == 0 else [])]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_others_may_have_planted_is_not_run(
    standing: Standing, tmp_path: Path, what: str, change: Callable[[Path], None]
) -> None:
    chosen = tmp_path / "chosen"
    file = plant(standing, chosen)
    changed = file if what == "file" else file.parent
    change(changed)
    process = standing.package.start(standing.program(CALL), NUMBA_CACHE_DIR=str(chosen))
    printed, complaints = process.communicate()
    assert printed == "(20, 4, 3)|True\n"
    assert complaints.count("Warning: compiled kernels") == 1
    assert str(changed) in complaints
    if what == "file":
        assert standing.call(NUMBA_CACHE_DIR=str(chosen)) == ((20, 4, 3), False), "it was replaced by our own"


def test_where_others_may_rename_directories_nothing_is_run_or_kept(standing: Standing, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    file = plant(standing, chosen)
    before = file.read_bytes()
    chosen.chmod(0o777)
    process = standing.package.start(standing.program(CALL), NUMBA_CACHE_DIR=str(chosen))
    printed, complaints = process.communicate()
    assert printed == "(20, 4, 3)|True\n"
    assert f"{chosen}: other users may rename what is in it" in complaints
    assert file.read_bytes() == before


def test_what_was_compiled_at_installation_serves_who_may_not_write_there(standing: Standing) -> None:
    standing.call()
    for directory in (*standing.package.beside.iterdir(), standing.package.beside, standing.directory):
        directory.chmod(0o555)
    assert standing.call(bound=True) == ((20, 4, 3), False)


def test_threads_may_call_at_once(standing: Standing) -> None:
    standing.call()
    before = "from concurrent.futures import ThreadPoolExecutor\npool = ThreadPoolExecutor(8)"
    call = "set(pool.map(lambda _: total(np.arange(4), 10, False), range(200)))"
    for _ in range(5):
        assert standing.call(call, before) == ({(20, 4, 3)}, False)


def test_memory_of_arrays_is_left_to_python(standing: Standing) -> None:
    standing.call()
    before = "numbers = np.arange(4)\ncount = sys.getrefcount(numbers)\nfor _ in range(50): total(numbers, 10, False)"
    assert standing.call("sys.getrefcount(numbers) - count", before) == (0, False)
