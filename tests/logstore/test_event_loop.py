"""Tasks of asyncio and of trio wait for a log alike, without a thread, and give up when they are told to."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import trio

from logstore import Log, ReadOnlyLog
from logstore.event_loop import AsyncioLoop, EventLoop, TrioLoop, running_loop
from logstore.log.reading import tail

SECONDS = 20
Run = Callable[[Callable[[], Awaitable[Any]]], Any]


def in_asyncio(main: Callable[[], Awaitable[Any]]) -> Any:
    return asyncio.run(asyncio.wait_for(main(), SECONDS))


def in_trio(main: Callable[[], Awaitable[Any]]) -> Any:
    async def bounded() -> Any:
        with trio.fail_after(SECONDS):
            return await main()

    return trio.run(bounded)


@pytest.fixture(params=[in_asyncio, in_trio], ids=["asyncio", "trio"])
def run(request: pytest.FixtureRequest) -> Run:
    chosen: Run = request.param
    return chosen


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0") as log:
        yield log


def later(function: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.05, function)
    timer.start()
    return timer


def test_the_loop_is_that_of_the_task() -> None:
    async def which() -> type:
        return type(running_loop())

    assert in_asyncio(which) is AsyncioLoop
    assert in_trio(which) is TrioLoop
    assert in_asyncio(which) is AsyncioLoop
    with pytest.raises(RuntimeError):
        running_loop()


def test_what_was_submitted_is_awaited(log: Log, run: Run) -> None:
    async def main() -> list[int]:
        submitted = [log.submit([b"%d" % number]) for number in range(20)]
        return [(await done).last_offset for _, done in submitted]

    assert run(main) == list(range(20))
    assert log.end_of_flushed == 20


@pytest.mark.parametrize("reads", ["the log", "a reader"])
def test_a_tail_goes_on_when_another_thread_has_appended(log: Log, run: Run, reads: str) -> None:
    source: Log | ReadOnlyLog = log if reads == "the log" else Log.reader(log.directory, poll_seconds=0.01)

    async def main() -> list[bytes | None]:
        found: list[bytes | None] = []
        records = source.tail(0)
        timer = later(lambda: log.append([b"first"]))
        async for record in records:
            found.append(record.value)
            if len(found) == 2:
                records.close()
            else:
                timer = later(lambda: log.append([b"second"]))
        timer.join()
        return found

    assert run(main) == [b"first", b"second"]


def test_what_is_not_in_memory_is_read_in_a_thread_while_other_tasks_run(
    log: Log, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    log.append([b"first"])
    others_ran = threading.Event()
    threads: list[threading.Thread] = []

    def from_a_slow_disk(_: memoryview) -> None:
        threads.append(threading.current_thread())
        assert others_ran.wait(SECONDS)

    monkeypatch.setattr(tail, "is_in_memory", lambda _: False)
    monkeypatch.setattr(tail, "load", from_a_slow_disk)

    async def main() -> bytes | None:
        loop = running_loop()
        loop.call_soon(others_ran.set)
        async with aclosing(aiter(log.tail(0))) as records:
            return (await anext(records)).value

    assert run(main) == b"first"
    assert threading.main_thread() not in threads
    assert len(threads) == 1


@pytest.mark.parametrize("reads", ["the log", "a reader"])
def test_a_wait_ends_with_an_append_or_with_its_time(log: Log, run: Run, reads: str) -> None:
    source: Log | ReadOnlyLog = log if reads == "the log" else Log.reader(log.directory, poll_seconds=0.01)

    async def main() -> tuple[bool, bool]:
        in_vain = await source.wait_async(0, timeout=0.02)
        timer = later(lambda: log.append([b"first"]))
        found = await source.wait_async(0, timeout=SECONDS)
        timer.join()
        return in_vain, found

    assert run(main) == (False, True)


def test_a_task_of_trio_that_is_cancelled_leaves_the_others_and_the_log_as_they_are(log: Log) -> None:
    async def main() -> int:
        records_of_log = log.tail(0)
        with trio.move_on_after(0.02) as scope:
            async with aclosing(aiter(records_of_log)) as records:
                await anext(records)
        assert scope.cancelled_caught
        _, done = log.submit([b"first"])
        with trio.CancelScope() as cancelled:
            cancelled.cancel()
            await done
        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(_await, done)
        async with aclosing(aiter(records_of_log)) as records:
            return (await anext(records)).offset

    assert in_trio(main) == 0


async def _await(done: Awaitable[object]) -> None:
    await done


def test_a_loop_that_has_ended_is_not_woken() -> None:
    loops: list[EventLoop] = []

    async def main() -> None:
        loops.append(running_loop())

    in_asyncio(main)
    in_trio(main)
    called: list[int] = []
    for loop in loops:
        loop.call_soon(lambda: called.append(1))
    assert not called
