"""A signal handler that uses a directory of logs in the middle of a call of its own thread is refused, at once."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import ReentrantCallError
from logstore.topic_partition import TopicPartition

PARTITION = TopicPartition("orders", 0)
OTHER = TopicPartition("orders", 1)
CALLS: dict[str, Callable[[LogDirectory], object]] = {
    "close": LogDirectory.close,
    "abandon": LogDirectory.abandon,
    "checkpoint": LogDirectory.checkpoint,
    "checkpoint_high_watermarks": LogDirectory.checkpoint_high_watermarks,
    "notice_failures": LogDirectory.notice_failures,
    "create": lambda directory: directory.create(TopicPartition("orders", 2)),
    "delete": lambda directory: directory.delete(OTHER),
    "recover": lambda directory: directory.recover(OTHER),
}


class SignallingDisk(FileSystem):
    """The next fsync of a directory is interrupted by a signal."""

    armed = False

    def fsync_directory(self, path: Path) -> None:
        if self.armed:
            self.armed = False
            os.kill(os.getpid(), signal.SIGUSR1)
        super().fsync_directory(path)


class DiskSignallingInFsync(FileSystem):
    """The next fsync of a file is interrupted by a signal."""

    armed = False

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        if self.armed:
            self.armed = False
            os.kill(os.getpid(), signal.SIGUSR1)


@pytest.fixture
def handled() -> Iterator[Callable[[Callable[[], object]], None]]:
    """Set what the signal's handler does."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda call: signal.signal(signal.SIGUSR1, lambda *_: call()) and None
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_in_the_middle_of_another_is_refused_before_anything_is_touched(
    tmp_path: Path, handled: Callable[[Callable[[], object]], None], name: str
) -> None:
    disk = SignallingDisk()
    with LogDirectory.open(tmp_path, filesystem=disk) as directory:
        other = directory.create(OTHER)
        refused: list[ReentrantCallError] = []

        def call() -> None:
            with pytest.raises(ReentrantCallError) as raised:
                CALLS[name](directory)
            refused.append(raised.value)

        handled(call)
        disk.armed = True
        log = directory.create(PARTITION)
        assert len(refused) == 1
        assert directory.partitions == {OTHER: other, PARTITION: log}
        log.append([Record.of(b"v")])
        directory.checkpoint()


def test_nothing_is_due_in_the_middle_of_a_call(
    tmp_path: Path, handled: Callable[[Callable[[], object]], None]
) -> None:
    disk = SignallingDisk()
    with LogDirectory.open(tmp_path, filesystem=disk, clock=iter(range(0, 10**12, 10**9)).__next__) as directory:
        (tmp_path / "recovery-point-offset-checkpoint").unlink(missing_ok=True)
        handled(directory.run_periodic)
        disk.armed = True
        directory.create(PARTITION)
        assert not (tmp_path / "recovery-point-offset-checkpoint").exists()
        directory.run_periodic()
        assert (tmp_path / "recovery-point-offset-checkpoint").exists()


@pytest.mark.parametrize("end", [LogDirectory.close, LogDirectory.abandon])
@pytest.mark.parametrize("periodic", [False, True])
def test_the_directory_stays_open_where_a_call_of_one_of_its_logs_is_interrupted(
    tmp_path: Path,
    handled: Callable[[Callable[[], object]], None],
    end: Callable[[LogDirectory], None],
    periodic: bool,
) -> None:
    disk = DiskSignallingInFsync()
    with LogDirectory.open(tmp_path, filesystem=disk, periodic=periodic) as directory:
        log = directory.create(PARTITION)
        log.append([Record.of(b"v")])
        refused: list[ReentrantCallError] = []

        def call() -> None:
            with pytest.raises(ReentrantCallError) as raised:
                end(directory)
            refused.append(raised.value)

        handled(call)
        disk.armed = True
        log.roll()
        assert len(refused) == 1
        log.append([Record.of(b"w")])
        assert directory.log(PARTITION).log_end_offset == 2
