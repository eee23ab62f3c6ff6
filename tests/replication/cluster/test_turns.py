"""Threads take turns, and those that wait behind one that had no answer do not find that out one by one."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from replication.cluster.turns import TurnMissedError, Turns
from tests.replication.cluster.broker.lifecycle.unanswering import wait_until

WAITING = 7


def in_turn(turns: Turns, act: Callable[[], object]) -> None:
    with turns.turn():
        act()


def test_whoever_waits_as_one_fails_waits_no_more_and_who_comes_later_has_a_turn() -> None:
    turns, acted = Turns(), []
    with ThreadPoolExecutor(WAITING) as threads:
        with turns.turn():
            behind: list[Future[None]] = [
                threads.submit(in_turn, turns, lambda: acted.append(1)) for _ in range(WAITING)
            ]
            wait_until(lambda: turns.waiting == WAITING)
            turns.failed("nobody answers")
        for each in behind:
            with pytest.raises(TurnMissedError, match="nobody answers"):
                each.result()
    assert acted == []
    in_turn(turns, lambda: acted.append(2))
    assert acted == [2]


def test_one_at_a_time_has_a_turn_and_each_has_one() -> None:
    turns, inside, most = Turns(), [0], [0]

    def act() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        inside[0] -= 1

    with ThreadPoolExecutor(WAITING) as threads:
        for each in [threads.submit(in_turn, turns, act) for _ in range(200)]:
            each.result()
    assert most == [1]


def test_an_error_within_a_turn_ends_it() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="mine"), turns.turn():
        raise ValueError("mine")
    in_turn(turns, lambda: None)


def test_nobody_waits_for_longer_than_he_likes() -> None:
    turns = Turns()
    with ThreadPoolExecutor(1) as threads, turns.turn():

        def ask() -> None:
            with turns.turn(0.01):
                raise AssertionError("somebody else has it")

        with pytest.raises(TurnMissedError):
            threads.submit(ask).result()
