"""`Log.submit` gives the offset at once, and what tasks and threads wait for until it is on stable storage."""

import asyncio
import errno
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any, assert_type
from unittest.mock import patch

import pytest

from logstore import AppendInfo, BatchTemplate, DurableAppend, Log, LogClosedError, LogConfig, LogPoisonedError
from logstore.log.durable import durable_appends
from tests.bounded_disk import BoundedDisk
from tests.held_disk import HeldDisk
from tests.interruption import exit_status_of

SECONDS = 60


@pytest.fixture
def disk() -> HeldDisk:
    return HeldDisk()


@pytest.fixture
def log(tmp_path: Path, disk: HeldDisk) -> Iterator[Log]:
    """A log with a record, with whose flush the checkpoints were written: no later one in this segment writes any."""
    with Log.open(tmp_path / "events", filesystem=disk) as log:
        log.append([b"first"])
        log.flush()
        yield log
        disk.let_go()


def run(main: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(main, SECONDS))


async def reached(disk: HeldDisk) -> None:
    assert await asyncio.to_thread(disk.is_reached.wait, SECONDS)


def test_the_offset_is_there_before_the_disk_has_it(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    offset, done = log.submit([b"a", b"b"])
    assert_type(done, DurableAppend)
    assert (offset, log.log_end_offset, log.recovery_point) == (1, 3, 1)
    assert disk.is_reached.wait(SECONDS)
    assert repr(done) == "DurableAppend(pending)"
    with pytest.raises(TimeoutError):
        done.result(timeout=0)
    disk.let_go()
    info = done.result(SECONDS)
    assert_type(info, AppendInfo)
    assert (info.first_offset, info.last_offset, log.recovery_point) == (1, 2, 3)
    assert done.done()
    assert repr(done) == "DurableAppend(done)"


def test_it_appends_as_append_does(log: Log) -> None:
    template = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=0)
    assert [log.submit([b"once"], leader_epoch=3, template=template)[0] for _ in range(2)] == [1, 1]
    assert log.epochs.latest_epoch == 3
    assert log.log_end_offset == 2


def test_one_flush_serves_all_tasks_that_wait(log: Log, disk: HeldDisk) -> None:
    async def main() -> None:
        disk.hold()
        _, first = log.submit([b"v"])
        await reached(disk)
        before = disk.fsyncs
        others = [log.submit([b"v"])[1] for _ in range(100)]
        disk.let_go()
        infos = await asyncio.gather(first, *others)
        assert [info.first_offset for info in infos] == list(range(1, 102))
        assert disk.fsyncs == before + 2

    run(main())


def test_a_flush_wakes_a_loop_once_however_many_of_its_tasks_wait(log: Log, disk: HeldDisk) -> None:
    async def main() -> None:
        disk.hold()
        _, first = log.submit([b"v"])
        await reached(disk)
        others = [log.submit([b"v"])[1] for _ in range(20)]
        tasks = [asyncio.ensure_future(each) for each in (first, *others, *others)]
        await asyncio.sleep(0)  # all of them wait now, for two flushes
        loop = asyncio.get_running_loop()
        with patch.object(loop, "call_soon_threadsafe", wraps=loop.call_soon_threadsafe) as wakes:
            disk.let_go()
            await asyncio.gather(*tasks)
        assert wakes.call_count == 2

    run(main())


def test_tasks_of_several_loops_wait_for_one(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    _, done = log.submit([b"v"])
    waiting = Barrier(4)

    async def main() -> int:
        task = asyncio.ensure_future(done)
        await asyncio.sleep(0)
        await asyncio.to_thread(waiting.wait, SECONDS)
        return (await task).first_offset

    with ThreadPoolExecutor(3) as threads:
        found = [threads.submit(asyncio.run, main()) for _ in range(3)]
        waiting.wait(SECONDS)
        disk.let_go()
        assert [each.result(SECONDS) for each in found] == [1, 1, 1]


def test_threads_and_tasks_share_one(log: Log, disk: HeldDisk) -> None:
    async def main() -> None:
        disk.hold()
        _, done = log.submit([b"v"])
        with ThreadPoolExecutor(2) as threads:
            waiting = [asyncio.get_running_loop().run_in_executor(threads, done.result, SECONDS) for _ in range(2)]
            tasks = [asyncio.ensure_future(done) for _ in range(2)]
            await reached(disk)
            disk.let_go()
            assert len({*await asyncio.gather(*waiting, *tasks)}) == 1
        assert (await done).first_offset == 1  # once more

    run(main())


def test_a_task_that_is_cancelled_leaves_the_others_and_the_record(log: Log, disk: HeldDisk) -> None:
    async def main() -> None:
        disk.hold()
        offset, done = log.submit([b"v"])
        cancelled, other = asyncio.ensure_future(done), asyncio.ensure_future(done)
        await reached(disk)
        cancelled.cancel()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(done, 0.01)
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert not other.done()
        disk.let_go()
        assert (await other).first_offset == offset
        assert log.recovery_point == offset + 1

    run(main())


def test_a_loop_that_has_ended_holds_nobody_up(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    _, done = log.submit([b"v"])

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(done, 0.01)

    asyncio.run(give_up())
    disk.let_go()
    assert done.result(SECONDS).first_offset == 1
    run(_await(done))


async def _await(done: DurableAppend) -> None:
    await done


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["a broken disk", "a full disk"])
def test_the_error_of_a_flush_reaches_each_that_waits(log: Log, disk: HeldDisk, number: int) -> None:
    async def main() -> None:
        disk.hold()
        _, first = log.submit([b"v"])
        await reached(disk)
        others = [log.submit([b"v"])[1] for _ in range(3)]
        disk.failure = OSError(number, "no luck")
        disk.let_go()
        found = await asyncio.gather(first, first, *others, return_exceptions=True)
        assert [str(each).startswith(f"[Errno {number}] no luck") for each in found[:2]] == [True, True]
        assert [type(each) for each in found[2:]] == [LogPoisonedError] * 3
        with pytest.raises(OSError, match="no luck"):
            first.result(0)

    run(main())


def test_a_forked_process_does_not_wait_for_what_nobody_flushes_there(log: Log, disk: HeldDisk) -> None:
    disk.hold()
    _, done = log.submit([b"v"])
    assert disk.is_reached.wait(SECONDS)
    for wait in (done.result, lambda: run(_await(done))):
        assert exit_status_of(wait, refused=LogClosedError, seconds=5) == 7
    disk.let_go()
    assert done.result(SECONDS).first_offset == 1
    assert exit_status_of(done.result, refused=LogClosedError, seconds=5) == 0


def test_what_finds_no_space_is_raised_at_once_and_is_not_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    disk = BoundedDisk(tmp_path / "disk", 60)
    with Log.open(tmp_path / "disk/events", LogConfig(segment_bytes=32_768), filesystem=disk) as log:
        log.submit([b"v" * 20_000])[1].result(SECONDS)
        disk.fill()
        with pytest.raises(OSError, match="No space"):
            log.submit([b"v" * 10_000])
        assert log.log_end_offset == 1
        log.trim(before=1)
        assert log.submit([b"v" * 10_000])[1].result(SECONDS).first_offset == 1


def test_those_of_a_log_that_is_closed_are_on_stable_storage(log: Log) -> None:
    done = [log.submit([b"v"])[1] for _ in range(10)]
    log.close()
    assert [each.result(0).first_offset for each in done] == list(range(1, 11))
    with pytest.raises(LogClosedError):
        log.submit([b"v"])


def test_those_of_a_log_that_is_abandoned_are_told(log: Log, disk: HeldDisk) -> None:
    async def main() -> None:
        disk.hold()
        _, first = log.submit([b"v"])
        await reached(disk)
        _, second = log.submit([b"v"])
        tasks = [asyncio.ensure_future(second) for _ in range(2)]
        log.abandon()
        disk.let_go()
        await first
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert [type(each) for each in found] == [LogClosedError] * 2

    run(main())


def test_where_no_thread_can_be_started_the_call_itself_flushes(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(durable_appends.Thread, "start", refused)
    _, done = log.submit([b"v"])
    assert done.done()


def test_what_nobody_waits_for_is_flushed_all_the_same(log: Log, disk: HeldDisk) -> None:
    disk.is_reached.clear()
    log.submit([b"v"])
    assert disk.is_reached.wait(SECONDS)
