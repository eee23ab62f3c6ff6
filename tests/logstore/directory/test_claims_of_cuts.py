"""What is cut on purpose is claimed by no checkpoint file, whenever a crash comes: what a log lacks of them is lost."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epoch.filesystem import FileSystem
from logstore.directory.log_directory import LogDirectory
from logstore.errors import LogClosedError, LogPoisonedError, ReentrantCallError
from logstore.files.broker.kept_claims import KEPT_CLAIMS_NAME
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.log.log import Log
from logstore.log.state.root_claims import CutEnd, announce
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition
from tests.crash_states import crash_states
from tests.logstore.log.test_log_crash_states import StateOnDisk
from tests.recording_disk import RecordingDisk

ORDERS = TopicPartition("orders", 0)
PARTITIONS = [TopicPartition("orders", number) for number in range(5)]
CONFIG = LogConfig(segment_bytes=1_200, remote_storage_enable=False)
BATCHES, RECORDS = 9, 10
END = BATCHES * RECORDS
Cut = Callable[[Log], object]

CUTS: dict[str, Cut] = {
    "nothing": lambda log: log.truncate_to(END),
    "in the last segment": lambda log: log.truncate_to(END - 10),
    "across segments": lambda log: log.truncate_to(30),
    "all": lambda log: log.truncate_to(0),
    "and begins later": lambda log: log.truncate_fully_and_start_at(500),
    "and begins earlier": lambda log: log.truncate_fully_and_start_at(20),
}


def opened(root: Path, disk: FileSystem | None = None) -> LogDirectory:
    return LogDirectory.open(root, CONFIG, replicated=True, filesystem=disk or FileSystem())


def fill(log: Log, batches: int = BATCHES, epoch: int = 0) -> None:
    for _ in range(batches):
        log.append([b"v" * 20] * RECORDS, leader_epoch=epoch)
    log.update_high_watermark(log.log_end_offset)


def checkpoint(directory: LogDirectory) -> None:
    directory.checkpoint()
    directory.checkpoint_high_watermarks()


def with_logs(directory: LogDirectory, partitions: list[TopicPartition]) -> list[Log]:
    """Logs of 90 records in three segments, all committed and on stable storage, as the checkpoint files say."""
    directory.create_many(dict.fromkeys(partitions))
    logs = [directory.log(each) for each in partitions]
    for log in logs:
        fill(log)
        log.flush()
    checkpoint(directory)
    return logs


def claimed(root: Path, partition: TopicPartition = ORDERS) -> int:
    return max(OffsetCheckpoint.read(root / name).get(partition, 0) for name in OFFSET_CHECKPOINTS[:2])


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_a_log_that_was_cut_before_its_process_died_lacks_nothing(tmp_path: Path, cut: Cut) -> None:
    directory = opened(tmp_path / "logs")
    (log,) = with_logs(directory, [ORDERS])
    cut(log)
    end = log.log_end_offset
    directory.abandon()
    for _ in range(2):
        directory = opened(tmp_path / "logs")
        assert not directory.shortfalls
        assert directory.log(ORDERS).log_end_offset == end
        directory.abandon()
    assert not (tmp_path / "logs" / KEPT_CLAIMS_NAME).exists()


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
def test_it_lacks_nothing_at_whatever_step_a_crash_comes(memory_dir: Path, cut: Cut) -> None:
    disk = RecordingDisk()
    root = memory_dir / "logs"
    directory = opened(root, disk)
    (log,) = with_logs(directory, [ORDERS])
    disk.tell("cutting")
    cut(log)
    fill(log, 2, epoch=1)
    directory.abandon()
    place = StateOnDisk(memory_dir / "crashed")
    states = (state for told, state in crash_states(disk.steps, memory_dir) if told == "cutting")
    checked = 0
    for state in states:
        after = opened(place.put(state) / "logs")
        assert not after.shortfalls, (checked, after.shortfalls)
        after.abandon()
        checked += 1
    assert checked > 5


@pytest.mark.parametrize("cut", [CUTS["across segments"], CUTS["and begins earlier"]])
def test_a_start_that_is_taken_back_is_not_claimed_either(tmp_path: Path, cut: Cut) -> None:
    """Kafka would begin an empty log where the file says that this one starts."""
    directory = opened(tmp_path / "logs")
    (log,) = with_logs(directory, [ORDERS])
    log.delete_records(75)
    checkpoint(directory)
    cut(log)
    start, end = log.log_start_offset, log.log_end_offset
    directory.abandon()
    with opened(tmp_path / "logs") as directory:
        assert not directory.shortfalls
        assert (directory.log(ORDERS).log_start_offset, directory.log(ORDERS).log_end_offset) == (start, end)


def test_what_is_written_while_a_log_is_cut_says_no_more(tmp_path: Path) -> None:
    with opened(tmp_path) as directory:
        (log,) = with_logs(directory, [ORDERS])
        announced = log.announced_cut(30)
        assert announced is not None
        claims = announced.claims
        with claims.cutting(ORDERS, CutEnd.at(30)), claims.cutting(ORDERS, CutEnd.at(50)):
            assert claimed(tmp_path) == 30
            checkpoint(directory)
            assert claimed(tmp_path) == 30
        checkpoint(directory)
        assert claimed(tmp_path) == END


class CountingDisk(FileSystem):
    """Counts the files that are put in place."""

    renamed: list[str]

    def __init__(self) -> None:
        self.renamed = []
        self.failure: OSError | None = None

    def rename(self, source: Path, target: Path) -> None:
        if self.failure is not None and target.name in OFFSET_CHECKPOINTS:
            raise self.failure
        super().rename(source, target)
        self.renamed.append(target.name)

    def checkpoints(self) -> list[str]:
        """Those that were written since the last call."""
        renamed, self.renamed = self.renamed, []
        return [name for name in renamed if name in OFFSET_CHECKPOINTS]


def test_cuts_that_are_announced_together_are_one_write_of_each_file(tmp_path: Path) -> None:
    disk = CountingDisk()
    with opened(tmp_path, disk) as directory:
        logs = with_logs(directory, PARTITIONS)
        disk.checkpoints()
        announce(cut for log in logs if (cut := log.announced_cut(30)) is not None)
        for log in logs:
            log.truncate_to(30)
        assert sorted(disk.checkpoints()) == sorted(OFFSET_CHECKPOINTS[:2])


def test_a_cut_of_what_no_file_claims_writes_none(tmp_path: Path) -> None:
    disk = CountingDisk()
    with opened(tmp_path, disk) as directory:
        (log,) = with_logs(directory, [ORDERS])
        fill(log)
        disk.checkpoints()
        log.truncate_to(END + 10)
        log.truncate_to(END)
        assert disk.checkpoints() == []


def test_a_log_whose_claims_cannot_be_lowered_for_want_of_space_is_not_cut(tmp_path: Path) -> None:
    disk = CountingDisk()
    with opened(tmp_path, disk) as directory:
        (log,) = with_logs(directory, [ORDERS])
        disk.failure = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        with pytest.raises(OSError, match="No space left"):
            log.truncate_to(30)
        assert log.log_end_offset == END
        assert directory.shortage is not None
        disk.failure = None
        log.truncate_to(30)
        assert claimed(tmp_path) == log.log_end_offset == 30


def test_a_disk_that_fails_as_claims_are_lowered_takes_its_root_offline(tmp_path: Path) -> None:
    disk = CountingDisk()
    directory = opened(tmp_path, disk)
    (log,) = with_logs(directory, [ORDERS])
    disk.failure = OSError(errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(OSError, match="Input/output error"):
        log.truncate_to(30)
    directory.notice_failures()
    assert directory.failure is disk.failure
    directory.close()


class BreakingDisk(FileSystem):
    """Breaks a call off once a checkpoint file is in place."""

    armed = False

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        if self.armed and target.name == HIGH_WATERMARK_CHECKPOINT:
            self.armed = False
            raise KeyboardInterrupt


def test_a_file_whose_writing_was_broken_off_is_not_believed_to_be_as_before(tmp_path: Path) -> None:
    disk = BreakingDisk()
    directory = opened(tmp_path, disk)
    log = directory.create(ORDERS)
    checkpoint(directory)
    fill(log)
    disk.armed = True
    with pytest.raises(KeyboardInterrupt):
        directory.checkpoint_high_watermarks()
    assert claimed(tmp_path) == END
    log.truncate_to(30)
    assert claimed(tmp_path) <= 30
    directory.abandon()


@pytest.fixture
def on_signal() -> Iterator[Callable[[Callable[[], object]], None]]:
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda call: signal.signal(signal.SIGUSR1, lambda *_: call()) and None
    signal.signal(signal.SIGUSR1, before)


class SignallingDisk(FileSystem):
    """Putting the next checkpoint file in place is interrupted by a signal."""

    armed = False

    def rename(self, source: Path, target: Path) -> None:
        if self.armed and target.name in OFFSET_CHECKPOINTS:
            self.armed = False
            os.kill(os.getpid(), signal.SIGUSR1)
        super().rename(source, target)


CALLS: dict[str, Callable[[LogDirectory], object]] = {
    "checkpoint": LogDirectory.checkpoint,
    "close": LogDirectory.close,
    "abandon": LogDirectory.abandon,
    "truncate_to": lambda directory: directory.log(ORDERS).truncate_to(10),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("during", [LogDirectory.checkpoint, lambda directory: directory.log(ORDERS).truncate_to(30)])
def test_a_signal_handler_in_the_middle_of_the_writing_is_refused(
    tmp_path: Path,
    on_signal: Callable[[Callable[[], object]], None],
    during: Callable[[LogDirectory], object],
    call: Callable[[LogDirectory], object],
) -> None:
    disk = SignallingDisk()
    refused: list[ReentrantCallError] = []
    with opened(tmp_path, disk) as directory:
        with_logs(directory, [ORDERS])

        def handle() -> None:
            directory.run_periodic()
            with pytest.raises(ReentrantCallError) as found:
                call(directory)
            refused.append(found.value)

        on_signal(handle)
        disk.armed = True
        during(directory)
        assert len(refused) == 1
        assert directory.log(ORDERS).log_end_offset in (30, END)
    with opened(tmp_path) as directory:
        assert not directory.shortfalls


@settings(max_examples=12, deadline=None)
@given(cuts=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 12)), min_size=1, max_size=8))
def test_threads_that_cut_and_one_that_writes_checkpoints_leave_no_false_claim(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int]]
) -> None:
    root = tmp_path_factory.mktemp("logs")
    directory = opened(root)
    logs = with_logs(directory, PARTITIONS[:2])

    def cut(number: int) -> None:
        for which, batches in cuts:
            if which == number:
                logs[number].truncate_to(batches * RECORDS)
                fill(logs[number], 1)

    threads = [Thread(target=cut, args=(number,)) for number in range(len(logs))]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        checkpoint(directory)
    for thread in threads:
        thread.join()
    ends = [log.log_end_offset for log in logs]
    assert [claimed(root, each) <= end for each, end in zip(PARTITIONS, ends, strict=False)] == [True, True]
    directory.abandon()
    with opened(root) as directory:
        assert not directory.shortfalls


def test_a_log_that_is_closed_or_poisoned_is_not_cut_and_keeps_no_claims_low(tmp_path: Path) -> None:
    directory = opened(tmp_path)
    (log,) = with_logs(directory, [ORDERS])
    log.abandon()
    with pytest.raises((LogClosedError, LogPoisonedError)):
        log.truncate_to(30)
    directory.abandon()
    with opened(tmp_path) as directory:
        assert directory.log(ORDERS).log_end_offset == END
        checkpoint(directory)
        assert claimed(tmp_path) == END
