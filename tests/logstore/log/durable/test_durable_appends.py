"""An append with `durable=True` is in the log at once, and reported once it is on stable storage."""

import asyncio
import errno
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from threading import Thread

import pytest

from logstore.append.append_info import AppendInfo
from logstore.batch.record import Record
from logstore.errors import LogClosedError, LogPoisonedError
from logstore.log.durable import durable_appends
from logstore.log.log import Log
from tests.held_disk import HeldDisk
from tests.logstore.log.test_flush import wait_until

SECONDS = 60
MANY = 100


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


@pytest.fixture
def log(tmp_path: Path, disk: HeldDisk) -> Iterator[Log]:
    """A log whose name is on stable storage."""
    with Log.open(tmp_path / "t-0", filesystem=disk) as log:
        log.flush()
        yield log
        disk.let_go()


def records(value: bytes = b"value") -> list[Record]:
    return [Record.of(value)]


@pytest.fixture
def filled(log: Log) -> Log:
    """The log with a record, with whose flush the checkpoints were written: no later one in this segment writes any."""
    log.append(records())
    log.flush()
    return log


def test_it_is_done_once_its_record_is_on_stable_storage(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    appended = log.append(records(), durable=True)
    assert log.log_end_offset == 1
    assert disk.is_reached.wait(SECONDS)
    assert not appended.done()
    assert not appended.cancel()
    disk.let_go()
    info = appended.result(SECONDS)
    assert isinstance(info, AppendInfo)
    assert (info.first_offset, info.last_offset, log.recovery_point) == (0, 0, 1)


def test_appends_that_are_made_during_a_flush_share_the_next(filled: Log, disk: HeldDisk) -> None:
    disk.hold()
    first = filled.append(records(), durable=True)
    assert disk.is_reached.wait(SECONDS)
    before = disk.fsyncs
    others = [filled.append(records(), durable=True) for _ in range(MANY)]
    disk.let_go()
    assert [each.result(SECONDS).last_offset for each in (first, *others)] == list(range(1, 2 + MANY))
    assert disk.fsyncs == before + 2


def test_many_threads_share_their_flushes(filled: Log, disk: HeldDisk) -> None:
    disk.hold()
    with ThreadPoolExecutor(16) as threads:
        appended = [threads.submit(lambda: filled.append(records(), durable=True).result(SECONDS)) for _ in range(16)]
        wait_until(lambda: filled.log_end_offset == 17)
        before = disk.fsyncs
        disk.let_go()
        assert {each.result().last_offset for each in appended} == set(range(1, 17))
    assert disk.fsyncs - before <= 2


def test_each_that_waits_gets_the_error_of_the_flush(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    first = log.append(records(), durable=True)
    assert disk.is_reached.wait(SECONDS)
    others = [log.append(records(), durable=True) for _ in range(3)]
    disk.failure = OSError(errno.EIO, "I/O error")
    disk.let_go()
    wait([first, *others], SECONDS)
    assert str(first.exception()).startswith("[Errno 5] I/O error")
    assert all(isinstance(each.exception(), LogPoisonedError) for each in others)
    with pytest.raises(LogPoisonedError):
        log.append(records(), durable=True)


def test_what_cannot_be_appended_is_raised_at_once(log: Log) -> None:
    log.close()
    with pytest.raises(LogClosedError):
        log.append(records(), durable=True)


def test_all_are_done_when_the_log_is_closed(log: Log) -> None:
    appended = [log.append(records(), durable=True) for _ in range(MANY)]
    log.close()
    assert all(each.done() and each.exception() is None for each in appended)


def test_those_of_a_log_that_is_abandoned_have_an_error(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    first = log.append(records(), durable=True)
    assert disk.is_reached.wait(SECONDS)
    second = log.append(records(), durable=True)
    log.abandon()
    disk.let_go()
    assert first.result(SECONDS).last_offset == 0
    assert isinstance(second.exception(SECONDS), LogClosedError)


def test_a_callback_may_close_the_log(log: Log) -> None:
    with ThreadPoolExecutor(1) as thread:
        closed = thread.submit(log.append, records(), durable=True).result()
        closed.add_done_callback(lambda _: log.close())
        closed.result(SECONDS)
        wait_until(lambda: log.is_complete)


def test_what_a_callback_raises_keeps_nobody_else_waiting(
    filled: Log, disk: HeldDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda arguments: raised.append(arguments.exc_type))

    def leave(_: object) -> None:
        raise SystemExit

    disk.hold()
    first = filled.append(records(), durable=True)
    assert disk.is_reached.wait(SECONDS)
    group = [filled.append(records(), durable=True) for _ in range(3)]
    for each in (first, group[0]):
        each.add_done_callback(leave)
    disk.let_go()
    assert [each.result(SECONDS).last_offset for each in (first, *group)] == [1, 2, 3, 4]
    assert filled.append(records(), durable=True).result(SECONDS).last_offset == 5
    assert raised == [SystemExit, SystemExit]


def test_an_append_that_is_interrupted_before_its_thread_starts_keeps_nobody_waiting_who_closes(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(_: Thread) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(durable_appends.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            log.append(records(), durable=True)
    closing = Thread(target=log.close, daemon=True)
    closing.start()
    closing.join(SECONDS)
    assert not closing.is_alive()
    with Log.open(log.directory) as again:
        assert again.log_end_offset == 1


def test_without_another_thread_the_append_itself_flushes(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(durable_appends.Thread, "start", refused)
    appended = log.append(records(), durable=True)
    assert appended.done()
    assert log.recovery_point == 1


def test_a_thread_without_work_ends_and_another_takes_its_place(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_appends, "IDLE_SECONDS", 0.01)
    log.append(records(), durable=True).result(SECONDS)
    wait_until(lambda: log._durable_appends.get()._thread is None)
    assert log.append(records(), durable=True).result(SECONDS).last_offset == 1


def test_appends_linger_until_enough_bytes_have_gathered(filled: Log, disk: HeldDisk) -> None:
    size = filled.append(records()).size
    filled.config = replace(filled.config, durable_linger_ms=SECONDS * 1000, durable_linger_bytes=3 * size)
    before = disk.fsyncs
    appended = [filled.append(records(), durable=True) for _ in range(2)]
    assert not wait(appended, 0.05).done
    appended.append(filled.append(records(), durable=True))
    assert len(wait(appended, SECONDS).done) == 3
    assert disk.fsyncs == before + 1


def test_asyncio_waits_for_it_without_a_thread_of_its_own(log: Log) -> None:
    async def append_all() -> list[int]:
        appended = [asyncio.wrap_future(log.append(records(), durable=True)) for _ in range(MANY)]
        return [info.last_offset for info in await asyncio.gather(*appended)]

    assert asyncio.run(append_all()) == list(range(MANY))
    assert log.recovery_point == MANY
