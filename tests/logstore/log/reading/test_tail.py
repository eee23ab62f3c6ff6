"""`Log.tail` and `Log.wait` wait for more without polling, and tell what happened to what was read."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logstore.batch.record import Record
from logstore.errors import (
    LogClosedError,
    LogPoisonedError,
    LogTruncatedError,
    OffsetOutOfRangeError,
    ReentrantCallError,
)
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log.reading.isolation import Isolation
from logstore.log.reading.tail import Tail
from logstore.log_config import LogConfig
from tests.interruption import Interrupter, Interruption, exit_status_of

CONFIG = LogConfig(segment_bytes=300, retention_ms=-1, file_delete_delay_ms=0)
SECONDS = 20

pytestmark = pytest.mark.usefixtures("alarmed")


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    signal.alarm(SECONDS)
    log = Log.open(tmp_path / "t-0", CONFIG)
    yield log
    assert waiting(log) == 0
    log.abandon()


def waiting(log: Log) -> int:
    return len(log._contents.end_waiters) + len(log._contents.watermark_waiters)


def write(log: Log, count: int) -> None:
    for _ in range(count):
        log.append([b"%d" % log.log_end_offset])


class InThread:
    """Iterates over a tail in a thread."""

    def __init__(self, tail: Tail) -> None:
        self.values: list[bytes | None] = []
        self.error: BaseException | None = None
        self._tail = tail
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def ended(self) -> bool:
        self._thread.join(SECONDS)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            for record in self._tail:
                self.values.append(record.value)
        except BaseException as error:  # noqa: BLE001  looked at by the test
            self.error = error


def until(condition: Callable[[], object]) -> None:
    while not condition():
        time.sleep(0.001)


# --- in threads


def test_a_tail_waits_for_appends_and_ends_with_the_log(log: Log) -> None:
    write(log, 2)
    everything, new = InThread(log.tail(0)), InThread(log.tail())
    until(lambda: waiting(log) == 2)
    write(log, 30)
    until(lambda: len(everything.values) == 32 and waiting(log) == 2)
    log.close()
    assert everything.ended()
    assert new.ended()
    assert everything.values == [b"%d" % number for number in range(32)]
    assert new.values == everything.values[2:]
    assert everything.error is new.error is None


def test_a_tail_can_be_ended_alone_and_goes_on_where_it_was(log: Log) -> None:
    write(log, 3)
    tail = log.tail(1)
    running = InThread(tail)
    until(lambda: waiting(log))
    tail.close()
    assert running.ended()
    assert running.error is None
    assert tail.position == 3
    assert list(tail) == []


def test_a_tail_that_was_left_goes_on_behind_the_last_record(log: Log) -> None:
    write(log, 3)
    tail = log.tail(0)
    assert next(iter(tail)).offset == 0
    assert tail.position == 1
    assert next(iter(tail)).offset == 1


def test_a_log_that_is_closed_before_all_was_read_is_told(log: Log) -> None:
    tail = iter(log.tail(0))
    write(log, 2)
    assert next(tail).offset == 0
    log.roll()
    write(log, 1)
    assert next(tail).offset == 1
    log.close()
    with pytest.raises(LogClosedError):
        next(tail)


def test_a_waiting_tail_hears_of_a_truncation_below_it(log: Log) -> None:
    write(log, 5)
    tail = log.tail(0)
    running = InThread(tail)
    until(lambda: waiting(log))
    log.truncate_to(3)
    assert running.ended()
    assert isinstance(running.error, LogTruncatedError)
    assert running.error.offset == 3
    write(log, 5)
    with pytest.raises(LogTruncatedError):  # again, until somebody says where to go on
        next(iter(tail))


def test_a_waiting_tail_hears_of_a_log_that_begins_anew_beyond_it(log: Log) -> None:
    write(log, 5)
    running = InThread(log.tail(0))
    until(lambda: waiting(log))
    log.truncate_fully_and_start_at(10)
    assert running.ended()
    assert isinstance(running.error, OffsetOutOfRangeError)
    assert not isinstance(running.error, LogTruncatedError)


@pytest.mark.parametrize("isolation", [Isolation.HIGH_WATERMARK, Isolation.READ_COMMITTED])
def test_a_move_of_the_high_watermark_wakes_its_readers(log: Log, isolation: Isolation) -> None:
    log.update_high_watermark(0)  # which the caller moves from now on, and not a flush
    running = InThread(log.tail(isolation=isolation))
    until(lambda: waiting(log))
    write(log, 5)
    log.update_high_watermark(3)
    until(lambda: len(running.values) == 3)
    log.update_high_watermark(5)
    until(lambda: len(running.values) == 5)
    until(lambda: waiting(log))
    log.close()
    assert running.ended()
    assert running.error is None


def test_a_poisoned_log_ends_all_waits(log: Log) -> None:
    running = InThread(log.tail())
    until(lambda: waiting(log))
    log._guard.poison(OSError(5, "the disk failed"))
    assert running.ended()
    assert isinstance(running.error, LogPoisonedError)
    with pytest.raises(LogPoisonedError):
        log.wait(0)


# --- until an offset is there


def test_wait_returns_once_the_record_is_there(log: Log) -> None:
    assert not log.wait(0, 0)
    assert not log.wait(0, 0.01)
    threading.Timer(0.02, lambda: write(log, 3)).start()
    assert log.wait(2)
    assert log.wait(2, 0)


def test_wait_says_that_the_log_is_closed(log: Log) -> None:
    threading.Timer(0.02, log.close).start()
    with pytest.raises(LogClosedError):
        log.wait(0)


@pytest.mark.parametrize(("timeout", "error"), [(-1, ValueError), (float("nan"), ValueError), ("1", TypeError)])
def test_a_timeout_that_is_none_is_refused(log: Log, timeout: float, error: type[Exception]) -> None:
    with pytest.raises(error, match="timeout"):
        log.wait(0, timeout)


def test_nobody_waits_within_a_call_of_the_log(tmp_path: Path) -> None:
    class Waits(LogObserver):
        def appended(self, log: Path, info: object) -> None:
            del log, info
            with pytest.raises(ReentrantCallError):
                opened.wait(1)
            with pytest.raises(ReentrantCallError):
                next(iter(opened.tail()))

    with Log.open(tmp_path / "t-0", observer=Waits()) as opened:
        opened.append([b"0"])


# --- interruptions


def test_a_signal_handler_may_append_what_its_thread_waits_for(log: Log) -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: write(log, 1))
    try:
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        assert log.wait(0)
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        assert next(iter(log.tail(1))).offset == 1
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("waits", ["for an offset", "for a record"])
def test_an_interrupted_wait_leaves_nobody_behind(log: Log, waits: str) -> None:
    interrupter = Interrupter(lambda name: "/log/reading/" in name or name.endswith("waiters.py"))
    tail = log.tail()

    def interrupted() -> None:
        assert waiting(log) <= 1
        raise Interruption

    def wait_for_a_record() -> None:
        writer = threading.Timer(0.001, lambda: write(log, 1))
        writer.start()
        try:
            with interrupter.between_bytecodes(at, interrupted):
                next(iter(tail))
        finally:
            writer.join()
            tail._source.place.offset = log.log_end_offset

    def wait_for_an_offset() -> None:
        with interrupter.between_bytecodes(at, interrupted):
            assert not log.wait(log.log_end_offset, 0.0005)

    at, place = 0, "somewhere"
    while place:
        with suppress(Interruption):
            wait_for_an_offset() if waits == "for an offset" else wait_for_a_record()
        place = interrupter.place
        assert waiting(log) == 0, place
        at += 1
    assert at > 50


def test_an_append_that_is_interrupted_after_it_was_done_still_wakes(log: Log) -> None:
    interrupter = Interrupter()

    def interrupted() -> None:
        raise Interruption

    write(log, 1)
    at, place = 0, "somewhere"
    while place:
        end, tail = log.log_end_offset, log.tail()
        running = InThread(tail)
        until(partial(waiting, log))
        with suppress(Interruption), interrupter.between_bytecodes(at, interrupted):
            write(log, 1)
        place = interrupter.place
        if log.log_end_offset > end:
            until(running.values.__len__)
        tail.close()
        assert running.ended()
        at += 7


def test_a_forked_process_does_not_wait(log: Log) -> None:
    tail = log.tail()
    assert exit_status_of(lambda: log.wait(0), refused=LogClosedError, seconds=SECONDS) == 7
    assert exit_status_of(lambda: next(iter(tail)), refused=LogClosedError, seconds=SECONDS) == 7


def test_a_process_that_is_forked_in_the_middle_of_a_wait_comes_out_of_it(log: Log) -> None:
    children: list[int] = []

    def fork(*_: object) -> None:
        process = os.fork()
        if process:
            children.append(process)
        else:
            sys.settrace(None)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)

    parent = os.getpid()
    before = signal.signal(signal.SIGUSR1, fork)
    try:
        threading.Timer(0.05, lambda: os.kill(parent, signal.SIGUSR1)).start()
        threading.Timer(0.3, lambda: write(log, 1)).start()
        try:
            log.wait(0)
        except LogClosedError:
            os._exit(7 if os.getpid() != parent else 1)
        if os.getpid() != parent:
            os._exit(2)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [7]


# --- in asyncio


def test_tasks_wait_without_threads(log: Log) -> None:
    async def read(count: int) -> list[int]:
        found: list[int] = []
        async for record in log.tail(0):
            found.append(record.offset)
            if len(found) == count:
                return found
        raise AssertionError

    async def main() -> None:
        threads = set(threading.enumerate())
        tasks = [asyncio.create_task(read(6)) for _ in range(50)]
        waits = [asyncio.create_task(log.wait_async(5)) for _ in range(50)]
        await asyncio.sleep(0)
        assert set(threading.enumerate()) <= threads  # those of earlier tests may end meanwhile
        assert waiting(log) == 100
        writer = threading.Thread(target=write, args=(log, 6))
        writer.start()
        assert await asyncio.gather(*tasks) == [list(range(6))] * 50
        assert await asyncio.gather(*waits) == [True] * 50
        writer.join()
        assert not await log.wait_async(6, 0.001)

    asyncio.run(main())


def test_a_task_that_is_cancelled_does_not_wait_any_more(log: Log) -> None:
    async def main() -> None:
        async def read() -> None:
            async for _ in log.tail():
                pass

        for waits in (read(), log.wait_async(5), log.wait_async(5, 60)):
            task = asyncio.ensure_future(waits)
            await asyncio.sleep(0.01)
            assert waiting(log) == 1
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert waiting(log) == 0

    asyncio.run(main())


def test_a_loop_that_is_closed_does_not_hurt_who_appends(log: Log) -> None:
    loop = asyncio.new_event_loop()
    task = loop.create_task(log.wait_async(0))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    assert waiting(log) == 1
    write(log, 1)
    assert log.log_end_offset == 1
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    task.get_coro().close()


def test_a_task_ends_with_the_log(log: Log) -> None:
    async def main() -> list[Record]:
        threading.Timer(0.02, log.close).start()
        return [record async for record in log.tail()]

    assert asyncio.run(main()) == []


# --- whatever happens

STEPS = st.lists(
    st.tuples(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 4)),
            st.tuples(st.just("append"), st.integers(1, 4)),
            st.tuples(st.just("truncate"), st.integers(0, 12)),
            st.tuples(st.just("watermark"), st.integers(0, 5)),
            st.tuples(st.just("delete"), st.integers(0, 5)),
            st.tuples(st.just("anew"), st.integers(-3, 3)),
            st.tuples(st.just("roll"), st.just(0)),
        ),
        st.booleans(),
    ),
    max_size=40,
)
"""What is done to a log, and whether its readers come to their turn then; offsets as distances from its end."""


@settings(deadline=None, max_examples=100)
@given(STEPS, st.sampled_from(Isolation))
def test_nothing_is_skipped_or_read_twice_unnoticed(
    steps: list[tuple[tuple[str, int], bool]], isolation: Isolation
) -> None:
    """A reader that undoes what it is told to undo has, in the end, what the log has."""
    signal.alarm(SECONDS * 10)
    with TemporaryDirectory() as directory, Log.open(Path(directory) / "t-0", CONFIG) as log:
        asyncio.run(live(log, steps, isolation))


async def live(log: Log, steps: list[tuple[tuple[str, int], bool]], isolation: Isolation) -> None:
    seen: dict[int, bytes | None] = {}
    task = asyncio.create_task(follow(log, isolation, seen))
    number = 0
    for (name, argument), is_read in steps:
        end = log.log_end_offset
        match name:
            case "append":
                log.append([b"%d" % (number + each) for each in range(argument)])
                number += argument
            case "truncate":
                log.truncate_to(max(0, end - argument))
            case "watermark":
                log.update_high_watermark(end - argument)
            case "delete":
                log.delete_records(max(0, log.high_watermark - argument))
                log.delete_old_segments()
            case "anew":
                log.truncate_fully_and_start_at(max(0, end + argument))
            case _:
                log.roll()
        if is_read:
            await turns()
    log.update_high_watermark(log.log_end_offset)
    await turns()
    assert not task.done(), task.exception()
    kept = {record.offset: record.value for record in log.records(isolation=isolation)}
    assert {offset: value for offset, value in seen.items() if offset >= log.log_start_offset} == kept
    log.close()
    await task


async def turns() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


async def follow(log: Log, isolation: Isolation, seen: dict[int, bytes | None]) -> None:
    """Note what is read, and undo what the log tells to be undone."""
    start = 0
    while True:
        try:
            async for record in log.tail(start, isolation=isolation):
                assert not [offset for offset in seen if offset >= record.offset]
                seen[record.offset] = record.value
        except LogTruncatedError as told:
            for offset in [offset for offset in seen if offset >= (told.offset or 0)]:
                del seen[offset]
            start = max(told.offset or 0, log.log_start_offset)
        except OffsetOutOfRangeError:
            start = log.log_start_offset
        else:
            return
