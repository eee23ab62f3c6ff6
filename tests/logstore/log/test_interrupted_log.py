"""What is raised in the middle of a call leaves a log as it was before, or one that says that it is poisoned."""

import errno
import faulthandler
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from epoch.errors import InheritedError
from epoch.filesystem import FileSystem
from logstore.batch.record import Record
from logstore.errors import LogClosedError, LogPoisonedError, ReentrantCallError
from logstore.files.only_copy.offset_gaps import OffsetGaps
from logstore.files.only_copy.promised_offsets import PromisedOffsets
from logstore.log.appender import Appender
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log.reading.isolation import Isolation
from logstore.log.state.log_state import LogState
from logstore.log_config import LogConfig
from logstore.recovery.recovery_report import RecoveryReport
from tests.interruption import InterruptedDisk as Disk
from tests.interruption import Interrupter
from tests.logstore.directories import assert_sound
from tests.open_files import open_files

TIME = 1_700_000_000_000
SECONDS = 5
"""What a forked process gets before it counts as hanging."""


class Interruption(BaseException):
    """What nobody expects."""


def interrupt() -> None:
    raise Interruption


class InterruptedDisk(FileSystem):
    """Raises after the first step that has this name."""

    def __init__(self) -> None:
        self.after = ""
        self.call: Callable[[], object] = self.interrupt

    def interrupt(self) -> None:
        raise Interruption

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        super().write(descriptor, data)
        self._passed("write")

    def truncate(self, path: Path, size: int) -> None:
        super().truncate(path, size)
        self._passed("truncate")

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        self._passed("rename")
        if source.suffix == ".log":
            self._passed("rename of a segment")

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        self._passed("fsync")

    def _passed(self, step: str) -> None:
        if step == self.after:
            self.after = ""
            self.call()


@pytest.fixture
def disk() -> InterruptedDisk:
    return InterruptedDisk()


@pytest.fixture
def log(tmp_path: Path, disk: InterruptedDisk) -> Log:
    log = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=1_000, index_interval_bytes=0), filesystem=disk)
    for number in range(12):
        lead(log, b"%d" % number)
    return log


def lead(log: Log, value: bytes, epoch: int = 0) -> int:
    return log.append([Record.of(value, timestamp=TIME)], leader_epoch=epoch).first_offset


def values(log: Log) -> list[bytes | None]:
    found: list[bytes | None] = []
    while len(found) < log.log_end_offset:
        found += [record.value for record in log.read(len(found), 1 << 20).records()]
    return found


def test_a_log_that_has_begun_anew_and_is_interrupted_as_it_does_so_again_is_recovered(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It starts behind its recovery point meanwhile: what it starts with is not missing, but was truncated."""
    log.flush()
    log.truncate_fully_and_start_at(100)
    with monkeypatch.context() as patch:
        patch.setattr(OffsetGaps, "within", lambda *_: interrupt())
        with pytest.raises(Interruption):
            log.truncate_fully_and_start_at(200)
    log = log.recover()
    assert (log.log_start_offset, log.log_end_offset) == (200, 200)
    log.close()


@contextmanager
def interrupted(disk: InterruptedDisk, step: str) -> Iterator[None]:
    disk.after = step
    with pytest.raises(Interruption):
        yield


BEFORE = [b"%d" % number for number in range(12)]


def test_an_append_that_is_interrupted_has_not_happened(log: Log, disk: InterruptedDisk) -> None:
    before = log.epochs.entries
    with interrupted(disk, "write"):
        lead(log, b"lost")
    with interrupted(disk, "write"):
        lead(log, b"lost too", epoch=3)
    assert log.failure is None
    assert log.epochs.entries == before
    assert lead(log, b"kept", epoch=1) == 12
    assert values(log) == [*BEFORE, b"kept"]
    log.close()
    assert_sound(log.directory)
    with Log.open(log.directory) as again:
        assert values(again) == [*BEFORE, b"kept"]


def test_an_append_that_is_interrupted_once_it_is_written_leaves_no_epoch_behind(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = log.epochs.entries

    def interrupt(*_: object) -> None:
        raise Interruption

    monkeypatch.setattr(Appender, "_publish", interrupt)
    with pytest.raises(Interruption):
        lead(log, b"lost", epoch=5)
    monkeypatch.undo()
    assert (log.log_end_offset, log.epochs.entries) == (12, before)
    assert lead(log, b"kept", epoch=3) == 12
    assert log.epochs.entries == [*before, (3, 12)]


def test_so_does_one_that_finds_a_limit_reached_as_it_notes_what_is_flushed(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = log.epochs.entries

    def refuse(*_: object) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(PromisedOffsets, "note", refuse)
    with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
        log.append([Record.of(bytes(900), timestamp=TIME)], leader_epoch=5)  # in the next segment
    monkeypatch.undo()
    assert log.failure is None
    assert (log.log_end_offset, log.epochs.entries) == (12, before)
    assert lead(log, b"kept", epoch=3) == 12
    assert log.epochs.entries == [*before, (3, 12)]


def test_an_append_that_is_interrupted_once_readers_see_it_keeps_its_epoch(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = log.epochs.entries
    publish = Appender._publish

    def interrupt(self: Appender, *arguments: Any) -> None:
        publish(self, *arguments)
        self._guard.state = LogState.ADDING
        raise Interruption

    monkeypatch.setattr(Appender, "_publish", interrupt)
    with pytest.raises(Interruption):
        lead(log, b"kept", epoch=5)
    monkeypatch.undo()
    assert (log.log_end_offset, log.epochs.entries) == (13, [*before, (5, 12)])
    assert values(log) == [*BEFORE, b"kept"]


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_neither_has_a_roll_nor_a_flush(log: Log, disk: InterruptedDisk, step: str) -> None:
    for call in (log.roll, log.flush):
        with interrupted(disk, step):
            call()
    assert log.failure is None
    assert lead(log, b"kept") == 12
    assert log.flush() == 13
    log.close()
    assert_sound(log.directory)


@pytest.mark.parametrize(
    ("call", "step"),
    [
        (lambda log: log.truncate_to(3), "truncate"),
        (lambda log: log.truncate_fully_and_start_at(40), "rename of a segment"),
    ],
    ids=["truncate_to", "truncate_fully_and_start_at"],
)
def test_a_truncation_that_is_interrupted_poisons_the_log_for_readers_too(
    log: Log, disk: InterruptedDisk, call: Callable[[Log], object], step: str
) -> None:
    with interrupted(disk, step):
        call(log)
    assert isinstance(log.failure, LogPoisonedError)
    with pytest.raises(LogPoisonedError, match=r"interrupted by Interruption .* open the log again"):
        lead(log, b"refused")
    for look in (lambda: log.read(0, 100), lambda: log.offset_for_timestamp(TIME)):
        with pytest.raises(LogPoisonedError, match="interrupted"):
            look()
    with log.recover() as recovered:
        assert values(recovered) == BEFORE[: recovered.log_end_offset]
        lead(recovered, b"kept", epoch=2)
    assert_sound(log.directory)


@pytest.mark.parametrize(
    "call",
    [lambda log: log.truncate_to(3), lambda log: log.truncate_fully_and_start_at(40)],
    ids=["truncate_to", "truncate_fully_and_start_at"],
)
def test_so_does_one_whose_observer_raises(tmp_path: Path, call: Callable[[Log], object]) -> None:
    """It must not: nobody knows then whether the caller believes that the log was truncated."""

    class Raising(LogObserver):
        def truncated(self, *_: object) -> None:
            raise Interruption

    log = Log.open(tmp_path / "t-0", observer=Raising())
    for number in range(5):
        lead(log, b"%d" % number)
    with pytest.raises(Interruption):
        call(log)
    assert isinstance(log.failure, LogPoisonedError)
    with log.recover() as recovered:
        lead(recovered, b"kept", epoch=2)


def test_a_recovery_that_is_interrupted_at_its_end_leaves_nothing_open(log: Log) -> None:
    def interrupt() -> None:
        raise Interruption

    interrupter, passed, places = Interrupter(), 0, set[str]()
    for _ in range(2):
        log.abandon()
        log = Log.open(log.directory)
        with interrupter.between_bytecodes(sys.maxsize, interrupt):
            log = log.recover()
        passed = interrupter.passed
    for at in range(passed - 60, passed + 60):
        kept: BaseException | None = None
        try:
            with interrupter.between_bytecodes(at, interrupt):
                log = log.recover()
        except Interruption as error:
            kept = error  # with all that its traceback holds
        places.add(interrupter.place)
        log.abandon()
        log = Log.open(log.directory)
        assert values(log) == BEFORE, kept
    log.close()
    assert any("Log.recover" in place for place in places)


def test_a_close_that_is_interrupted_can_be_done_again_and_leaves_no_lock(log: Log, disk: InterruptedDisk) -> None:
    with interrupted(disk, "fsync"):
        log.close()
    log.close()
    again = Log.open(log.directory, filesystem=disk)
    assert again.report.recovered_segments == 0
    with interrupted(disk, "fsync"), again:
        pass
    with Log.open(log.directory) as last:
        assert values(last) == BEFORE


def test_a_signal_handler_that_uses_the_log_in_the_middle_of_a_call_is_refused(log: Log, disk: InterruptedDisk) -> None:
    told = []

    def handler() -> None:
        with pytest.raises(ReentrantCallError, match="signal handler"):
            lead(log, b"nested")
        told.append(log.log_end_offset)

    disk.call, disk.after = handler, "write"
    assert lead(log, b"kept") == 12
    assert (told, values(log)) == ([12], [*BEFORE, b"kept"])


@pytest.fixture
def watched() -> Iterator[None]:
    faulthandler.dump_traceback_later(60, exit=True)  # a wait for a lock of one's own ends by nothing else
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("step", ["write", "fsync"])
def test_a_signal_handler_that_reads_in_the_middle_of_an_append_or_a_flush_gets_what_was_there(
    log: Log, disk: InterruptedDisk, step: str
) -> None:
    read: list[list[bytes | None]] = []
    log.segments[-1].file.release()
    lead(log, b"unmapped")
    disk.call, disk.after = lambda: read.append(values(log)), step
    lead(log, b"kept")
    log.flush()
    assert read[0][:13] == [*BEFORE, b"unmapped"]
    assert values(log) == [*BEFORE, b"unmapped", b"kept"]
    log.close()
    assert_sound(log.directory)


@pytest.mark.usefixtures("watched")
def test_a_signal_handler_that_writes_in_the_middle_of_a_roll_is_refused(log: Log, disk: InterruptedDisk) -> None:
    refused: list[Callable[[], object]] = [lambda: lead(log, b"nested"), log.flush, log.roll, log.close]
    told = []

    def handler() -> None:
        for call in refused:
            with pytest.raises(ReentrantCallError):
                call()
            told.append(call)

    lead(log, b"kept")
    disk.call, disk.after = handler, "fsync"
    log.roll()
    assert log.recovery_point == 13
    assert told == refused
    assert lead(log, b"next") == 13


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("end", [Log.close, Log.abandon, Log.flush])
def test_a_signal_handler_may_do_anything_while_a_flush_waits_for_the_disk(
    log: Log, disk: InterruptedDisk, end: Callable[[Log], object]
) -> None:
    told = []

    def handler() -> None:
        told.append(lead(log, b"nested"))
        end(log)

    lead(log, b"kept")
    disk.call, disk.after = handler, "fsync"
    assert log.flush() >= 13
    assert told == [13]
    log.close()
    with Log.open(log.directory) as again:
        assert values(again) == [*BEFORE, b"kept", b"nested"]


@pytest.mark.usefixtures("watched")
def test_a_signal_handler_that_reads_in_the_middle_of_a_truncation_is_refused(log: Log, disk: InterruptedDisk) -> None:
    told = []

    def handler() -> None:
        with pytest.raises(ReentrantCallError):
            log.read(0, 1 << 20)
        told.append("read")

    disk.call, disk.after = handler, "truncate"
    log.truncate_to(11)
    assert (told, values(log)) == (["read"], BEFORE[:11])


def test_a_closed_log_refuses_to_be_read_as_it_refuses_appends(log: Log) -> None:
    view = log.read(0, 100)
    log.close()
    refused: list[Callable[[], object]] = [
        lambda: lead(log, b"refused"),
        *(lambda isolation=isolation: log.read(0, 100, isolation=isolation) for isolation in Isolation),
        lambda: log.read(99, 100),
        lambda: log.offset_for_timestamp(TIME),
        lambda: log.offset_for_timestamp(-1),
        lambda: log.end_offset_for_epoch(0),
        log.flush,
        log.roll,
        log.delete_old_segments,
        lambda: log.truncate_to(99),
    ]
    for call in refused:
        with pytest.raises(LogClosedError, match="the log is closed"):
            call()
    assert (log.log_start_offset, log.log_end_offset) == (0, 12)
    assert [record.value for record in view.records()] == [b"0"]


def exit_status_of(child: Callable[[], object]) -> int:
    """What `child` comes to in a forked process; -SIGALRM where it hangs."""
    process = os.fork()
    if not process:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        try:
            child()
        except (LogClosedError, InheritedError):
            os._exit(7)
        except BaseException:  # noqa: BLE001  the parent hears of it
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def test_a_child_that_is_forked_while_another_thread_is_in_a_call_is_refused_at_once(
    log: Log, disk: InterruptedDisk
) -> None:
    refused: list[Callable[[], object]] = [
        lambda: lead(log, b"child's"),
        lambda: log.read(0, 100),
        lambda: log.offset_for_timestamp(TIME),
        lambda: log.truncate_to(0),
        log.flush,
        log.expire_producers,
        lambda: log.update_high_watermark(3),
        log.recover,
        lambda: log.epochs.assign(9, 12),
        log.epochs.flush,
    ]
    harmless: list[Callable[[], object]] = [
        log.close,
        log.abandon,
        lambda: log.__exit__(None, None, None),
        lambda: repr(log),
    ]
    found: list[list[int]] = []

    def fork_often() -> None:
        forking = Thread(target=lambda: found.append([exit_status_of(call) for call in refused + harmless]))
        forking.start()
        forking.join()

    disk.call, disk.after = fork_often, "write"
    assert lead(log, b"kept") == 12
    assert found == [[7] * len(refused) + [0] * len(harmless)]
    assert values(log) == [*BEFORE, b"kept"]
    log.close()
    assert_sound(log.directory)


def test_a_child_that_is_forked_within_a_call_leaves_the_log_alone_as_it_unwinds(
    log: Log, disk: InterruptedDisk
) -> None:
    parent = os.getpid()

    def fork() -> None:
        process = os.fork()
        if not process:
            raise Interruption
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0

    disk.call, disk.after = fork, "write"
    try:
        assert lead(log, b"kept") == 12
    except BaseException:  # noqa: BLE001  in the child
        os._exit(0 if os.getpid() != parent else 1)
    log.close()
    with Log.open(log.directory) as again:
        assert values(again) == [*BEFORE, b"kept"]


@pytest.mark.parametrize(
    ("step", "before"),
    [("write", True), ("write", False), ("fsync", True), ("fsync", False), ("rename", False), ("truncate", False)],
)
def test_a_child_that_goes_on_with_the_call_changes_no_file(tmp_path: Path, step: str, before: bool) -> None:
    children: list[int] = []

    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (tmp_path / "t-0").iterdir()}

    class ForkingDisk(FileSystem):
        """Forks before or after a step, as a signal handler may; parent and child go on."""

        armed = False

        def fork(self, name: str, now_before: bool) -> None:
            if self.armed and name == step and now_before == before:
                self.armed = False
                there = content()
                children.append(os.fork())
                if children[-1]:
                    assert os.waitstatus_to_exitcode(os.waitpid(children[-1], 0)[1]) == 0
                    assert content() == there

        def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
            self.fork("write", True)
            super().write(descriptor, data)
            self.fork("write", False)

        def fsync(self, descriptor: int) -> None:
            self.fork("fsync", True)
            super().fsync(descriptor)
            self.fork("fsync", False)

        def rename(self, source: Path, target: Path) -> None:
            super().rename(source, target)
            self.fork("rename", False)

        def truncate(self, path: Path, size: int) -> None:
            super().truncate(path, size)
            self.fork("truncate", False)

    disk = ForkingDisk()
    log = Log.open(tmp_path / "t-0", filesystem=disk)
    for number in range(4):
        lead(log, b"%d" % number)
    calls: dict[str, Callable[[], object]] = {
        "write": lambda: lead(log, b"kept"),
        "fsync": log.flush,
        "rename": lambda: log.truncate_to(2),
        "truncate": lambda: log.truncate_to(2),
    }
    disk.armed = True
    try:
        calls[step]()
    except BaseException as error:  # the child ends here, whatever comes
        if children == [0]:
            os._exit(0 if isinstance(error, (LogClosedError, InheritedError)) else 1)
        raise
    if children == [0]:
        log.close()
        os._exit(0)
    assert len(children) == 1
    expected = {"write": [b"0", b"1", b"2", b"3", b"kept"], "fsync": [b"0", b"1", b"2", b"3"]}.get(step, [b"0", b"1"])
    assert values(log) == expected
    lead(log, b"next")
    log.close()
    assert_sound(log.directory)
    with Log.open(log.directory) as again:
        assert values(again) == [*expected, b"next"]


class RaisingOnceItIsOpen(LogObserver):
    def recovered(self, log: Path, report: RecoveryReport) -> None:
        del log, report
        raise Interruption


def test_an_opening_that_is_broken_off_leaves_no_file_open(tmp_path: Path) -> None:
    with pytest.raises(Interruption):
        Log.open(tmp_path / "t-0", observer=RaisingOnceItIsOpen())
    assert not open_files(tmp_path)


@pytest.mark.parametrize("ends_in_order", [True, False], ids=["closed", "abandoned"])
def test_a_deletion_that_is_broken_off_anywhere_leaves_files_that_agree(tmp_path: Path, *, ends_in_order: bool) -> None:
    """A checkpoint file that was replaced already must not contradict what the log goes on to note."""
    interrupter = Interrupter()
    for at in count():
        log = Log.open(tmp_path / f"t-{at}", LogConfig(segment_bytes=1_000), filesystem=Disk(interrupter))
        for number in range(12):
            lead(log, b"%d" % number)
        log.flush()
        with interrupter.beside_steps(at, interrupt), suppress(Interruption):
            log.delete_records(7)
        log = log.recover() if log.failure is not None else log
        lead(log, b"next")
        if ends_in_order:
            log.close()
        log.abandon()
        with Log.open(tmp_path / f"t-{at}") as again:
            assert again.log_start_offset in {0, 7}, interrupter.place
            values_left = [record.value for record in again.records(again.log_start_offset)]
        assert values_left == [*BEFORE, b"next"][again.log_start_offset :], interrupter.place
        if not interrupter.place:
            break
    assert at > 10
