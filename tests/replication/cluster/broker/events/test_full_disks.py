"""A directory without space is told of once, and once there is some again, whoever meets it."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from epoch.filesystem import REAL
from logstore.directory.log_directory import LogDirectory
from logstore.directory.state.disk_space import LOOK_INTERVAL_MS
from replication.cluster.broker.events.full_disks import FullDisks
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles


class Disks:
    """Two roots at a time of their own, of which the second is on a disk that a test fills."""

    def __init__(self, directory: Path) -> None:
        self.now = 0
        paths = [directory / name for name in ("roomy", "small")]
        self.roots = [
            LogDirectory.open(path, filesystem=REAL, clock=lambda: self.now, replicated=True) for path in paths
        ]
        self.small = self.roots[1]
        self.told = HeardTroubles()
        self.disks = FullDisks(self.roots, self.told)

    def meet(self, file: str, number: int = errno.ENOSPC) -> None:
        self.small._disk.space.note(OSError(number, "", str(self.small.root / file)))
        self.disks.look()

    def wait(self) -> None:
        """Until it was seen twice whether there is space."""
        for _ in range(2):
            self.now += LOOK_INTERVAL_MS
            self.small.run_periodic()
            self.disks.look()


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Disks]:
    disks = Disks(tmp_path)
    yield disks
    for root in disks.roots:
        root.abandon()


def test_it_is_told_once_with_the_first_file_and_once_as_it_is_over(disks: Disks) -> None:
    disks.disks.look()
    for file in ("orders-0", "orders-1"):
        disks.meet(file)
    root = disks.small.root
    assert (disks.told, disks.told.reasons) == ([f"disk {root}"], [f"No space left on device: {root / 'orders-0'}"])
    disks.wait()
    assert disks.told == [f"disk {root}", f"disk {root} over"]
    disks.meet("orders-1", errno.EDQUOT)
    assert disks.told.reasons[1:] == [f"Disk quota exceeded: {root / 'orders-1'}"]


def test_a_disk_that_fails_is_full_no_more(disks: Disks) -> None:
    disks.meet("orders-0")
    disks.small._disk.fail(OSError(errno.EIO, "broken"))
    for _ in range(2):
        disks.wait()
    assert disks.told == [f"disk {disks.small.root}", f"disk {disks.small.root} over"]
