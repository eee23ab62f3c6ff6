"""A descriptor is somebody's as soon as it is known, whatever is raised then."""

import os
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from epoch.filesystem import REAL
from logstore.errors import LogStoreError, inherited_log
from logstore.files.owned_filesystem import OwnedFileSystem
from tests.interruption import Interrupter, Interruption
from tests.open_files import open_files


def make(filesystem: OwnedFileSystem, path: Path) -> None:
    filesystem.close(filesystem.open(path))


CALLS: dict[str, Callable[[OwnedFileSystem, Path], object]] = {
    "a file": make,
    "a checkpoint": lambda filesystem, path: filesystem.write_atomically(path, b"content"),
}


def interrupt() -> None:
    raise Interruption


@pytest.mark.parametrize("name", CALLS)
def test_a_descriptor_is_lost_only_as_the_system_gives_it(tmp_path: Path, name: str) -> None:
    lost = set()
    for at in count():
        interrupter, before = Interrupter(), len(open_files(tmp_path))
        with suppress(Interruption), interrupter.between_bytecodes(at, interrupt):
            CALLS[name](OwnedFileSystem(REAL, inherited_log(tmp_path)), tmp_path / str(at))
        # Signals are looked at when a function in C has returned.
        if len(open_files(tmp_path)) > before and " after " in interrupter.place:
            lost.add(interrupter.place.split()[1])
        if not interrupter.place:
            break
    assert lost <= {"FileSystem.open", "FileSystem.fsync_directory"}


def test_a_descriptor_that_was_given_back_is_nobodys_wherever_that_is_broken_off(tmp_path: Path) -> None:
    for at in count():
        filesystem, interrupter = OwnedFileSystem(REAL, inherited_log(tmp_path)), Interrupter()
        descriptor = filesystem.open(tmp_path / "file")
        with suppress(Interruption), interrupter.between_bytecodes(at, interrupt):
            filesystem.close(descriptor)
        if not interrupter.place:
            break
        if not Path(f"/dev/fd/{descriptor}").exists():
            child = os.fork()
            if not child:
                is_refused = False
                try:
                    filesystem.write(descriptor, b"value")
                except LogStoreError:
                    is_refused = descriptor not in filesystem._descriptors
                os._exit(not is_refused)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, interrupter.place
        else:
            os.close(descriptor)
