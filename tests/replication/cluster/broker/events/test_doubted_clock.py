"""A clock that is not trusted is told of once, and once it is trusted again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import LogDirectory, WatchedClock
from replication.cluster.broker.events.doubted_clock import DoubtedClock
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles

DAY_MS = 86_400_000
MINUTE_MS = 60_000
START_MS = 20_000 * DAY_MS


class Node:
    """One root, whose clock goes as a test says, and what is told of it."""

    def __init__(self, directory: Path, *, is_confirmed: bool) -> None:
        self.wall_ms, self.steady_ms = START_MS, 0
        self.clock = WatchedClock(is_confirmed=is_confirmed)
        self.root = LogDirectory.open(directory, clock=self.clock, replicated=True)
        self.told = HeardTroubles()
        self.doubted = DoubtedClock([self.root], self.told, lambda: self.steady_ms)

    def go(self, passed_ms: int, gained_ms: int = 0) -> list[str]:
        self.wall_ms += passed_ms + gained_ms
        self.steady_ms += passed_ms
        self.doubted.look()
        return self.told


def watched(directory: Path, monkeypatch: pytest.MonkeyPatch, *, is_confirmed: bool) -> Iterator[Node]:
    with monkeypatch.context() as patched:
        patched.setattr("logstore.clock.now_ms", lambda: START_MS)
        patched.setattr("logstore.clock.steady_ms", lambda: 0)
        node = Node(directory, is_confirmed=is_confirmed)
        patched.setattr("logstore.clock.now_ms", lambda: node.wall_ms)
        patched.setattr("logstore.clock.steady_ms", lambda: node.steady_ms)
        yield node
        node.root.abandon()


@pytest.fixture
def trusting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """One that trusts its clock."""
    yield from watched(tmp_path, monkeypatch, is_confirmed=True)


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Node]:
    """One that has heard no other clock."""
    yield from watched(tmp_path, monkeypatch, is_confirmed=False)


def test_a_jump_is_told_once_and_once_as_another_clock_agrees(trusting: Node) -> None:
    assert trusting.go(MINUTE_MS) == []
    assert trusting.go(MINUTE_MS, DAY_MS) == ["clock"]
    assert trusting.go(MINUTE_MS) == ["clock"]
    assert trusting.told.reasons == ["the wall clock is 24.0 h ahead of the time that has passed"]
    trusting.clock.hear(trusting.wall_ms - 500)
    assert trusting.go(MINUTE_MS) == ["clock", "clock over"]


def test_that_no_clock_was_heard_is_told_only_after_a_while(started: Node) -> None:
    assert started.go(MINUTE_MS) == []
    assert started.go(1) == ["clock"]
    started.clock.hear(started.wall_ms)
    assert started.go(1) == ["clock", "clock over"]


def test_one_that_is_soon_confirmed_is_not_told_of(started: Node) -> None:
    started.go(1_000)
    started.clock.hear(started.wall_ms - 20)
    assert started.go(10 * MINUTE_MS) == []
