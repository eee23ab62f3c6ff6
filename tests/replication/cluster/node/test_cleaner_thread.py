"""A broker compacts what is due in its log.dirs by itself, as long as it runs, whatever becomes of one of them."""

import errno
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any

import pytest

from logstore import LogDirectory, TopicPartition
from logstore.batch.record import Record
from logstore.compaction.cleaned_segment import CleanedSegment
from logstore.directory.directory_settings import DirectorySettings
from logstore.directory.log_directories import LogDirectories
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment
from replication.cli.settings.broker_properties import BrokerProperties
from replication.cluster.node import cleaner_thread
from replication.cluster.node.cleaner_thread import CleanerThread
from replication.wire.addresses import Address
from tests.replication.cluster.standalone.alone import alone
from tests.replication.waiting import wait_until

COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=500)
PARTITION = TopicPartition("balances", 0)
ANOTHER = TopicPartition("balances", 1)
DELETED = TopicPartition("orders", 0)
WRITES = 40

Failing = dict[Path, Exception]


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[LogDirectories]:
    with LogDirectories.open(
        [tmp_path / "a", tmp_path / "b"],
        lambda partition: LogConfig(segment_bytes=500) if partition == DELETED else COMPACTED,
        replicated=True,
        settings=DirectorySettings(log_cleaner_backoff_ms=10),
    ) as directories:
        yield directories


@pytest.fixture
def cleaner(directories: LogDirectories) -> Iterator[CleanerThread]:
    cleaner = CleanerThread(directories)
    cleaner.start()
    yield cleaner
    assert cleaner.failure is None
    cleaner.stop()


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Failing:
    """What writing a cleaned segment raises, by the directory of the log."""
    failing, write = Failing(), CleanedSegment.write

    def fail(self: CleanedSegment, segment: LiveSegment, *more: Any) -> None:
        if error := failing.get(segment.path.parent):
            raise error
        write(self, segment, *more)

    monkeypatch.setattr(CleanedSegment, "write", fail)
    return failing


def write(root: LogDirectory, partition: TopicPartition) -> None:
    log = root.partitions.get(partition) or root.create(partition)
    for number in range(WRITES):
        log.append([Record.of(b"value %d" % number, b"key")])
    log.update_high_watermark(log.log_end_offset)


def count(root: LogDirectory, partition: TopicPartition) -> int:
    found, offset = 0, 0
    while batches := list(root.log(partition).read(offset, 1 << 20).batches()):
        found += sum(len(list(batch.records())) for batch in batches)
        offset = batches[-1].last_offset + 1
    return found


@pytest.mark.usefixtures("cleaner")
def test_each_directory_is_compacted_again_and_again(directories: LogDirectories) -> None:
    for _ in range(2):
        for root in directories.roots:
            write(root, PARTITION)
        for root in directories.roots:
            wait_until(lambda root=root: count(root, PARTITION) < WRITES // 2, f"{root} is compacted")


@pytest.mark.usefixtures("cleaner")
def test_what_is_not_compacted_is_left_as_it_is(directories: LogDirectories) -> None:
    root = directories.roots[0]
    write(root, DELETED)
    write(root, PARTITION)
    wait_until(lambda: count(root, PARTITION) < WRITES // 2, "the other is compacted")
    assert count(root, DELETED) == WRITES


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "no space left"), ValueError("what nobody thought of")], ids=["space", "unforeseen"]
)
def test_a_log_that_cannot_be_compacted_holds_up_no_other(
    error: Exception, directories: LogDirectories, failing: Failing, cleaner: CleanerThread
) -> None:
    broken, sound = directories.roots
    failing[broken.root / str(PARTITION)] = error
    for partition in (PARTITION, ANOTHER):
        write(sound, partition)
        write(broken, partition)
    for root, partition in ((broken, ANOTHER), (sound, PARTITION), (sound, ANOTHER)):
        wait_until(lambda root=root, it=partition: count(root, it) < WRITES // 2, f"{partition} in {root} is compacted")
    assert count(broken, PARTITION) == WRITES
    failing.clear()
    wait_until(lambda: count(broken, PARTITION) < WRITES // 2, "it is compacted, once that is possible")
    assert directories.offline == {}
    assert not cleaner.stopped


def test_a_disk_that_fails_is_taken_offline_and_the_other_goes_on(
    directories: LogDirectories, failing: Failing, cleaner: CleanerThread
) -> None:
    broken, sound = directories.roots
    failing[broken.root / str(PARTITION)] = OSError(errno.EIO, "Input/output error")
    for root in (broken, sound):
        write(root, ANOTHER)
        write(root, PARTITION)
    wait_until(lambda: broken.failure is not None, "its disk has failed")
    for partition in (PARTITION, ANOTHER):
        wait_until(lambda it=partition: count(sound, it) < WRITES // 2, f"{partition} is compacted")
    assert set(directories.offline) == {broken.root}
    assert not cleaner.stopped


def test_a_partition_may_be_deleted_while_it_is_compacted(
    directories: LogDirectories,
    cleaner: CleanerThread,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    root = directories.roots[0]
    deleting = Thread(target=lambda: root.delete(PARTITION))
    clean = CleanedSegment.write

    def delete_meanwhile(self: CleanedSegment, *what: Any) -> None:
        if deleting.ident is None:
            deleting.start()
            wait_until(lambda: turn.closings > 0 or not deleting.is_alive(), "it is being deleted")
        clean(self, *what)

    with monkeypatch.context() as patched:
        turn = root.create(PARTITION)._compaction_turn
        patched.setattr(CleanedSegment, "write", delete_meanwhile)
        write(root, PARTITION)
        wait_until(lambda: PARTITION not in root.partitions, "it is deleted")
        deleting.join()
    write(root, ANOTHER)
    wait_until(lambda: count(root, ANOTHER) < WRITES // 2, "another is compacted")
    assert directories.offline == {}
    assert not cleaner.stopped
    assert not [each for each in caplog.records if each.name == cleaner_thread.__name__]


@pytest.mark.parametrize(("text", "runs"), [("true", True), ("false", False)])
def test_it_runs_unless_log_cleaner_enable_is_false(text: str, runs: bool, tmp_path: Path) -> None:
    given = {"log.cleaner.enable": text, "log.cleaner.backoff.ms": "0"}
    properties = BrokerProperties.of(given, Address("127.0.0.1", 0))
    assert properties.directories.log_cleaner_backoff_ms == 0
    before = set(enumerate_threads())
    with alone(tmp_path / "data", compacts=properties.compacts):
        begun = {each.name for each in set(enumerate_threads()) - before}
    assert ("broker-cleaner" in begun) == runs


@pytest.mark.usefixtures("cleaner")
def test_what_is_wrong_is_said_of_each_directory_and_each_log(
    directories: LogDirectories, failing: Failing, caplog: pytest.LogCaptureFixture
) -> None:
    for root in directories.roots:
        for partition in (PARTITION, ANOTHER):
            failing[root.root / str(partition)] = OSError(errno.ENOSPC, f"no space for {root.root}/{partition}")
            write(root, partition)
    for root in directories.roots:
        expected = [f"in {root.root} ", f"no space for {root.root}/{PARTITION}", f"no space for {root.root}/{ANOTHER}"]
        wait_until(
            lambda expected=expected: any(all(each in told for each in expected) for told in caplog.messages),
            f"it is said that {root.root} is full",
        )
