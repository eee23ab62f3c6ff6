"""Partitions in doubt are collected by some threads, and taken by one that waits for them."""

from threading import Thread

from logstore import TopicPartition
from replication.cluster.fetcher.leader_doubts import LeaderDoubts

FIRST, SECOND = TopicPartition("orders", 0), TopicPartition("orders", 1)
LONG = 60.0
"""Seconds that nobody waits."""


def test_what_is_in_doubt_is_taken_once() -> None:
    doubts = LeaderDoubts()
    for partition in (FIRST, SECOND, FIRST):
        doubts.add(partition)
    assert doubts.take(LONG) == {FIRST, SECOND}
    assert doubts.take(0.0) == frozenset()


def test_who_waits_goes_on_with_the_first_doubt() -> None:
    doubts = LeaderDoubts()
    taken = list[frozenset[TopicPartition]]()
    waiting = Thread(target=lambda: taken.append(doubts.take(LONG)))
    waiting.start()
    doubts.add(FIRST)
    waiting.join(LONG / 2)
    assert taken == [{FIRST}]


def test_who_is_woken_goes_on_without_any() -> None:
    doubts = LeaderDoubts()
    taken = list[frozenset[TopicPartition]]()
    waiting = Thread(target=lambda: taken.append(doubts.take(LONG)))
    waiting.start()
    doubts.wake()
    waiting.join(LONG / 2)
    assert taken == [frozenset()]


def test_who_was_woken_waits_again_the_next_time() -> None:
    doubts = LeaderDoubts()
    doubts.wake()
    assert doubts.take(LONG) == frozenset()
    adding = Thread(target=lambda: doubts.add(SECOND))
    waits = doubts._changed.wait_for

    def begin_to_wait(*args: object) -> bool:
        adding.start()
        return waits(*args)  # type: ignore[arg-type]

    doubts._changed.wait_for = begin_to_wait  # type: ignore[method-assign,assignment]
    assert doubts.take(LONG) == {SECOND}
    adding.join()
