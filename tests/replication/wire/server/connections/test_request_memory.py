"""Memory for requests goes to whoever has waited for it longest."""

import time
from threading import Thread

import pytest

from replication.wire.server.connections.request_memory import RequestMemory
from replication.wire.server.hang_up import HangUpError

SECONDS = 30


def waiting(memory: RequestMemory, number: int, served: list[int]) -> Thread:
    """Return a thread that waits for memory, behind those that wait already."""

    def wait() -> None:
        try:
            memory.take(10)
            served.append(number)
        except HangUpError:
            served.append(-number)

    thread = Thread(target=wait, daemon=True)
    before = len(memory._waiting)
    thread.start()
    until = time.monotonic() + SECONDS
    while len(memory._waiting) == before and time.monotonic() < until:
        time.sleep(0.001)
    return thread


def test_who_came_first_is_served_first() -> None:
    memory = RequestMemory(10)
    memory.take(10)
    served: list[int] = []
    threads = [waiting(memory, number, served) for number in range(20)]
    for number, thread in enumerate(threads):
        memory.give_back(10)
        thread.join(SECONDS)
        assert served == [*range(number + 1)]


def test_who_took_more_than_there_was_gives_it_back_before_others_are_served() -> None:
    memory = RequestMemory(10)
    memory.take(15)
    served: list[int] = []
    threads = [waiting(memory, number, served) for number in (1, 2)]
    memory.give_back(5)
    assert not served
    threads.append(waiting(memory, 3, served))
    for thread in threads:
        memory.give_back(10)
        thread.join(SECONDS)
    assert served == [1, 2, 3]


def test_as_many_are_served_as_there_is_memory_for() -> None:
    memory = RequestMemory(30)
    memory.take(30)
    served: list[int] = []
    threads = [waiting(memory, number, served) for number in (1, 2, 3)]
    memory.give_back(30)
    for thread in threads:
        thread.join(SECONDS)
    assert sorted(served) == [1, 2, 3]


def test_the_end_is_told_to_all_who_wait_and_to_who_comes_later() -> None:
    memory = RequestMemory(10)
    memory.take(10)
    served: list[int] = []
    threads = [waiting(memory, number, served) for number in (1, 2, 3)]
    memory.close()
    for thread in threads:
        thread.join(SECONDS)
    assert sorted(served) == [-3, -2, -1]
    with pytest.raises(HangUpError):
        memory.take(1)


def test_without_a_limit_nobody_waits() -> None:
    memory = RequestMemory(-1)
    memory.take(1 << 40)
    memory.take(1 << 40)
