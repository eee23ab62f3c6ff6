"""Calls beside those of other threads, in signal handlers and in forked processes wait, are refused, or go on."""

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.errors import CorruptBatchError, LogClosedError, ReentrantCallError
from logstore.log.log import Log
from logstore.log.observers.log_observer import LogObserver
from logstore.log_config import LogConfig

CONFIG = LogConfig(segment_bytes=20_000, cleanup_policy=frozenset({"compact", "delete"}), retention_ms=-1)


@contextmanager
def busy(append: Callable[[], object]) -> Iterator[None]:
    """Append all the time."""
    is_done = threading.Event()

    def work() -> None:
        while not is_done.is_set():
            append()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def test_backups_and_compactions_wait_for_the_call_of_another_thread(tmp_path: Path) -> None:
    (tmp_path / "copies").mkdir()
    with Log.open(tmp_path / "t-0", CONFIG) as log, busy(lambda: log.append([Record.of(b"value", b"key")] * 10)):
        for _ in range(5):
            log.backup(tmp_path / "copies" / "t-0")
            log.compact()
    with Log.open(tmp_path / "copies" / "t-0", CONFIG) as copied:
        assert copied.report.recovered_segments == 0


def test_a_timeout_that_a_signal_handler_raises_does_not_poison_the_log(tmp_path: Path) -> None:
    raised = 0

    def time_out(*_: object) -> None:
        raise TimeoutError("soft limit")

    before = signal.signal(signal.SIGALRM, time_out)
    try:
        with Log.open(tmp_path / "t-0") as log:
            for _ in range(30):
                with suppress(TimeoutError):
                    signal.setitimer(signal.ITIMER_REAL, 0.002)
                    while True:
                        log.append([b"value"])
                raised += 1
            assert (log.failure, raised) == (None, 30)
            assert len(list(log.records())) == log.log_end_offset
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("use", [lambda log: log.cursor("c"), lambda log: log.producer(7)], ids=["cursor", "producer"])
def test_what_has_a_lock_of_its_own_is_refused_within_a_call_of_the_log(
    tmp_path: Path, use: Callable[[Log], object]
) -> None:
    class Using(LogObserver):
        def appended(self, *_: object) -> None:
            with pytest.raises(ReentrantCallError):
                use(log)
            used.append(True)

    used: list[bool] = []
    with Log.open(tmp_path / "t-0", observer=Using()) as log:
        log.append([b"value"])
    assert used == [True]


def test_a_producer_is_refused_in_a_forked_process_though_another_thread_was_in_a_call(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        producer = log.producer(7)
        with busy(lambda: producer.append([b"value"])):
            for _ in range(5):
                child = os.fork()
                if not child:
                    refused = False
                    try:
                        producer.append([b"child"])
                    except LogClosedError:
                        refused = True
                    finally:
                        os._exit(0 if refused else 1)
                assert os.waitpid(child, 0)[1] == 0


def test_what_has_raised_in_the_middle_of_records_has_ended(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0") as log:
        for _ in range(40):
            log.append([b"value" * 20] * 100)
        log.segments[0].file.release()
        content = bytearray(log.segments[0].path.read_bytes())
        content[len(content) // 2] ^= 1
        log.segments[0].path.write_bytes(content)
        records = log.records()
        read = []
        with pytest.raises(CorruptBatchError, match="batch"):
            read.extend(each.offset for each in records)
        assert next(records, None) is None


def test_other_tasks_get_their_turn_while_a_tail_is_behind(tmp_path: Path) -> None:
    async def read(log: Log) -> int:
        count = 0
        async for each in log.tail(0):
            count += 1
            if each.offset == log.log_end_offset - 1:
                break
        return count

    async def main(log: Log) -> tuple[int, int]:
        turns = 0

        async def tick() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        count = await read(log)
        ticking.cancel()
        return count, turns

    with Log.open(tmp_path / "t-0") as log:
        for _ in range(300):
            log.append([b"value" * 200] * 10)
        count, turns = asyncio.run(main(log))
    assert count == 3_000
    assert turns >= 2
