"""One process at a time works on a log.dirs root, whichever language it is written in."""

import fcntl
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import DirectoryLockedError
from logstore.files import directory_lock
from logstore.files.directory_lock import DirectoryLock
from tests.oracle.kafka import JavaProgram
from tests.oracle.release import KafkaRelease

TRY_TO_LOCK = """
import sys
from pathlib import Path
from logstore import DirectoryLockedError
from logstore.files.directory_lock import DirectoryLock
try:
    DirectoryLock.acquire(Path(sys.argv[1]))
except DirectoryLockedError as error:
    print(error)
else:
    print("locked")
"""


def another_process_locks(root: Path) -> str:
    """What another process is told."""
    return subprocess.run(
        [sys.executable, "-c", TRY_TO_LOCK, root], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(params=["open file description", "POSIX"])
def kind_of_lock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with both kinds of locks, as far as this process goes."""
    if request.param == "POSIX":
        monkeypatch.setattr(directory_lock, "_OFD_SETLK", None)
    return request.param


@pytest.mark.usefixtures("kind_of_lock")
class TestTheLock:
    def test_keeps_another_process_out_until_it_is_released(self, tmp_path: Path) -> None:
        with DirectoryLock.acquire(tmp_path) as lock:
            assert lock.held
            assert "locked by" in another_process_locks(tmp_path)
        assert not lock.held
        assert another_process_locks(tmp_path) == "locked"

    def test_keeps_the_same_process_out_and_survives_its_try(self, tmp_path: Path) -> None:
        with DirectoryLock.acquire(tmp_path):
            with pytest.raises(
                DirectoryLockedError, match="this process itself; use the one that is already open"
            ) as caught:
                DirectoryLock.acquire(tmp_path)
            assert caught.value.file == str(tmp_path / ".lock")
            assert another_process_locks(tmp_path) != "locked"

    def test_is_taken_again_after_release(self, tmp_path: Path) -> None:
        DirectoryLock.acquire(tmp_path).release()
        lock = DirectoryLock.acquire(tmp_path)
        lock.release()
        lock.release()
        with pytest.raises(DirectoryLockedError, match="released"):
            lock.ensure_held()

    def test_stays_with_the_parent_of_a_fork(self, tmp_path: Path) -> None:
        with DirectoryLock.acquire(tmp_path) as lock:
            child = os.fork()
            if child == 0:
                os._exit(0 if not lock.held and refuses(lock) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert lock.held
            assert another_process_locks(tmp_path) != "locked"

    def test_names_a_holder_that_is_a_posix_process(self, tmp_path: Path) -> None:
        context = multiprocessing.get_context("spawn")
        ready, done = context.Event(), context.Event()
        holder = context.Process(target=hold_as_posix, args=(tmp_path / ".lock", ready, done))
        holder.start()
        try:
            assert ready.wait(30)
            with pytest.raises(DirectoryLockedError, match="locked by"):
                DirectoryLock.acquire(tmp_path)
        finally:
            done.set()
            holder.join()
        DirectoryLock.acquire(tmp_path).release()


def refuses(lock: DirectoryLock) -> bool:
    try:
        lock.ensure_held()
    except DirectoryLockedError:
        return True
    return False


def hold_as_posix(path: Path, ready, done) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    with open(path, "w") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        ready.set()
        done.wait(30)


@pytest.mark.skipif(not hasattr(fcntl, "F_OFD_SETLK"), reason="needs open file description locks (Linux)")
def test_the_lock_survives_that_somebody_else_in_the_process_reads_its_file(tmp_path: Path) -> None:
    with DirectoryLock.acquire(tmp_path):
        (tmp_path / ".lock").read_bytes()
        assert another_process_locks(tmp_path) != "locked"


def test_a_posix_lock_would_not_survive_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_lock, "_OFD_SETLK", None)
    with DirectoryLock.acquire(tmp_path):
        (tmp_path / ".lock").read_bytes()
        assert another_process_locks(tmp_path) == "locked"


def test_the_lock_outlives_neither_its_process_nor_needs_its_file_removed(tmp_path: Path) -> None:
    assert another_process_locks(tmp_path) == "locked"
    assert (tmp_path / ".lock").exists()
    DirectoryLock.acquire(tmp_path).release()


def test_a_missing_root_is_the_error_that_it_is(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        DirectoryLock.acquire(tmp_path / "missing")


def test_a_broker_and_we_exclude_each_other(tmp_path: Path, release: KafkaRelease) -> None:
    path = tmp_path / ".lock"
    with JavaProgram(release, "LockHolder") as broker:
        assert broker.ask(f"lock {path}") == ["true"]
        with pytest.raises(DirectoryLockedError, match="locked by"):
            DirectoryLock.acquire(tmp_path)
        assert broker.ask("unlock") == ["unlocked"]
        with DirectoryLock.acquire(tmp_path):
            # Its failed try closes a descriptor of the file, in its own process: that drops no lock of ours.
            assert broker.ask(f"lock {path}", f"lock {path}") == ["false", "false"]
        assert broker.ask(f"lock {path}", "unlock") == ["true", "unlocked"]


def test_a_file_that_a_stopping_broker_removes_is_not_what_we_lock(tmp_path: Path) -> None:
    real_lock = directory_lock._lock
    removals = iter([True, False])

    def remove_once_locked(descriptor: int, path: Path) -> None:
        real_lock(descriptor, path)
        if next(removals):
            path.unlink()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directory_lock, "_lock", remove_once_locked)
        lock = DirectoryLock.acquire(tmp_path)
    with lock:
        assert another_process_locks(tmp_path) != "locked"
