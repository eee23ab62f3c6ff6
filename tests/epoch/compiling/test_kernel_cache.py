"""Compiled kernels are kept on disk; what is stale, torn or half written there is never taken for good."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.epoch.compiling.kernel_package import CONSTANTS, HELPERS, KernelPackage

JIT = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT=1")

PROCESSES = 4
CALL = "from package.kernels import add_one; print(add_one(5))"
CALL_TELLING_HITS = "from package.kernels import add_one; print(add_one({}), sum(add_one.stats.cache_hits.values()))"
DIE_IN = """
import os, signal
from epoch.filesystem import FileSystem
original = FileSystem.write

def write(self, descriptor, data):
    original(self, descriptor, data[:len(data) // 2])
    os.kill(os.getpid(), signal.SIGKILL)

def rename(self, source, target):
    os.kill(os.getpid(), signal.SIGKILL)

FileSystem.{0} = {0}
"""
FULL_DISK = """
from errno import ENOSPC
from pathlib import Path
from epoch.filesystem import FileSystem
original = FileSystem.open

def open(self, path, *, truncate=False):
    if "__pycache__" in str(path):
        raise OSError(ENOSPC, "No space left on device", str(path))
    return original(self, path, truncate=truncate)

FileSystem.open = open
"""
TOGETHER = """
import time
from pathlib import Path
from package.kernels import add_one
Path("ready-{number}").touch()
while not Path("go").exists():
    time.sleep(0.001)
print(add_one({argument}))
"""


@pytest.fixture
def package(tmp_path: Path) -> KernelPackage:
    return KernelPackage(tmp_path)


def make_read_only(*directories: Path) -> None:
    for directory in directories:
        directory.mkdir(exist_ok=True)
        directory.chmod(0o555)


def test_machine_code_is_kept_beside_the_source(package: KernelPackage) -> None:
    first, second = package.run(), package.run()
    assert first.directory.parent == package.directory / "__pycache__"
    assert (first.value, first.hits, second) == (6, 0, first._replace(hits=1))


def test_an_edit_in_a_module_beside_the_kernel_is_noticed(package: KernelPackage) -> None:
    package.run()
    (package.directory / "helpers.py").write_text(HELPERS.replace("x + STEP", "x + 2"))
    assert package.run()[:2] == (7, 0)
    assert package.run()[:2] == (7, 1)


def test_a_constant_from_elsewhere_that_changes_is_noticed(package: KernelPackage) -> None:
    package.run()
    (package.root / "constants.py").write_text(CONSTANTS.replace("1", "3"))
    assert package.run()[:2] == (8, 0)
    assert package.run()[:2] == (8, 1)


def test_an_edit_of_the_decorator_is_noticed(package: KernelPackage) -> None:
    package.run()
    with open(package.root / "epoch/compiling/kernel.py", "a") as source:
        source.write("# edited\n")
    assert package.run()[:2] == (6, 0)


def test_what_former_sources_compiled_to_is_removed(package: KernelPackage) -> None:
    former = package.run().directory
    (package.directory / "helpers.py").write_text(HELPERS + "# edited\n")
    later = package.run().directory
    assert {path.parent for path in package.files()} == {later} != {former}


def test_a_process_that_outlives_an_upgrade_removes_nothing_and_passes_nothing_on(package: KernelPackage) -> None:
    outlived = package.start(TOGETHER.format(number=0, argument="5.0"))
    while not (package.root / "ready-0").exists():
        assert outlived.poll() is None
        time.sleep(0.01)
    (package.directory / "helpers.py").write_text(HELPERS.replace("x + STEP", "x + 2"))
    upgraded = package.run()
    (package.root / "go").touch()
    assert outlived.communicate() == ("6.0\n", "")
    assert package.run() == upgraded._replace(hits=1)
    assert package.python(CALL_TELLING_HITS.format("5.0")) == "7.0 0"


def test_machine_code_loads_without_what_only_compiling_needs(package: KernelPackage) -> None:
    package.run()
    program = "import sys; from package.kernels import add_one; print(add_one(5), 'numba.np.linalg' in sys.modules)"
    assert package.python(program) == "6 False"


def test_a_kernel_may_be_compiled_into_another_after_it_came_from_disk(package: KernelPackage) -> None:
    package.run()
    (package.root / "later").mkdir()
    (package.root / "later/kernels.py").write_text(
        "from epoch.compiling.kernel import kernel\nfrom package.kernels import add_one\n"
        "@kernel\ndef add_two(x: int) -> int:\n    return add_one(add_one(x))\n"
    )
    program = (
        "from package.kernels import add_one; from later.kernels import add_two;"
        "print(add_one(5), sum(add_one.stats.cache_hits.values()), add_two(5), sum(add_two.stats.cache_hits.values()))"
    )
    assert package.python(program) == "6 1 7 0"
    assert package.python(program) == "6 1 7 1"


def test_another_directory_can_be_chosen(package: KernelPackage, tmp_path: Path) -> None:
    chosen = tmp_path / "chosen"
    assert package.run(NUMBA_CACHE_DIR=str(chosen)).directory.parent == chosen
    assert package.run(NUMBA_CACHE_DIR=str(chosen))[:2] == (6, 1)
    assert not package.files()


PLANT = """
import hashlib, pickle, sys

class Planted:
    def __reduce__(self):
        return (print, ("planted code runs",))

content = pickle.dumps(Planted())
open(sys.argv[1], "wb").write(hashlib.sha256(content).digest() + content)
"""


def test_whoever_compiles_keeps_it_for_himself(package: KernelPackage, tmp_path: Path) -> None:
    chosen = tmp_path / "new/chosen"
    package.python(f"import os; os.umask(0); {CALL}", NUMBA_CACHE_DIR=str(chosen))
    (file,) = package.files(chosen)
    directories = (file.parent, chosen, chosen.parent)
    assert [stat.S_IMODE(each.stat().st_mode) for each in directories] == [0o700] * 3
    assert not stat.S_IMODE(file.stat().st_mode) & 0o022
    package.python(f"import os; os.umask(0o002); {CALL}")
    (beside,) = package.files()
    assert not stat.S_IMODE(beside.parent.stat().st_mode) & 0o022
    assert package.run()[:2] == (6, 1)


def plant(package: KernelPackage, chosen: Path) -> Path:
    """Put a file that says so once it is loaded where the kernel is looked for."""
    chosen.mkdir()
    package.run(NUMBA_CACHE_DIR=str(chosen))
    (file,) = package.files(chosen)
    subprocess.run([sys.executable, "-c", PLANT, file], check=True)
    assert "planted code runs" in package.start(CALL, NUMBA_CACHE_DIR=str(chosen)).communicate()[0], "as it is trusted"
    return file


def give_away(path: Path) -> None:
    os.chown(path, 65_534, 65_534)


def let_all_write(path: Path) -> None:
    path.chmod(0o777)


CHANGES = [let_all_write, *([give_away] if os.geteuid() == 0 else [])]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("what", ["file", "directory"])
def test_what_others_may_have_planted_is_not_loaded(
    package: KernelPackage, tmp_path: Path, what: str, change: Callable[[Path], None]
) -> None:
    file = plant(package, tmp_path / "chosen")
    (tmp_path / "chosen").chmod(0o1777)
    changed = file if what == "file" else file.parent
    change(changed)
    printed, complaints = package.start(CALL, NUMBA_CACHE_DIR=str(tmp_path / "chosen")).communicate()
    assert printed == "6\n"
    assert complaints.count("Warning: compiled kernels") == 1
    assert str(changed) in complaints
    if what == "file":
        assert package.run(NUMBA_CACHE_DIR=str(tmp_path / "chosen"))[:2] == (6, 1), "it was replaced by our own"
    else:
        assert package.run(bound=False, NUMBA_CACHE_DIR=str(tmp_path / "another"))[:2] == (6, 0)


def test_where_others_may_rename_directories_nothing_is_loaded_or_kept(package: KernelPackage, tmp_path: Path) -> None:
    file = plant(package, tmp_path / "chosen")
    (tmp_path / "chosen").chmod(0o777)
    printed, complaints = package.start(CALL, NUMBA_CACHE_DIR=str(tmp_path / "chosen")).communicate()
    assert printed == "6\n"
    assert complaints.count("Warning: compiled kernels") == 1
    assert f"{tmp_path / 'chosen'}: other users may rename what is in it" in complaints
    assert package.files(tmp_path / "chosen") == [file]


@pytest.mark.parametrize("name", ["chosen", "__pycache__"])
def test_a_chosen_directory_that_others_may_replace_is_not_used_whatever_its_name(
    package: KernelPackage, tmp_path: Path, name: str
) -> None:
    above = tmp_path / "above"
    above.mkdir()
    file = plant(package, above / name)
    above.chmod(0o777)
    printed, complaints = package.start(CALL, NUMBA_CACHE_DIR=str(above / name)).communicate()
    assert printed == "6\n"
    assert complaints.count("Warning: compiled kernels") == 1
    assert f"{above}: other users may rename what is in it" in complaints
    assert package.files(above / name) == [file]


def test_a_linked_directory_is_not_loaded_from(package: KernelPackage, tmp_path: Path) -> None:
    file = plant(package, tmp_path / "chosen")
    file.parent.rename(tmp_path / "downloaded")
    file.parent.symlink_to(tmp_path / "downloaded")
    printed, complaints = package.start(CALL, NUMBA_CACHE_DIR=str(tmp_path / "chosen")).communicate()
    assert printed == "6\n"
    assert "it is a symbolic link" in complaints


def test_beside_sources_what_others_may_have_planted_is_left_for_the_user_s_directory(package: KernelPackage) -> None:
    package.run()
    (file,) = package.files()
    subprocess.run([sys.executable, "-c", PLANT, file], check=True)
    file.parent.chmod(0o777)
    printed, complaints = package.start(CALL).communicate()
    assert printed == "6\n"
    assert complaints.count("UntrustedKernelCacheWarning: compiled kernels were found that other users may have") == 1
    assert package.run()[:2] == (6, 1), "and it says so but once"


@pytest.mark.parametrize("name", ["chosen", "__pycache__"])
def test_in_a_directory_that_other_installations_may_share_nothing_is_removed(
    package: KernelPackage, tmp_path: Path, name: str
) -> None:
    chosen = tmp_path / name
    package.run(NUMBA_CACHE_DIR=str(chosen))
    (package.directory / "helpers.py").write_text(HELPERS.replace("x + STEP", "x + 2"))
    assert package.run(NUMBA_CACHE_DIR=str(chosen))[:2] == (7, 0)
    (package.directory / "helpers.py").write_text(HELPERS)
    assert package.run(NUMBA_CACHE_DIR=str(chosen))[:2] == (6, 1)


def test_where_the_package_is_read_only_the_user_s_directory_serves(package: KernelPackage) -> None:
    make_read_only(package.beside, package.directory)
    assert package.run(bound=True)[:2] == (6, 0)
    assert len(package.files(package.home / ".cache/epochlog")) == 1
    assert package.run(bound=True)[:2] == (6, 1)


def test_what_was_compiled_at_installation_serves_who_may_not_write_there(package: KernelPackage) -> None:
    package.run()
    make_read_only(*package.beside.iterdir(), package.beside, package.directory, package.home)
    assert package.run(bound=True)[:2] == (6, 1)


def test_without_any_directory_kernels_are_compiled_each_time_and_a_warning_says_why(package: KernelPackage) -> None:
    make_read_only(package.beside, package.directory, package.home)
    for _ in range(2):
        process = package.start(CALL, bound=True)
        printed, complaints = process.communicate()
        assert (process.returncode, printed) == (0, "6\n")
        assert complaints.count("NoKernelCacheWarning: compiled kernels cannot be kept") == 1
        assert f"{package.beside}/" in complaints
        assert f"{package.home}/" in complaints
        assert "Permission denied; set NUMBA_CACHE_DIR to a directory that you can write, and nobody else" in complaints
    assert not package.files()


def test_a_user_without_a_home_is_given_none_in_the_working_directory(package: KernelPackage) -> None:
    make_read_only(package.beside, package.directory)
    process = package.start(CALL, bound=True, XDG_CACHE_HOME="~")
    printed, complaints = process.communicate()
    assert (process.returncode, printed) == (0, "6\n")
    assert "NoKernelCacheWarning" in complaints
    assert not (package.root / "~").exists()


def test_code_of_archived_sources_is_found_wherever_an_archive_of_the_same_lies(
    package: KernelPackage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("archives")
    archives = [shutil.make_archive(str(place / name), "zip", package.root) for name in ("one", "another")]
    runs = [package.run(PYTHONPATH=archive, PYTHONSAFEPATH="1") for archive in archives]
    assert [run[:2] for run in runs] == [(6, 0), (6, 1)]
    assert not package.files()


def test_where_the_disk_is_full_another_directory_serves(package: KernelPackage) -> None:
    assert package.python(FULL_DISK + CALL) == "6"
    assert not package.files()
    assert package.run()[:2] == (6, 1)


@pytest.mark.parametrize(
    "tear",
    [
        lambda content: content[:0],
        lambda content: content[: len(content) // 2],
        lambda content: content[: len(content) // 2].ljust(len(content), b"\0"),
        lambda content: content[:-100] + bytes([content[-100] ^ 1]) + content[-99:],
    ],
    ids=["empty", "half", "zeros at the end", "a bit flipped"],
)
def test_a_torn_file_is_compiled_and_written_anew(package: KernelPackage, tear: Callable[[bytes], bytes]) -> None:
    package.run()
    (file,) = package.files()
    file.write_bytes(tear(file.read_bytes()))
    assert package.run()[:2] == (6, 0)
    assert package.run()[:2] == (6, 1)


def test_a_file_that_can_be_neither_read_nor_replaced_is_kept_elsewhere(package: KernelPackage) -> None:
    package.run()
    (file,) = package.files()
    file.unlink()
    file.mkdir()
    assert package.run()[:2] == (6, 0)
    assert package.run()[:2] == (6, 1)


@pytest.mark.parametrize("step", ["write", "rename"])
def test_a_process_that_is_killed_while_it_writes_leaves_nothing_that_counts(package: KernelPackage, step: str) -> None:
    process = package.start(DIE_IN.format(step) + CALL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert package.run()[:2] == (6, 0)
    assert package.run()[:2] == (6, 1)


def test_a_process_that_is_killed_leaves_no_former_code_under_the_new_sources(package: KernelPackage) -> None:
    package.run()
    (package.directory / "helpers.py").write_text(HELPERS.replace("x + STEP", "x + 2"))
    package.start(DIE_IN.format("rename") + CALL).communicate()
    assert package.run()[:2] == (7, 0)


@pytest.mark.parametrize("arguments", [["5"] * PROCESSES, ["5", "5.0"] * (PROCESSES // 2)], ids=["same", "two types"])
def test_processes_may_start_at_once_on_an_empty_cache(package: KernelPackage, arguments: list[str]) -> None:
    processes = [
        package.start(TOGETHER.format(number=number, argument=argument)) for number, argument in enumerate(arguments)
    ]
    while len(list(package.root.glob("ready-*"))) < PROCESSES and all(each.poll() is None for each in processes):
        time.sleep(0.01)
    (package.root / "go").touch()
    told = [process.communicate() for process in processes]
    assert told == [(f"{'6' if argument == '5' else '6.0'}\n", "") for argument in arguments]
    assert len(package.files()) == len(set(arguments))
    for argument in set(arguments):
        program = (
            f"from package.kernels import add_one; print(add_one({argument}), sum(add_one.stats.cache_hits.values()))"
        )
        assert package.python(program) == f"{'6' if argument == '5' else '6.0'} 1"
