"""Whoever wants a kernel goes on without it: threads and processes get it ready."""

import os
import signal
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from epoch.compiling import awaited_kernel
from epoch.compiling.awaited_kernel import VARIABLE, AwaitedKernel
from tests.epoch.compiling.kernel_package import KernelPackage

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
compiled = pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")

BACKGROUND: dict[str, Any] = {VARIABLE: "background"}
NEVER: dict[str, Any] = {VARIABLE: "never"}
NOW: dict[str, Any] = {VARIABLE: "now"}
WARMING = """
import os, sys, time
from pathlib import Path
from epoch.compiling.awaited_kernel import AwaitedKernel
from epoch.compiling.completion import Completion

def load():
    from package.kernels import add_one
    add_one(0)
    return add_one

ADD_ONE = AwaitedKernel(load, patience=1)

def warm():
    Path("started").open("a").write(f"{os.getpid()} {os.nice(0)}\\n")
    while Path("held").exists():
        time.sleep(0.01)
    ADD_ONE.get()
    Completion("package").note()
"""
BEGIN = """
import sys, time
import package
from package.warming import ADD_ONE
from epoch.compiling.kernel_maker import MAKER

def wait():
    while thread := MAKER._thread:
        thread.join()
"""
USE = (
    BEGIN
    + """
assert ADD_ONE.ready() is None
assert "numba" not in sys.modules and "llvmlite" not in sys.modules
wait()
add_one = ADD_ONE.ready()
print(add_one and (add_one(5), sum(add_one.stats.cache_hits.values())))
"""
)
"""What it prints is None without a kernel; else that it works, and whether another process compiled it."""
MADE = "(6, 1)"


@pytest.fixture
def package(tmp_path: Path) -> KernelPackage:
    made = KernelPackage(tmp_path)
    (made.directory / "warming.py").write_text(WARMING)
    (made.directory / "__init__.py").write_text("def warm():\n    from package import warming\n    warming.warm()\n")
    return made


def started(package: KernelPackage) -> list[list[int]]:
    """The processes that compiled: their ids and priorities."""
    note = package.root / "started"
    return [[int(word) for word in line.split()] for line in note.read_text().splitlines()] if note.exists() else []


def wait_for(path: Path) -> None:
    while not path.exists():
        time.sleep(0.01)


# --- when it is wanted


def wanted(kernel: AwaitedKernel, work: list[int], **environment: str) -> list[int]:
    """Which of these pieces of work it was wanted at."""
    asked: list[int] = []
    with patch.dict(os.environ, environment), patch.object(awaited_kernel, "MAKER") as maker:
        for number, size in enumerate(work):
            maker.want.side_effect = lambda *_, number=number, **__: asked.append(number)
            assert kernel.ready(size) is None
    return asked


def test_a_kernel_is_wanted_after_much_work_and_ever_less_often_where_it_does_not_come() -> None:
    assert wanted(AwaitedKernel(lambda: max, patience=3), [1] * 22, **BACKGROUND) == [2, 8, 20]


def test_much_work_at_once_counts_as_much() -> None:
    assert wanted(AwaitedKernel(lambda: max, patience=100), [99, 1, 200, 1], **BACKGROUND) == [1, 2]


def test_once_it_is_there_it_is_returned_at_once() -> None:
    kernel = AwaitedKernel(lambda: max)
    assert wanted(kernel, [1], **NEVER) == []
    assert kernel.get() is max
    assert kernel.ready() is max


def test_it_can_be_loaded_in_the_first_call_except_by_a_handler_that_breaks_off_just_that() -> None:
    def load() -> object:
        raise ImportError("partially imported")

    with patch.dict(os.environ, NOW):
        assert AwaitedKernel(lambda: max).ready() is max
        assert AwaitedKernel(load).ready() is None


# --- how it is made


@compiled
def test_a_process_of_the_lowest_priority_compiles_it_once_and_a_thread_loads_it(package: KernelPackage) -> None:
    assert package.python(USE, **BACKGROUND) == MADE
    assert package.python(USE, **BACKGROUND) == MADE
    assert [nice for _, nice in started(package)] == [19]


@compiled
def test_of_several_processes_one_lets_it_be_compiled_for_all(package: KernelPackage) -> None:
    (package.root / "held").touch()
    processes = [package.start(USE, **BACKGROUND) for _ in range(3)]
    wait_for(package.root / "started")
    (package.root / "held").unlink()
    assert [process.communicate() for process in processes] == [(f"{MADE}\n", "")] * 3
    assert len(started(package)) == 1


@compiled
def test_the_process_goes_on_where_the_one_that_started_it_ends(package: KernelPackage) -> None:
    (package.root / "held").touch()
    first = package.start(USE, **BACKGROUND)
    wait_for(package.root / "started")
    first.kill()
    first.communicate()
    second = package.start(USE, **BACKGROUND)  # it waits for the lock that the process has inherited
    (package.root / "held").unlink()
    assert second.communicate() == (f"{MADE}\n", "")
    assert len(started(package)) == 1


@compiled
def test_where_that_process_is_killed_work_goes_on_and_another_is_started_later(package: KernelPackage) -> None:
    (package.root / "held").touch()
    process = package.start(USE + "ADD_ONE.ready(); wait(); print(ADD_ONE.ready()(6))", **BACKGROUND)
    wait_for(package.root / "started")
    while not started(package):
        time.sleep(0.01)
    os.kill(started(package)[0][0], signal.SIGKILL)
    (package.root / "held").unlink()
    printed, complaint = process.communicate()
    assert printed.split("\n")[0] == "None"
    assert "ended with status -9" in complaint
    assert printed.split("\n")[1] == "7"
    assert len(started(package)) == 2


@compiled
def test_what_sources_have_changed_since_is_compiled_again(package: KernelPackage) -> None:
    package.python(USE, **BACKGROUND)
    (package.directory / "helpers.py").write_text((package.directory / "helpers.py").read_text() + "\n# changed\n")
    assert package.python(USE, **BACKGROUND) == MADE
    assert len(started(package)) == 2


@compiled
@pytest.mark.parametrize(
    "change",
    [
        "import epoch.compiling.completion as c; c._processor = lambda: ['another']",
        "import epoch.compiling.completion as c; c._version = lambda package: 'another'",
    ],
)
def test_nor_is_what_another_processor_or_numba_has_taken_for_complete(package: KernelPackage, change: str) -> None:
    package.python(USE, **BACKGROUND)
    is_noted = BEGIN + "from epoch.compiling.completion import Completion; print(Completion('package').is_noted())"
    assert package.python(is_noted) == "True"
    assert package.python(f"{change}\n{is_noted}") == "False"


# --- where no process is started


@compiled
@pytest.mark.parametrize(
    ("begin", "environment"),
    [
        ("", NEVER),
        ("", {"NUMBA_DISABLE_JIT": "1"}),
        ("import sys; sys.frozen = True", {}),
        ("import sys; sys.executable = '/usr/bin/server'", {}),
        ("import os, sys\nif child := os.fork(): sys.exit(os.waitpid(child, 0)[1])", {}),
        ("import multiprocessing; multiprocessing.current_process()._config['daemon'] = True", {}),
    ],
    ids=["never", "no jit", "frozen", "embedded", "forked", "daemon"],
)
def test_none_is_started_where_there_must_be_none(
    package: KernelPackage, begin: str, environment: dict[str, Any]
) -> None:
    program = BEGIN + begin + USE.removeprefix(BEGIN)
    assert package.python(program, **{**BACKGROUND, **environment}) == "None"
    assert started(package) == []


@compiled
def test_none_is_started_where_nothing_can_be_kept(package: KernelPackage) -> None:
    package.home.touch()
    package.beside.touch()
    printed, complaint = package.start(USE, **BACKGROUND).communicate()
    assert printed == "None\n"
    assert "KernelsNotCompiledWarning: kernels could not be compiled in the background" in complaint
    assert "set NUMBA_CACHE_DIR" in complaint
    assert started(package) == []


@compiled
@pytest.mark.parametrize(("begin", "told"), [("", ""), ("MAKER._attend_forks()", "Too many open files")])
def test_none_is_started_without_descriptors_and_it_is_wanted_again_later(
    package: KernelPackage, begin: str, told: str
) -> None:
    program = (
        BEGIN
        + begin
        + """
import os, resource
limits = resource.getrlimit(resource.RLIMIT_NOFILE)
free = os.open(".", os.O_RDONLY)
os.close(free)
resource.setrlimit(resource.RLIMIT_NOFILE, (free, limits[1]))
ADD_ONE.ready()
wait()
resource.setrlimit(resource.RLIMIT_NOFILE, limits)
print(ADD_ONE.ready())
ADD_ONE.ready()
wait()
print(ADD_ONE.ready()(5))
"""
    )
    printed, complaint = package.start(program, **BACKGROUND).communicate()
    assert printed == "None\n6\n", complaint
    assert told in complaint
    assert len(started(package)) == 1


@compiled
def test_what_is_kept_is_loaded_even_so(package: KernelPackage) -> None:
    package.python(USE, **BACKGROUND)
    assert package.python(USE, **NEVER) == MADE


@compiled
def test_a_fork_waits_until_nothing_is_half_loaded(package: KernelPackage) -> None:
    package.python(USE, **BACKGROUND)
    program = (
        BEGIN
        + """
import os
ADD_ONE.ready()
children = []
for _ in range(50):
    if not (child := os.fork()):
        import numba
        os._exit(0)
    children.append(child)
    time.sleep(0.01)
print({os.waitpid(child, 0)[1] for child in children})
"""
    )
    assert package.python(program, **BACKGROUND) == "{0}"


@compiled
def test_a_process_that_ends_at_once_ends_well(package: KernelPackage) -> None:
    package.python(USE, **BACKGROUND)
    for pause in (0, 0.05, 0.15, 0.3):
        assert package.python(f"{BEGIN}ADD_ONE.ready(); time.sleep({pause})", **BACKGROUND) == ""


@compiled
def test_a_process_that_ends_holds_up_no_fork_of_its_last_handlers(package: KernelPackage) -> None:
    package.python(USE, **BACKGROUND)
    program = f"""{BEGIN}
import atexit, os

def fork():
    child = os.fork() or os._exit(0)
    print(MAKER._loading.locked(), os.waitpid(child, 0)[1], ADD_ONE.ready())

atexit.register(fork)
ADD_ONE.ready()
"""
    assert package.python(program, **BACKGROUND) == "False 0 None"
