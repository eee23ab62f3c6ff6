"""Mounts that are gone afterwards, whatever happens."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SECONDS = 60
"""No command takes longer, unless something hangs."""


class CommandFailedError(Exception):
    """A program failed; its last words."""


@dataclass(frozen=True, slots=True)
class FileSystemKind:
    """A file system, and the smallest sensible disk for it."""

    name: str
    type: str
    make: tuple[str, ...]
    mebibytes: int
    options: str = "noatime"
    sector: int = 512
    """What must be written as a whole for it to be mounted again: its superblock or, with xfs, a block of metadata."""

    def format(self, image: Path) -> None:
        with image.open("wb") as file:
            file.truncate(self.mebibytes << 20)
        run(*self.make, str(image))

    @contextmanager
    def mounted(self, image: Path, directory: Path) -> Iterator[Path]:
        """Mount an image over a loop device, which goes with the mount."""
        run("mount", "-t", self.type, "-o", f"loop,{self.options}", str(image), str(directory))
        try:
            yield directory
        finally:
            unmount(directory)


MAKE_EXT4 = ("mkfs.ext4", "-q", "-F", "-b", "4096", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0")
KINDS = {
    kind.name: kind
    for kind in (
        FileSystemKind("ext4", "ext4", MAKE_EXT4, 64, sector=1_024),
        FileSystemKind("ext4-writeback", "ext4", MAKE_EXT4, 64, "noatime,data=writeback", sector=1_024),
        FileSystemKind("xfs", "xfs", ("mkfs.xfs", "-q", "-f", "-K"), 300, sector=4_096),
        FileSystemKind("btrfs", "btrfs", ("mkfs.btrfs", "-q", "-f", "-K"), 128, sector=4_096),
    )
}


@contextmanager
def recorded(image: Path, recording: Path, directory: Path) -> Iterator[Path]:
    """Mount the files of a recording device."""
    program = [sys.executable, "-m", "tests.filesystems.recording_device", str(image), str(recording), str(directory)]
    # Killed with this process: a server that lives on would keep the namespace, and all mounts in it.
    with subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *program]) as server:
        try:
            wait_for(directory / "disk", server)
            yield directory
        finally:
            unmount(directory)
            try:
                server.wait(SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()
                raise


def wait_for(file: Path, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + SECONDS
    while not file.exists():
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError(f"{file} does not appear: the recording device did not start")
        time.sleep(0.02)


def unmount(directory: Path) -> None:
    """Unmount; what somebody still has open, as after a failed check, is unmounted once it is closed."""
    if not directory.is_mount():
        return
    for _ in range(50):
        try:
            run("umount", str(directory))
        except CommandFailedError:
            time.sleep(0.02)
        else:
            return
    run("umount", "--lazy", str(directory))


def unmount_below(place: Path) -> None:
    """Unmount what a signal has left, in the middle of a mount or of its end."""
    for directory in place.iterdir():
        if directory.is_mount():
            run("umount", "--lazy", str(directory))


def run(*command: str) -> None:
    done = subprocess.run(command, check=False, timeout=SECONDS, capture_output=True, text=True)
    if done.returncode:
        raise CommandFailedError(f"{' '.join(command)}: {done.stderr.strip() or f'status {done.returncode}'}")
