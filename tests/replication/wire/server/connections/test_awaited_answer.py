"""Answers that the request of another connection makes possible."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

from logstore.log.state.waiters import Waiter, Waiters
from replication.records.codec.gathered import Part
from replication.wire.server.connections.awaited_answer import AwaitedAnswer, give_due_answers, giving_answers
from replication.wire.server.connections.stream import PlainStream
from replication.wire.server.conversation import Waiting
from tests.replication.wire.server.client import FETCH, Client, address_of, fetched, serving

MIB = 1 << 20
WHOLE = b"an answer"


class Later(Waiting):
    """Something that is waited for."""

    def __init__(self) -> None:
        self.waiters = Waiters()
        self.answer: bytes | Exception | None = None
        self.looks: list[int] = []
        """By which threads it was looked for."""
        self.left = Event()
        self.seconds = 60.0
        self.made_at = time.monotonic()

    @property
    def deadline(self) -> float:
        return self.made_at + self.seconds

    def attend(self, waiter: Waiter) -> None:
        self.waiters.add(waiter)

    def leave(self, waiter: Waiter) -> None:
        self.waiters.remove(waiter)
        self.left.set()

    def parts(self, now: float) -> list[Part] | None:  # noqa: ARG002  the method is the product's
        self.looks.append(threading.get_ident())
        if isinstance(self.answer, Exception):
            raise self.answer
        if self.answer is None and time.monotonic() < self.deadline:
            return None
        return [self.answer or b"too late"]


class Sent(PlainStream):
    """Takes so many bytes at once."""

    def __init__(self, room: int = MIB) -> None:
        self.room = room
        self.taken = b""

    def offer(self, parts: list[Part]) -> bytes:
        whole = b"".join(parts)
        self.taken += whole[: self.room]
        return whole[self.room :]


class Connected:
    """A connection's own thread, which waits for an answer."""

    def __init__(self, later: Later, stream: PlainStream) -> None:
        self.awaited = AwaitedAnswer(stream)
        self.rest: bytes | None = None
        self.failure: Exception | None = None
        self.wakes = 0
        self.waits = Event()
        self._later = later
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            with self.awaited.attending(self._later):
                while not self.awaited.look():
                    self.waits.set()
                    self.wakes += self.awaited.wait(60)
                self.rest = self.awaited.take_rest()
        except ValueError as error:
            self.failure = error

    def start(self) -> None:
        self._thread.start()
        assert self.waits.wait(10)

    def join(self) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()

    @property
    def ident(self) -> int | None:
        return self._thread.ident


@contextmanager
def waiting(later: Later, stream: PlainStream) -> Iterator[Connected]:
    connected = Connected(later, stream)
    connected.start()
    try:
        yield connected
    finally:
        later.answer = later.answer or WHOLE
        connected.awaited.interrupt()
        connected.join()


def test_it_is_sent_by_the_thread_that_makes_it_possible_once_that_gives_what_is_due() -> None:
    later, stream = Later(), Sent()
    with waiting(later, stream) as connected, giving_answers():
        later.answer = WHOLE
        later.waiters.wake()
        assert stream.taken == b""  # locks may be held here
        give_due_answers()
        assert stream.taken == WHOLE
        assert later.looks[-1] == threading.get_ident()
        connected.join()
        assert connected.rest == b""
        assert later.left.is_set()


def test_what_is_due_is_given_at_the_end_at_the_latest_whatever_happens() -> None:
    later, stream = Later(), Sent()
    with waiting(later, stream):
        with pytest.raises(ZeroDivisionError):
            fail_after_a_change(later)
        assert stream.taken == WHOLE


def fail_after_a_change(later: Later) -> None:
    with giving_answers():
        later.answer = WHOLE
        later.waiters.wake()
        raise ZeroDivisionError


def test_a_thread_that_gives_no_answers_wakes_its_own() -> None:
    later, stream = Later(), Sent()
    with waiting(later, stream) as connected:
        later.answer = WHOLE
        later.waiters.wake()
        connected.join()
        assert set(later.looks) == {connected.ident}
        assert stream.taken == WHOLE


def test_what_cannot_be_sent_at_once_is_left_to_its_own_thread() -> None:
    later, stream = Later(), Sent(2)
    with waiting(later, stream) as connected, giving_answers():
        later.answer = WHOLE
        later.waiters.wake()
        give_due_answers()
        connected.join()
        assert (stream.taken, connected.rest) == (WHOLE[:2], WHOLE[2:])


def test_as_long_as_there_is_none_its_own_thread_sleeps() -> None:
    later = Later()
    with waiting(later, Sent()) as connected, giving_answers():
        for _ in range(3):
            later.waiters.wake()
            give_due_answers()
        assert len(later.looks) == 4
        assert connected.wakes == 0


def test_a_deadline_that_comes_earlier_now_is_kept() -> None:
    """As that of a rebalance, which ends sooner once fewer members are waited for."""
    later, stream = Later(), Sent()
    with waiting(later, stream) as connected, giving_answers():
        later.seconds = time.monotonic() - later.made_at + 0.3
        later.waiters.wake()
        give_due_answers()
        connected.join()
        assert stream.taken == b"too late"


def test_what_has_failed_is_not_looked_for_again() -> None:
    later, stream = Later(), Sent()
    later.answer = ValueError("no")
    awaited = AwaitedAnswer(stream)
    with awaited.attending(later):
        with pytest.raises(ValueError, match="no"):
            awaited.look()
        later.answer = WHOLE
        awaited.give()
    assert (len(later.looks), stream.taken) == (1, b"")


def test_many_changes_at_once_are_looked_at_once() -> None:
    later = Later()
    with waiting(later, Sent()), giving_answers():
        for _ in range(3):
            later.waiters.wake()
        give_due_answers()
        assert len(later.looks) == 2


def test_an_error_ends_its_own_connection_and_not_that_of_the_one_who_met_it() -> None:
    later = Later()
    with waiting(later, Sent()) as connected, giving_answers():
        later.answer = ValueError("no")
        later.waiters.wake()
        give_due_answers()
        connected.join()
        assert str(connected.failure) == "no"
        later.answer = WHOLE


def test_whoever_comes_while_another_looks_lets_it_look_again() -> None:
    class Slow(Later):
        looking, may_go_on = Event(), Event()

        def parts(self, now: float) -> list[Part] | None:
            found = super().parts(now)
            if len(self.looks) == 1:
                self.looking.set()
                assert self.may_go_on.wait(10)
            return found

    later, stream = Slow(), Sent()
    connected = Connected(later, stream)
    starting = threading.Thread(target=connected.start)
    starting.start()
    assert later.looking.wait(10)
    with giving_answers():
        later.answer = WHOLE  # too late for the look that is under way
        later.waiters.wake()
        give_due_answers()
    later.may_go_on.set()
    connected.join()
    starting.join()
    assert stream.taken == WHOLE


def test_nothing_is_given_to_who_waits_no_more() -> None:
    later, stream = Later(), Sent()
    awaited = AwaitedAnswer(stream)
    with awaited.attending(later):
        pass
    later.answer = WHOLE
    awaited.give()
    assert stream.taken == b""


def test_a_client_that_reads_nothing_keeps_nobody_waiting_whose_answer_it_has_made_possible() -> None:
    """It is stuck in sending its own answer, which it takes none of."""
    change = Waiters()
    is_there = Event()

    class ForChange:
        deadline = time.monotonic() + 60

        def attend(self, waiter: Waiter) -> None:
            change.add(waiter)

        def leave(self, waiter: Waiter) -> None:
            change.remove(waiter)

        def answer(self) -> Any:
            return fetched(b"now") if is_there.is_set() else None

        def expire(self) -> Any:
            return fetched(b"late")

    def answer(*_: object) -> Any:
        if not turns:
            return ForChange()
        turns.pop()
        is_there.set()
        change.wake()
        return fetched(memoryview(bytes(64 * MIB)))

    turns: list[int] = []
    with serving(answer) as server, Client(address_of(server)) as other, Client(address_of(server)) as stuck:
        other.send(FETCH)
        while not change:
            time.sleep(0.001)
        turns.append(1)
        stuck.send(FETCH)
        assert [each.records for each in other.receive().partitions.values()] == [b"now"]
