"""A root knows that its disk is full, whichever call met it, and that there is space again."""

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from epoch.base.resource_limits import OUT_OF_SPACE
from epoch.filesystem import REAL, FileSystem
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.directory.state.disk_space import LOOK_INTERVAL_MS, DiskSpace
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition
from tests.small_disk import SmallDisk, small_disk

FIRST, SECOND, MOVED, NEW = (TopicPartition("t", number) for number in range(4))
LARGE = Record.of(b"v" * 8_000, timestamp=1)
CHECKPOINT_MS = 60_000


class Root:
    """A root of two partitions, and of a copy of one that is being moved here, at a time of its own."""

    def __init__(self, disk: SmallDisk) -> None:
        self.now = 1
        config = LogConfig(segment_bytes=100_000, retention_ms=-1)
        self.directory = LogDirectory.open(disk.path / "root", config, filesystem=disk, clock=lambda: self.now)
        for partition in (FIRST, SECOND):
            self.directory.create(partition)
        self.copy = self.directory.futures.open(MOVED, UUID(int=7))
        for epoch in range(3):
            self.directory.log(FIRST).append([LARGE], leader_epoch=epoch)

    def look(self) -> OSError | None:
        self.now += LOOK_INTERVAL_MS
        self.directory.run_periodic()
        return self.directory.shortage

    def follow(self) -> object:
        data = bytes(self.directory.log(FIRST).read(0, 1 << 20).data)
        return self.directory.append_batches({SECOND: data})

    def wait_for_checkpoints(self) -> None:
        self.now += CHECKPOINT_MS
        self.directory.run_periodic()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture
def root(disk: SmallDisk) -> Iterator[Root]:
    root = Root(disk)
    yield root
    root.directory.abandon()


CALLS: dict[str, tuple[Callable[[Root], object], str]] = {
    "an append of a leader": (lambda root: root.directory.log(FIRST).append([LARGE], leader_epoch=2), "t-0"),
    "an append in a new leader epoch": (lambda root: root.directory.log(FIRST).append([LARGE], leader_epoch=9), "t-0"),
    "an append of a follower": (Root.follow, "t-1"),
    "an append to a copy": (lambda root: root.copy.append([LARGE]), "-future"),
    "a flush, which writes leader epochs": (lambda root: root.directory.log(FIRST).flush(), "t-0"),
    "a truncation": (lambda root: root.directory.log(FIRST).truncate_to(1), "t-0"),
    "recovery points and log starts": (lambda root: root.directory.checkpoint(), "-offset-checkpoint"),
    "high watermarks": (lambda root: root.directory.checkpoint_high_watermarks(), "replication-offset-checkpoint"),
    "checkpoints that are due": (Root.wait_for_checkpoints, "-offset-checkpoint"),
    "a new partition": (lambda root: root.directory.create(NEW, topic_id=UUID(int=3)), "partition.metadata"),
    "new partitions": (lambda root: root.directory.create_many({NEW: UUID(int=3)}), "partition.metadata"),
}


@pytest.mark.parametrize("name", CALLS)
def test_whichever_call_meets_it_the_root_is_short_of_space_and_names_the_file(
    root: Root, disk: SmallDisk, name: str
) -> None:
    call, file = CALLS[name]
    disk.fill()
    with suppress(OSError):
        call(root)
    shortage = root.directory.shortage
    assert shortage is not None
    assert shortage.errno == errno.ENOSPC
    assert str(shortage.filename).startswith(str(root.directory.root))
    assert file in str(shortage.filename)
    disk.make_space()


def test_it_is_short_until_there_is_space_and_nobody_has_met_it_since_the_last_look(
    root: Root, disk: SmallDisk
) -> None:
    disk.fill()
    for _ in range(3):
        with pytest.raises(OSError, match="No space left"):
            root.directory.log(FIRST).append([LARGE], leader_epoch=2)
        assert root.look() is not None
    for _ in range(3):
        assert root.look() is not None, "nobody wrote, and there is no space"
    with pytest.raises(OSError, match="No space left"):
        root.directory.log(FIRST).append([LARGE], leader_epoch=2)
    disk.make_space()
    assert root.look() is not None, "met since the last look"
    assert root.look() is None
    assert not list(root.directory.root.glob("space*"))
    root.directory.log(FIRST).append([LARGE], leader_epoch=2)


def test_compaction_that_finds_no_space_says_nothing_of_others_who_need_less(root: Root, disk: SmallDisk) -> None:
    log = root.directory.log(SECOND)
    log.config = LogConfig(segment_bytes=10_000, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0)
    for number in range(4):
        log.append([Record.of(b"v" * 8_000, key=b"%d" % number, timestamp=1)])
    log.update_high_watermark(log.log_end_offset)
    disk.fill()
    with pytest.raises(OSError, match="No space left"):
        root.directory.compact()
    assert root.directory.shortage is None
    disk.make_space()


@pytest.mark.parametrize("number", sorted({*OUT_OF_SPACE, errno.EIO, errno.EMFILE, errno.ENOMEM}))
def test_only_want_of_space_is_one(tmp_path: Path, number: int) -> None:
    space = DiskSpace(tmp_path, REAL)
    space.note(OSError(number, os.strerror(number)))
    assert (space.shortage is not None) == (number in OUT_OF_SPACE)


def test_who_meets_it_again_while_a_root_looks_is_not_passed_over(tmp_path: Path) -> None:
    class MetMeanwhile(FileSystem):
        def fsync(self, descriptor: int) -> None:
            super().fsync(descriptor)
            space.note(OSError(errno.ENOSPC, "no space", "file"))

    space = DiskSpace(tmp_path, MetMeanwhile())
    space.note(OSError(errno.ENOSPC, "no space", "file"))
    for _ in range(5):
        space.look()
        assert space.shortage is not None


def test_a_disk_that_fails_while_a_root_looks_takes_it_offline(tmp_path: Path) -> None:
    class Failing(FileSystem):
        number = 0

        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            if self.number:
                raise OSError(self.number, os.strerror(self.number))
            super().write(descriptor, data)

    now, disk = [1], Failing()
    directory = LogDirectory.open(tmp_path / "root", filesystem=disk, clock=lambda: now[0])
    log = directory.create(FIRST)
    disk.number = errno.ENOSPC
    with pytest.raises(OSError, match="No space left"):
        log.append([LARGE])
    disk.number = errno.EIO
    for _ in range(2):
        now[0] += LOOK_INTERVAL_MS
        directory.run_periodic()
    assert directory.failure is not None
    assert directory.failure.errno == errno.EIO
    directory.close()
