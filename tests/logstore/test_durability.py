"""docs/durability.md, line by line: each promise has the test of its number, and each row of the table is compared."""

import errno
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from epoch.base.resource_limits import ResourceLimitError
from epoch.filesystem import FileSystem
from logstore.batch.record import Record
from logstore.clock import WatchedClock, now_ms
from logstore.directory.log_directory import LogDirectory
from logstore.errors import (
    DamagedLogError,
    DirectoryLockedError,
    HoleError,
    LogClosedError,
    LogPoisonedError,
    NotALogDirectoryError,
    ReentrantCallError,
)
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.only_copy.offset_gaps import Hole
from logstore.files.root_checkpoints import PartitionCheckpoints
from logstore.log.log import Log
from logstore.log_config import DAY_MS, LogConfig
from logstore.topic_partition import TopicPartition
from tests.crash_states import Replay, State, crash_states, fingerprint, write_state
from tests.data.replicas import PROJECT
from tests.disk import FailingDisk, Failure
from tests.interruption import exit_status_of
from tests.logstore.late_syncs import late_syncs
from tests.logstore.log.test_compaction_crash_states import CompactedLife, check
from tests.logstore.log.test_log_crash_states import check_epochs, is_part, whole_batches
from tests.logstore.log_workloads import CONFIG, NOW, PARTITION, DirectoryWorkload, LogUse, Workload, stored
from tests.recording_disk import Made, Renamed, Step, Synced, SyncedDirectory

PAGE = (PROJECT / "docs/durability.md").read_text()
RECORD = Record(0, NOW, None, b"value")


def after_process_death(work: Workload) -> Log:
    """The log as the next process finds it."""
    work.log.abandon()
    return Log.open(work.root / PARTITION, work.config, clock=lambda: NOW)


def after_power_loss(work: Workload, place: Path) -> Iterator[Log]:
    """The log as it may be found when power is lost now: in each of the states that are left."""
    for number, state in enumerate(power_loss(work)):
        directory = place / str(number)
        directory.mkdir(parents=True)
        write_state(state, directory)
        log = Log.open(directory / PARTITION, work.config, clock=lambda: NOW)
        yield log
        log.abandon()


def power_loss(work: Workload) -> Iterator[State]:
    replay = Replay(work.root)
    for step in work.disk.steps:
        replay.do(step)
    yield from replay.crash_states()


@pytest.fixture
def work(memory_dir: Path, request: pytest.FixtureRequest) -> Workload:
    root = memory_dir / request.node.name
    root.mkdir()
    return Workload(root)


@pytest.fixture
def place(memory_dir: Path, request: pytest.FixtureRequest) -> Path:
    return memory_dir / f"{request.node.name}-crashed"


def test_every_promise_has_a_test() -> None:
    promised = {int(number) for number in re.findall(r"^- \*\*P(\d+)\*\*", PAGE, re.MULTILINE)}
    tested = {int(match[1]) for name in globals() if (match := re.match(r"test_p(\d+)_", name))}
    assert promised == tested


# --- process death


def test_p1_an_append_that_returned_is_there(work: Workload) -> None:
    for epoch in range(6):
        work.lead(2, 300, epoch=epoch)
    assert whole_batches(after_process_death(work)) == work.versions[-1]


def test_p2_an_append_is_there_as_whole_batches_or_not_at_all(work: Workload) -> None:
    work.follow((1, 100, 0), (2, 100, 0), (1, 200, 0))
    [path] = work.root.glob("*/*.log")
    data = path.read_bytes()
    for size in range(len(data)):
        path.write_bytes(data[:size])
        again = after_process_death(work)
        batches = whole_batches(again)
        again.abandon()
        assert batches == work.versions[-1][: len(batches)]


def test_p3_truncations_and_deletions_stay_done(work: Workload) -> None:
    for _ in range(5):
        work.lead(2, 300)
    work.truncate_to(8)
    work.delete_records(3)
    again = after_process_death(work)
    assert (again.log_start_offset, again.log_end_offset) == (3, 8)


def test_p4_recovery_cuts_off_what_is_torn_and_says_so(work: Workload) -> None:
    work.lead()
    [path] = work.root.glob("*/*.log")
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + b"torn")
    [dropped] = after_process_death(work).report.dropped
    assert (dropped.position, dropped.bytes) == (size, 4)


# --- power loss


def test_p5_what_is_lost_is_the_end_of_what_was_not_flushed(work: Workload, place: Path) -> None:
    work.lead(2, 300)
    work.flush()
    for _ in range(3):
        work.lead(2, 100)
    found = [whole_batches(log) for log in after_power_loss(work, place)]
    assert all(batches == work.versions[-1][: len(batches)] for batches in found)
    assert {len(batches) for batches in found} == {1, 2, 3, 4}


def test_p6_what_is_flushed_or_closed_is_there(work: Workload, place: Path) -> None:
    for epoch in range(4):
        work.lead(2, 300, epoch=epoch)
    end = work.log.flush()
    work.lead(1, 100, epoch=4)
    for log in after_power_loss(work, place):
        assert whole_batches(log)[:4] == work.versions[-1][:4]
        assert log.log_end_offset >= end
    work.log.close()
    assert len({fingerprint(state) for state in power_loss(work)}) == 1, "all that is in the directory is synced"
    for log in after_power_loss(work, place / "closed"):
        assert whole_batches(log) == work.versions[-1]
        assert log.report.recovered_segments == 0


def test_p7_at_most_one_segment_is_unsynced(work: Workload, place: Path) -> None:
    for _ in range(9):
        work.lead(2, 300)
    before = work.log.segments[-1].base_offset
    assert before > 0
    assert all(log.log_end_offset >= before for log in after_power_loss(work, place))


def test_p7_at_most_two_are_where_the_sync_comes_later(work: Workload, place: Path) -> None:
    with late_syncs():
        for _ in range(12):
            work.lead(2, 300)
        before = work.log.segments[-2].base_offset
        assert before > 0
        found = [(log.log_end_offset, whole_batches(log)) for log in after_power_loss(work, place)]
    ends, batches = zip(*found, strict=True)
    assert min(ends) == before
    assert all(each == work.versions[-1][: len(each)] for each in batches)
    assert after_process_death(work).log_end_offset == 24


def test_p8_epochs_are_those_of_the_batches(work: Workload, place: Path) -> None:
    work.lead(epoch=0)
    work.flush()
    work.lead(epoch=3)
    steps = work.disk.steps
    written = next(n for n, step in enumerate(reversed(steps)) if step.__class__.__name__ == "Wrote")
    assert "leader-epoch-checkpoint" in synced(steps[: len(steps) - written], 0)
    for log in after_power_loss(work, place):
        check_epochs(log, whole_batches(log))


def test_p9_a_truncation_is_undone_as_a_whole_or_not(work: Workload, place: Path) -> None:
    for epoch in range(5):
        work.follow((2, 300, epoch))
    work.flush()
    work.truncate_to(4)
    work.follow((2, 200, 7))
    found = [whole_batches(log) for log in after_power_loss(work, place)]
    assert all(any(is_part(batches, version) for version in work.versions) for batches in found)


def test_p10_deleted_segments_stay_deleted(memory_dir: Path) -> None:
    root = memory_dir / "p10"
    root.mkdir()
    directory = DirectoryWorkload(root)
    use = directory.create(0)
    for _ in range(6):
        use.lead(2, 300)
    use.flush()
    use.log.update_high_watermark(12)
    use.log.delete_records(9)
    assert use.log.delete_old_segments()
    replay = Replay(root)
    for step in directory.disk.steps:
        replay.do(step)
    first = Path("logs/t-0") / f"{0:020}.log"
    assert all(first not in state for state in replay.crash_states())


def test_p33_a_compaction_that_is_cut_off_loses_no_latest_value(memory_dir: Path) -> None:
    root = memory_dir / "p33"
    root.mkdir()
    life = CompactedLife(root, random.Random(33))
    life.live()
    for number, (told, state) in enumerate(crash_states(life.disk.steps, root)):
        if number % 40 == 0 and Path(PARTITION) in state:
            place = memory_dir / f"p33-{number}"
            place.mkdir()
            write_state(state, place)
            check(place / PARTITION, life, told if isinstance(told, int) else 0)


# --- acknowledgements


def test_p11_acks_0_promises_nothing(work: Workload) -> None:
    assert after_process_death(work).log_end_offset == 0


def test_p12_acks_1_survives_the_process_and_neither_power_loss_nor_an_election(work: Workload, place: Path) -> None:
    work.lead()
    assert any(log.log_end_offset == 0 for log in after_power_loss(work, place))
    leader = after_process_death(work)
    assert leader.log_end_offset == 2
    leader.truncate_to(0)
    assert leader.log_end_offset == 0


def test_p13_acks_all_survives_power_loss_of_all_but_one(work: Workload, place: Path) -> None:
    work.lead()
    with Log.open(place.with_name("p13follower-0"), CONFIG) as follower:
        follower.append_batches(work.versions[-1][0].data)
        work.log.update_high_watermark(follower.log_end_offset)
        assert work.log.high_watermark == 2
        assert any(log.log_end_offset == 0 for log in after_power_loss(work, place))
        assert stored(follower, 0) == work.versions[-1]


def test_p14_with_flush_messages_1_an_append_survives_power_loss(memory_dir: Path, place: Path) -> None:
    root = memory_dir / "p14"
    root.mkdir()
    work = Workload(root, LogConfig(flush_messages=1))
    work.lead()
    work.lead(epoch=1)
    assert all(whole_batches(log) == work.versions[-1] for log in after_power_loss(work, place))


# --- defaults


def test_p15_nothing_is_flushed_by_default(work: Workload) -> None:
    assert (LogConfig().flush_messages, LogConfig().flush_ms) == (2**63 - 1, 2**63 - 1)
    work.lead()
    assert ".log" not in synced(work.disk.steps, 0)


def test_p16_flush_ms_is_done_by_run_periodic(tmp_path: Path) -> None:
    now = [NOW]
    with LogDirectory.open(tmp_path / "logs", LogConfig(flush_ms=5_000), clock=lambda: now[0]) as directory:
        log = directory.create(TopicPartition("t", 0))
        log.append([RECORD], leader_epoch=0)
        for after, recovery_point in ((1_000, 0), (2_000, 0), (7_000, 1)):
            now[0] = NOW + after
            directory.run_periodic()
            assert log.recovery_point == recovery_point


def test_p34_the_only_copy_loses_nothing_by_age_and_commits_what_is_flushed(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=150, file_delete_delay_ms=0)
    for replicated in (False, True):
        with Log.open(tmp_path / f"{replicated}-0", config, replicated=replicated, clock=lambda: NOW) as log:
            for _ in range(3):
                log.append([Record.of(b"x" * 50, timestamp=NOW - 30 * DAY_MS)], leader_epoch=0)
            assert log.flush() == 3
            assert log.high_watermark == (0 if replicated else 3)
            log.update_high_watermark(3)
            assert log.delete_old_segments() == (3 if replicated else 0)


def test_p39_a_clock_that_jumps_ahead_deletes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = LogConfig(retention_ms=1_000, segment_bytes=150, file_delete_delay_ms=0)
    clock = WatchedClock()
    with Log.open(tmp_path / PARTITION, config, clock=clock) as log:
        log.append([b"x" * 60])
        log.flush()
        ahead = now_ms() + 2 * 3_600_000
        monkeypatch.setattr("logstore.clock.now_ms", lambda: ahead)
        log._environment.clock = lambda: ahead
        assert log.delete_old_segments() == 0
        clock.confirm()
        assert log.delete_old_segments() == 1


def test_p40_no_checkpoint_file_claims_what_was_cut_on_purpose(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path, replicated=True)
    log = directory.create(TopicPartition("orders", 0))
    for _ in range(2):
        log.append([RECORD], leader_epoch=0)
    log.flush()
    log.update_high_watermark(2)
    directory.checkpoint()
    directory.checkpoint_high_watermarks()
    log.truncate_to(1)
    directory.abandon()
    with LogDirectory.open(tmp_path, replicated=True) as directory:
        assert not directory.shortfalls


# --- interruptions


class Interruption(BaseException):
    """What a signal handler raises."""


class InterruptedDisk(FileSystem):
    """Calls something after the next step of a kind."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.call = call
        self.after = ""

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        super().write(descriptor, data)
        self._passed("write")

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        self._passed("fsync")

    def truncate(self, path: Path, size: int) -> None:
        super().truncate(path, size)
        self._passed("truncate")

    def _passed(self, step: str) -> None:
        if step == self.after:
            self.after = ""
            self.call()


def interrupt() -> None:
    raise Interruption


def test_p26_appends_rolls_and_flushes_that_are_interrupted_have_not_happened(tmp_path: Path) -> None:
    disk = InterruptedDisk(interrupt)
    with Log.open(tmp_path / PARTITION, CONFIG, filesystem=disk) as log:
        log.append([RECORD])
        for step, call in (("write", lambda: log.append([RECORD])), ("fsync", log.roll), ("fsync", log.flush)):
            disk.after = step
            with pytest.raises(Interruption):
                call()
            assert (log.log_end_offset, log.failure) == (1, None)
        assert log.append([RECORD]).first_offset == 1
    with Log.open(tmp_path / PARTITION, CONFIG) as again:
        assert again.log_end_offset == 2


def test_p27_a_truncation_that_is_interrupted_poisons_the_log(tmp_path: Path) -> None:
    disk = InterruptedDisk(interrupt)
    with Log.open(tmp_path / PARTITION, CONFIG, filesystem=disk) as log:
        for _ in range(3):
            log.append([RECORD])
        disk.after = "truncate"
        with pytest.raises(Interruption):
            log.truncate_to(1)
        for call in (lambda: log.append([RECORD]), lambda: log.read(0, 100), log.flush):
            with pytest.raises(LogPoisonedError, match="interrupted"):
                call()
        size = log.segments[0].path.stat().st_size
    assert (tmp_path / PARTITION / f"{0:020}.log").stat().st_size == size
    with Log.open(tmp_path / PARTITION, CONFIG) as again:
        assert again.log_end_offset == 1


def test_p27_a_log_of_a_directory_is_recovered_by_the_directory_alone(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path / "root") as directory:
        log = directory.create(TopicPartition("t", 0))
        with pytest.raises(DirectoryLockedError, match="which has to recover it; continue with"):
            log.recover()
        log.append([RECORD])
        recovered = directory.recover(TopicPartition("t", 0))
    for closed in (log, recovered):
        for call in (closed.recover, partial(closed.append, [RECORD])):
            with pytest.raises(LogClosedError):
                call()


def test_p28_a_signal_handler_that_uses_the_log_within_a_call_is_refused(tmp_path: Path) -> None:
    refused: list[object] = []

    def use_the_log() -> None:
        with pytest.raises(ReentrantCallError) as error:
            log.append([RECORD])
        refused.append(error.value)

    disk = InterruptedDisk(use_the_log)
    with Log.open(tmp_path / PARTITION, CONFIG, filesystem=disk) as log:
        disk.after = "write"
        assert log.append([RECORD]).first_offset == 0
        assert (len(refused), log.log_end_offset) == (1, 1)


def test_p29_a_process_that_is_forked_in_the_middle_of_a_call_is_refused_at_once(tmp_path: Path) -> None:
    found: list[int] = []

    def fork_in_another_thread() -> None:
        for call in (lambda: log.append([RECORD]), lambda: log.truncate_to(0), lambda: log.read(0, 100), log.close):
            forking = Thread(
                target=lambda call=call: found.append(exit_status_of(call, refused=LogClosedError, seconds=20))
            )
            forking.start()
            forking.join()

    disk = InterruptedDisk(fork_in_another_thread)
    with Log.open(tmp_path / PARTITION, CONFIG, filesystem=disk) as log:
        disk.after = "write"
        assert log.append([RECORD]).first_offset == 0
    assert found == [7, 7, 7, 0]


# --- failures


def test_p17_a_full_disk_leaves_a_log_that_goes_on(tmp_path: Path) -> None:
    disk = FailingDisk(0, Failure.SHORT)
    with Log.open(tmp_path / PARTITION, CONFIG, filesystem=disk) as log:
        log.append([RECORD], leader_epoch=0)
        disk.steps_left = 1
        with pytest.raises(OSError, match=r"No space left on device: .*\.log"):
            log.append([RECORD], leader_epoch=0)
        assert log.log_end_offset == 1
        for operation in (log.flush, log.roll):
            disk.steps_left = 1
            with pytest.raises(OSError, match="No space left on device"):
                operation()
        assert log.append([RECORD], leader_epoch=0).first_offset == 1
        assert log.flush() == 2


def test_p18_a_failed_fsync_poisons_the_log(tmp_path: Path) -> None:
    disk = FailingDisk(0, Failure.BROKEN)
    log = Log.open(tmp_path / PARTITION, CONFIG, filesystem=disk)
    log.append([RECORD], leader_epoch=0)
    disk.steps_left = 5
    with pytest.raises(OSError, match="Input/output error"):
        log.flush()
    assert disk.failed.startswith("fsync")
    with pytest.raises(LogPoisonedError):
        log.append([RECORD], leader_epoch=0)
    assert len(stored(log, 0)) == 1
    with log.recover() as recovered:
        assert recovered.append([RECORD], leader_epoch=0).first_offset == 1


def test_p18_what_is_in_the_log_already_is_not_taken_back_by_a_full_disk(tmp_path: Path) -> None:
    disk = FailingDisk(0, Failure.FULL)
    log = Log.open(tmp_path / PARTITION, replace(CONFIG, flush_messages=2), filesystem=disk)
    log.append([RECORD], leader_epoch=0)
    disk.steps_left = 2
    with pytest.raises(OSError, match="No space left on device"):
        log.append([RECORD], leader_epoch=0)
    assert (log.log_end_offset, log.failure is None) == (2, False)
    with log.recover() as recovered:
        assert recovered.append([RECORD], leader_epoch=0).first_offset == 2


def test_p19_a_failed_disk_takes_only_its_root_offline(tmp_path: Path) -> None:
    disk = FailingDisk(0, Failure.BROKEN)
    with (
        LogDirectory.open(tmp_path / "bad", filesystem=disk) as bad,
        LogDirectory.open(tmp_path / "good") as good,
    ):
        logs = [directory.create(TopicPartition("t", 0)) for directory in (bad, good)]
        disk.steps_left = 1
        with pytest.raises(OSError, match="Input/output error"):
            logs[0].append([RECORD], leader_epoch=0)
        bad.run_periodic()
        assert bad.failure is not None
        assert logs[1].append([RECORD], leader_epoch=0).first_offset == 0


# --- the lock


def test_p20_the_lock_stays_when_its_file_is_opened_and_closed(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path / "logs") as directory:
        (directory.root / ".lock").read_bytes()
        with pytest.raises(DirectoryLockedError):
            LogDirectory.open(tmp_path / "logs")
        directory.create(TopicPartition("t", 0))


def test_p21_a_forked_child_has_no_lock(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path / "logs") as directory:
        log = directory.create(TopicPartition("t", 0))
        child = os.fork()
        if not child:
            with suppress(LogClosedError):
                log.append([RECORD], leader_epoch=0)
                os._exit(1)
            with suppress(DirectoryLockedError):
                directory.create(TopicPartition("t", 1))
                os._exit(2)
            os._exit(7)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_p22_a_log_that_stands_alone_keeps_others_out_and_out_of_their_roots(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0"):
        with pytest.raises(DirectoryLockedError, match="this process itself"):
            Log.open(tmp_path / "t-0")
        with LogDirectory.open(tmp_path) as directory:
            assert isinstance(directory.unreadable[TopicPartition("t", 0)], DirectoryLockedError)
    with LogDirectory.open(tmp_path) as directory:
        assert not directory.unreadable
        with pytest.raises(DirectoryLockedError):
            Log.open(tmp_path / "t-0")
    Log.open(tmp_path / "t-0").abandon()
    Log.open(tmp_path / "t-0").close()


@pytest.mark.parametrize("checkpoints", [None, PartitionCheckpoints()])
def test_p22_no_log_is_opened_through_a_symbolic_link(tmp_path: Path, checkpoints: PartitionCheckpoints | None) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links/t-0"
    link.symlink_to(tmp_path / "root/t-0")
    with pytest.raises(NotALogDirectoryError, match="t-0: the partition's directory is a symbolic link"):
        Log.open(link, checkpoints=checkpoints)
    with LogDirectory.open(tmp_path / "root") as directory:
        log = directory.create(TopicPartition("t", 0))
        with pytest.raises(NotALogDirectoryError, match="t-0: the partition's directory is a symbolic link"):
            Log.open(link, checkpoints=checkpoints)
        log.append([RECORD])
        log.flush()
    assert not (tmp_path / "root/t-0" / LOCK_NAME).exists()


def test_p22_another_process_cannot_open_it_either(tmp_path: Path) -> None:
    program = (
        "import sys, logstore\ntry: logstore.Log.open(sys.argv[1])\nexcept logstore.DirectoryLockedError: print('no')"
    )
    with Log.open(tmp_path / "t-0"):
        run = subprocess.run([sys.executable, "-c", program, tmp_path / "t-0"], capture_output=True, check=True)
    assert run.stdout == b"no\n"


def test_p23_what_a_read_returned_stays_as_it_was(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0")
    log.append([RECORD], leader_epoch=0)
    views = [log.read(0, 1 << 20)]
    for epoch, value in ((1, b"other"), (2, b"third")):
        if value == b"third":
            log.close()
            log = Log.open(tmp_path / "t-0")
        log.truncate_to(0)
        log.append([RECORD._replace(value=value)], leader_epoch=epoch)
        views.append(log.read(0, 1 << 20))
    log.close()
    assert [[record.value for record in view.records()] for view in views] == [[b"value"], [b"other"], [b"third"]]


def test_p24_a_limit_that_is_reached_fails_the_call_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_more(*_: object, **__: object) -> int:
        raise OSError(errno.EMFILE, "Too many open files")

    log = Log.open(tmp_path / "t-0")
    log.append([RECORD], leader_epoch=0)
    calls: list[Callable[[], object]] = [
        lambda: log.append([RECORD], leader_epoch=1),
        log.roll,
        log.flush,
        lambda: log.truncate_to(0),
        log.delete_old_segments,
        log.close,
    ]
    for name in ("open", "pipe"):
        monkeypatch.setattr(os, name, no_more)
    for call in calls:
        with pytest.raises(ResourceLimitError, match="Too many open files: the limit RLIMIT_NOFILE"):
            call()
        assert (log.failure, log.log_end_offset, log.epochs.entries) == (None, 1, [(0, 0)])
    monkeypatch.undo()
    log.append([RECORD], leader_epoch=1)
    assert [record.value for record in log.read(0, 1 << 20).records()] == [RECORD.value] * 2
    log.close()


def test_p25_all_logs_that_can_be_closed_are_closed(tmp_path: Path) -> None:
    directory = LogDirectory.open(tmp_path / "root")
    logs = [directory.create(TopicPartition("t", number)) for number in range(3)]
    for log in logs:
        log.append([RECORD])
    logs[0].directory.rename(tmp_path / "gone")
    with pytest.raises(FileNotFoundError):
        directory.close()
    assert [log.recovery_point for log in logs] == [0, 1, 1]


def test_p22_a_forked_child_cannot_write_to_it(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        child = os.fork()
        if not child:
            try:
                log.append([RECORD], leader_epoch=0)
            except LogClosedError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert log.append([RECORD], leader_epoch=0).first_offset == 0


# --- damaged files


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A log of nine flushed batches whose process died, and whose fourth batch has lost a bit."""
    log = Log.open(tmp_path / PARTITION)
    ends = [log.append([RECORD]) and log.size for _ in range(9)]
    log.flush()
    log.abandon()
    segment = log.segments[0].path
    data = bytearray(segment.read_bytes())
    data[ends[3] - 1] ^= 1
    segment.write_bytes(data)
    return log.directory


def test_p35_nothing_is_cut_below_the_recovery_point(damaged: Path) -> None:
    before = {path: path.read_bytes() for path in damaged.iterdir()}
    for _ in range(2):
        with pytest.raises(DamagedLogError, match=r"\.log: .*offset 3 .*hole.*cut"):
            Log.open(damaged)
        assert {path: path.read_bytes() for path in damaged.iterdir()} == before
    with LogDirectory.open(damaged.parent) as directory:
        assert isinstance(directory.unreadable[TopicPartition("t", 0)], DamagedLogError)
        other = directory.create(TopicPartition("other", 0))
        assert other.append([RECORD]).first_offset == 0
    with LogDirectory.open(damaged.parent) as directory:
        assert isinstance(directory.unreadable[TopicPartition("t", 0)], DamagedLogError)


def test_p36_a_hole_is_told_to_readers_and_all_else_stays(damaged: Path) -> None:
    with Log.open(damaged, damage="hole") as log:
        assert log.holes == (Hole(3, 4),)
        with pytest.raises(HoleError) as told:
            list(log.records())
        assert told.value.next_offset == 4
        assert [record.offset for record in log.records(skip_holes=True)] == [0, 1, 2, 4, 5, 6, 7, 8]
        log.config = replace(log.config, cleanup_policy=frozenset({"compact"}))
        with pytest.raises(DamagedLogError, match="holes"):
            log.compact()
        assert log.compact_if_due() is None
        log.backup(damaged.parent / "backup" / PARTITION)
    with Log.open(damaged.parent / "backup" / PARTITION) as log:
        assert log.holes == (Hole(3, 4),)
    with Log.open(damaged) as log:
        assert log.holes == (Hole(3, 4),)
        log.truncate_to(2)
        assert log.holes == ()


def test_p37_what_is_cut_is_set_aside_first(damaged: Path) -> None:
    before = (damaged / f"{0:020d}.log").read_bytes()
    with Log.open(damaged, damage="cut") as log:
        assert log.log_end_offset == 3
        [tail] = log.report.dropped
    assert before == before[: tail.position] + (damaged / tail.set_aside).read_bytes()


def test_p38_what_was_not_promised_is_cut_and_that_is_printed(tmp_path: Path) -> None:
    program = f"""
import os
from logstore import Log
log = Log.open({str(tmp_path / PARTITION)!r})
size = log.append([b"lost"]) and log.size
log.append([b"behind it"])
log.abandon()
with open(log.segments[0].path, "r+b") as file:
    file.seek(size - 1)
    file.write(b"x")
Log.open(log.directory).close()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert "a batch's checksum does not match; they are in" in done.stderr
    assert done.stdout == ""
    with Log.open(tmp_path / PARTITION) as log:
        assert log.log_end_offset == 0


# --- what is synced when


def synced(steps: Sequence[Step], first: int) -> set[str]:
    """What is synced from a step on, in the page's words."""
    names: dict[int, Path] = {}
    found = set()
    for number, step in enumerate(steps):
        match step:
            case Made(inode, path):
                names[inode] = path
            case Renamed(source, target):
                names |= {inode: target for inode, path in names.items() if path == source}
            case Synced(inode) if number >= first:
                path = Path(str(names[inode]).removesuffix(".cleaned"))
                found.add(path.suffix if path.stem.isdigit() else path.name.removesuffix(".tmp"))
            case SyncedDirectory(path) if number >= first:
                found.add("names" if path.name.startswith("t-") else "names of the root")
    return found


def fill(use: LogUse) -> None:
    """Two segments with something in the second, all flushed but the last batch."""
    use.lead()
    use.log.roll()
    use.lead()
    use.log.flush()
    use.lead()
    use.log.update_high_watermark(use.log.log_end_offset)


def compact(log: Log) -> None:
    """Compact its first segment, of which nothing is kept: the records have no keys."""
    log.config = replace(log.config, cleanup_policy=frozenset({"compact"}))
    assert log.compact().segments_after == 1


OPERATIONS: dict[str, Callable[[DirectoryWorkload, LogUse], object]] = {
    "an append": lambda _, use: use.lead(),
    "the first append of a leader epoch": lambda _, use: use.lead(epoch=1),
    "an append that begins a segment, `roll`": lambda _, use: use.lead(2, 1_200),
    "`flush`": lambda _, use: use.log.flush(),
    "`truncate_to` within the last segment": lambda _, use: use.log.truncate_to(4),
    "`truncate_to` across segments": lambda _, use: use.log.truncate_to(1),
    "`truncate_fully_and_start_at`": lambda _, use: use.log.truncate_fully_and_start_at(50),
    "`delete_records` of what is flushed": lambda _, use: use.log.delete_records(3),
    "`delete_records` of more": lambda _, use: use.log.delete_records(6),
    "`delete_old_segments`": lambda _, use: (use.log.delete_records(3), use.log.delete_old_segments()),
    "`compact`": lambda _, use: compact(use.log),
    "`LogDirectory.create`": lambda work, _: work.create(7),
    "`LogDirectory.delete`": lambda work, use: work.delete(use),
    "`LogDirectory.checkpoint`": lambda work, _: work.directory.checkpoint(),
    "`LogDirectory.checkpoint_high_watermarks`": lambda work, _: work.directory.checkpoint_high_watermarks(),
}


def rows() -> dict[str, str]:
    table = PAGE.split("## What is synced when")[1].split("## ")[0]
    return dict(re.findall(r"^\| (.*?) \| (.*) \|$", table, re.MULTILINE)[1:])


def test_every_row_is_tested() -> None:
    assert set(rows()) == set(OPERATIONS)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_is_synced_when(memory_dir: Path, operation: str) -> None:
    root = memory_dir / re.sub(r"\W", "", operation)
    root.mkdir()
    work = DirectoryWorkload(root, replicated=True)  # so that a compaction takes records without keys
    use = work.create(0)
    fill(use)
    first = len(work.disk.steps)
    OPERATIONS[operation](work, use)
    text = rows()[operation].replace("of the segment before: ", "").replace("of each segment that it makes: ", "")
    expected = set() if text == "nothing" else {each.strip("` ") for each in re.split("[,;]", text)}
    assert synced(work.disk.steps, first) == expected


# --- who waits for the disk


def test_p30_what_is_flushed_while_others_append_is_there(work: Workload, place: Path) -> None:
    """A record that is appended just as the disk is waited for takes nothing of what is flushed."""
    work.lead(2, 300)
    flusher = work.log._flusher
    disk = flusher._filesystem

    class AppendingDisk(FileSystem):
        def fsync(self, descriptor: int) -> None:
            work.lead(1, 300)
            disk.fsync(descriptor)

        def fsync_directory(self, path: Path) -> None:
            disk.fsync_directory(path)

    flusher._filesystem = AppendingDisk()
    assert work.log.flush() == 2
    assert work.log.log_end_offset == 3
    for log in after_power_loss(work, place):
        assert log.log_end_offset in {2, 3}
        assert is_part(whole_batches(log), work.versions[-1])


def test_p31_a_durable_append_is_there_once_its_future_is_done(work: Workload, place: Path) -> None:
    for number in range(3):
        info = work.log.append([RECORD._replace(value=b"value %d" % number)], durable=True).result(60)
        for log in after_power_loss(work, place / str(number)):
            assert log.log_end_offset > info.last_offset


def test_p32_a_flush_is_one_fsync_but_for_the_first_in_a_segment(work: Workload, place: Path) -> None:
    work.lead(2, 300)
    work.flush()
    for _ in range(3):
        work.lead(1, 300)
        before = len(work.disk.steps)
        flushed = work.log.flush()
        syncs = [step for step in work.disk.steps[before:] if isinstance(step, Synced | SyncedDirectory)]
        assert len(syncs) == 1
        for log in after_power_loss(work, place / str(flushed)):
            assert log.log_end_offset == flushed
