"""A descriptor is somebody's as soon as it is known, whatever is raised then."""

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from epoch.filesystem import REAL
from logstore.errors import inherited_log
from logstore.files.owned_filesystem import OwnedFileSystem
from tests.interruption import Interrupter, Interruption


def make(filesystem: OwnedFileSystem, path: Path) -> None:
    filesystem.close(filesystem.open(path))


CALLS: dict[str, Callable[[OwnedFileSystem, Path], object]] = {
    "a file": make,
    "a checkpoint": lambda filesystem, path: filesystem.write_atomically(path, b"content"),
}


def descriptors() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def interrupt() -> None:
    raise Interruption


@pytest.mark.parametrize("name", CALLS)
def test_a_descriptor_is_lost_only_as_the_system_gives_it(tmp_path: Path, name: str) -> None:
    lost = set()
    for at in count():
        interrupter, before = Interrupter(), descriptors()
        with suppress(Interruption), interrupter.between_bytecodes(at, interrupt):
            CALLS[name](OwnedFileSystem(REAL, inherited_log(tmp_path)), tmp_path / str(at))
        # Signals are looked at when a function in C has returned.
        if descriptors() > before and " after " in interrupter.place:
            lost.add(interrupter.place.split()[1])
        if not interrupter.place:
            break
    assert lost <= {"FileSystem.open", "FileSystem.fsync_directory"}
