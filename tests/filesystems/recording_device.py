"""A disk image that notes all that is done to it: for where there is no dm-log-writes.

`python -m tests.filesystems.recording_device IMAGE RECORDING DIRECTORY` mounts a FUSE file system with two files:
`disk` has the bytes of the image, for a loop device to work on, and who writes a number to `mark` has it noted between
the requests. The kernel passes each write of a loop device on before it is acknowledged, and each flush as an fsync.
It is a process of its own: whoever waits for a page of the mounted disk must not be who brings it.
"""

import os
import stat
import sys
from errno import ENOENT
from pathlib import Path
from typing import Any

from mfusepy import FUSE, FuseOSError, Operations

from tests.filesystems.recording import Flush, Mark, Recorder, Write

DISK, MARK = "/disk", "/mark"


class RecordingDevice(Operations):
    """The two files."""

    use_ns = True

    def __init__(self, image: Path, recorder: Recorder) -> None:
        self._image = os.open(image, os.O_RDWR)
        self._recorder = recorder

    def getattr(self, path: str, fh: int | None = None) -> dict[str, Any]:
        del fh
        if path == "/":
            return {"st_mode": stat.S_IFDIR | 0o755, "st_nlink": 2}
        if path not in {DISK, MARK}:
            raise FuseOSError(ENOENT)
        size = os.fstat(self._image).st_size if path == DISK else 0
        return {"st_mode": stat.S_IFREG | 0o600, "st_nlink": 1, "st_size": size}

    def open(self, path: str, flags: int) -> int:
        del path, flags
        return 0

    def read(self, path: str, size: int, offset: int, fh: int) -> bytes:
        del fh
        return os.pread(self._image, size, offset) if path == DISK else b""

    def write(self, path: str, data: bytes, offset: int, fh: int) -> int:
        del fh
        if path == MARK:
            self._recorder.add(Mark(int(data)))
        else:
            os.pwrite(self._image, data, offset)
            self._recorder.add(Write(offset, data))
        return len(data)

    def fsync(self, path: str, datasync: int, fh: int) -> int:
        del datasync, fh
        if path == DISK:
            self._recorder.add(Flush())
        return 0


if __name__ == "__main__":
    image, recording, directory = sys.argv[1:]
    with Recorder(Path(recording)) as recorder:
        # One thread: what is noted first was done first.
        FUSE(RecordingDevice(Path(image), recorder), directory, foreground=True, nothreads=True)
