"""One life of a log on a mounted file system, and the loss of power at any point of it."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.filesystems.crash_images import CrashPoint, choose, crash_points, images
from tests.filesystems.marking_disk import MarkingDisk
from tests.filesystems.mounting import FileSystemKind, recorded, run
from tests.filesystems.recording import Entry, Flush, Write, read_recording
from tests.logstore.log.test_log_crash_states import Crash
from tests.logstore.log_workloads import DirectoryWorkload, Workload, live


@dataclass
class PowerLoss:
    """A life that was recorded, on a file system of one kind."""

    kind: FileSystemKind
    place: Path
    workload: Workload | DirectoryWorkload
    disk: MarkingDisk
    entries: list[Entry] = field(repr=False)

    @classmethod
    def record(
        cls, kind: FileSystemKind, life: str, place: Path, seed: int, disk_type: type[MarkingDisk]
    ) -> "PowerLoss":
        """Live a life on a new file system, and note all that reaches its device."""
        image, base, recording = place / "image", place / "base", place / "recording"
        kind.format(image)
        copy(image, base)
        device, mounted = place / "device", place / "mounted"
        device.mkdir()
        mounted.mkdir()
        with recorded(image, recording, device), kind.mounted(device / "disk", mounted):
            root = mounted / "life"
            root.mkdir()
            # What crashes: the disk writes on its own, so all that was there before must be safe.
            sync(mounted)
            disk = disk_type(device / "mark", seed)
            try:
                workload = live(life, root, disk)
                stop(workload)
            finally:
                disk.done()
        return cls(kind, place, workload, disk, list(read_recording(recording)))

    @property
    def failed(self) -> Path:
        """The image of the last crash after which something was wrong, as it was before it was mounted."""
        return self.place / "failed"

    @property
    def writes(self) -> int:
        return sum(isinstance(entry, Write) for entry in self.entries)

    @property
    def flushes(self) -> int:
        return sum(isinstance(entry, Flush) for entry in self.entries)

    def possible(self, seed: int) -> int:
        """How many crashes there are to choose from."""
        return sum(1 for _ in crash_points(self.entries, seed, self.kind.sector))

    def points(self, count: int, seed: int) -> list[CrashPoint]:
        return choose(list(crash_points(self.entries, seed, self.kind.sector)), count, seed)

    def failures(self, points: list[CrashPoint]) -> Iterator[tuple[CrashPoint, BaseException | None]]:
        """Mount what each crash leaves, and look at the logs: what was wrong, or None."""
        base, crashed = self.place / "base", self.place / "crashed"
        for flushed, point, kept in images(self.entries, points):
            write_to(base, flushed)
            copy(base, crashed)
            write_to(crashed, kept)
            error = self._failure(crashed, point)
            if error is not None:
                copy(base, self.failed)
                write_to(self.failed, kept)
            yield point, error

    def _failure(self, image: Path, point: CrashPoint) -> BaseException | None:
        promises = self.disk.facts[point.mark]
        try:
            with self.kind.mounted(image, self.place / "mounted") as mounted:
                crash = Crash(mounted / "life", self.workload, promises if isinstance(promises, Mapping) else {})
                crash.check()
        except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
            return error
        return None


def sync(directory: Path) -> None:
    """Let all of a file system reach its device."""
    run("sync", "--file-system", str(directory))


def stop(workload: Workload | DirectoryWorkload) -> None:
    """Let go of the files, and write nothing more."""
    (workload.directory if isinstance(workload, DirectoryWorkload) else workload.log).abandon()


def copy(source: Path, target: Path) -> None:
    """Copy a sparse file."""
    run("cp", "--sparse=always", str(source), str(target))


def write_to(image: Path, writes: list[Write]) -> None:
    descriptor = os.open(image, os.O_RDWR)
    try:
        for write in writes:
            os.pwrite(descriptor, write.data, write.offset)
    finally:
        os.close(descriptor)
