"""Disks that note in a device's recording what a workload was promised."""

import ctypes
import os
import random
from pathlib import Path

from tests.recording_disk import RecordingDisk

LIBC = ctypes.CDLL(None, use_errno=True)


class MarkingDisk(RecordingDisk):
    """Puts a mark into the recording for each fact, and now and then lets the kernel write before it is asked to."""

    def __init__(self, mark: Path, seed: int) -> None:
        super().__init__()
        self.facts: list[object] = []
        """What was told; a mark's number is a fact's place in it."""
        self._mark = os.open(mark, os.O_WRONLY)
        self._rng = random.Random(seed)
        self.tell(None)

    def tell(self, fact: object) -> None:
        super().tell(fact)
        os.pwrite(self._mark, b"%d" % len(self.facts), 0)
        self.facts.append(fact)

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        super().write(descriptor, data)
        chance = self._rng.random()
        if chance < 0.15:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        elif chance < 0.2 and LIBC.syncfs(descriptor):
            raise OSError(ctypes.get_errno(), "syncfs failed")

    def done(self) -> None:
        os.close(self._mark)


class NeverSyncingDisk(MarkingDisk):
    """Says that it has synced files, and has not: what a check must find."""

    def fsync(self, descriptor: int) -> None:
        del descriptor
