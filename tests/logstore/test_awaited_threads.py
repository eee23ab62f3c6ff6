"""No thread is at work any more when the block is left, whatever ends it."""

from concurrent.futures import Future
from contextlib import suppress
from threading import Event, Thread
from time import monotonic, sleep

import pytest

from logstore.awaited_threads import AwaitedThreads

SECONDS = 30


def test_what_is_submitted_is_done_and_returned() -> None:
    with AwaitedThreads(2) as threads:
        sums = [threads.submit(sum, [number, number]) for number in range(5)]
    assert [each.result() for each in sums] == [0, 2, 4, 6, 8]


def test_an_error_is_where_its_result_would_be() -> None:
    with AwaitedThreads(1) as threads:
        failed = threads.submit(int, "one")
    with pytest.raises(ValueError, match="one"):
        failed.result()


def test_what_is_begun_is_waited_for_and_nothing_else_is_begun_where_the_block_raises() -> None:
    is_begun, done = Event(), list[str]()
    waiting: list[Future[None]] = []

    def work() -> None:
        is_begun.set()
        deadline = monotonic() + SECONDS
        while not (waiting and waiting[0].cancelled()) and monotonic() < deadline:
            sleep(0.001)
        sleep(0.02)
        done.append("begun")

    with suppress(LookupError), AwaitedThreads(1) as threads:
        threads.submit(work)
        waiting.append(threads.submit(done.append, "waiting"))
        assert is_begun.wait(SECONDS)
        raise LookupError
    assert done == ["begun"]
    assert waiting[0].cancelled()


@pytest.mark.parametrize("seconds", [0.0, 0.05], ids=["at work when it is interrupted", "not yet at work"])
def test_a_thread_whose_start_is_interrupted_does_not_work_later(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_at_work = False
    start, begin = Thread.start, Future.set_running_or_notify_cancel

    def interrupted(thread: Thread) -> None:
        start(thread)
        sleep(0.05 - seconds)
        raise KeyboardInterrupt

    def late(future: Future[None]) -> bool:
        sleep(seconds)
        return begin(future)

    def work() -> None:
        nonlocal is_at_work
        is_at_work = True
        sleep(0.1)
        is_at_work = False

    monkeypatch.setattr(Thread, "start", interrupted)
    monkeypatch.setattr(Future, "set_running_or_notify_cancel", late)
    with pytest.raises(KeyboardInterrupt), AwaitedThreads(1) as threads:
        threads.submit(work)
    for _ in range(20):
        assert not is_at_work
        sleep(0.01)
