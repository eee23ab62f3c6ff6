"""A disk that is full when a test says so: a small file system of its own where one can be mounted."""

import errno
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from epoch.filesystem import FileSystem

_BYTES: Final = 1 << 20


class SmallDisk(FileSystem):
    """Beneath `path`, where it is a mount of its own, files take all space; elsewhere each write finds none."""

    def __init__(self, path: Path, *, is_mounted: bool) -> None:
        self.path = path
        self._filling = path / "filling"
        self.is_mounted = is_mounted
        """Whether other processes find no space in it either."""
        self._is_full = False

    def fill(self) -> None:
        """Leave no space."""
        self._is_full = not self.is_mounted
        if self.is_mounted:
            with suppress(OSError), self._filling.open("ab", buffering=0) as file:
                while True:
                    file.write(bytes(4096))

    def make_space(self) -> None:
        """Give it all back."""
        self._is_full = False
        self._filling.unlink(missing_ok=True)

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        if self._is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        super().write(descriptor, data)


@contextmanager
def small_disk(place: Path) -> Iterator[SmallDisk]:
    """Mount one at `place` where this process may."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={_BYTES}", "tmpfs", str(place)]
    try:
        is_mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        is_mounted = False
    try:
        yield SmallDisk(place, is_mounted=is_mounted)
    finally:
        if is_mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)
