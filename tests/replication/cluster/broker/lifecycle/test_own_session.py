"""By its own clock a broker knows when another may lead in its place, and by the metadata when none does."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.cluster.broker.lifecycle.own_session import OwnSession

TIMEOUT_MS = 100


class Controller:
    """Fences a broker that is silent for as long as a session lasts, and unfences it when it is heard again."""

    def __init__(self) -> None:
        self.fencings = 0
        self._contact_at: int | None = 0

    def pass_time(self, now: int) -> None:
        if self._contact_at is not None and now - self._contact_at > TIMEOUT_MS:
            self._contact_at = None
            self.fencings += 1

    def hear(self, now: int) -> None:
        self.pass_time(now)
        self._contact_at = now


class Broker:
    """Sends one heartbeat and one fetch at a time, each of which arrives, and is answered, some time later or never."""

    def __init__(self) -> None:
        self.now = 0
        self.controller = Controller()
        self.session = registered()
        self.applied = 0
        """How many of its fencings are in the metadata that it has applied."""
        self._heartbeat: tuple[int, bool] | None = None
        self._fetch: tuple[int, int | None] | None = None

    def wait(self, milliseconds: int) -> None:
        for now in range(self.now, self.now + milliseconds + 1):
            self.now = now
            self.controller.pass_time(now)
            assert self.session.is_over(self.now) or self.applied == self.controller.fencings

    def heartbeat(self) -> None:
        match self._heartbeat:
            case None:
                self._heartbeat = (self.now, False)
            case (sent_at, False):
                self.controller.hear(self.now)
                self._heartbeat = (sent_at, True)
            case (sent_at, True):
                self.session.heard(sent_at, self.now)
                self._heartbeat = None

    def fetch(self) -> None:
        match self._fetch:
            case None:
                self._fetch = (self.now, None)
            case (asked_at, None):
                self._fetch = (asked_at, self.controller.fencings)
            case (asked_at, int(fencings)):
                self.applied = fencings
                self.session.metadata_applied(asked_at)
                self._fetch = None

    def cut(self) -> None:
        self._heartbeat = self._fetch = None


@given(st.integers(0, 1 << 64))
def test_as_long_as_it_lasts_it_knows_of_each_time_that_it_was_fenced(seed: int) -> None:
    random, broker = Random(seed), Broker()
    while broker.now < 40 * TIMEOUT_MS:
        step = random.choices(("heartbeat", "fetch", "cut"), (10, 10, 1))[0]
        getattr(broker, step)()
        broker.wait(random.choice((0, 1, 5, 30)) if step != "cut" else random.randrange(2 * TIMEOUT_MS))


def registered() -> OwnSession:
    session = OwnSession(TIMEOUT_MS)
    session.registered(0)
    return session


def test_it_begins_with_the_first_heartbeat_and_runs_out_after_the_last() -> None:
    session = registered()
    assert session.is_over(0)
    session.heard(5, 20)
    assert not session.is_over(104)
    assert session.is_over(105)


def test_heartbeats_that_come_in_time_need_no_metadata() -> None:
    session = registered()
    session.fenced(5, 20)
    session.heard(90, 104)
    session.heard(150, 189)
    assert not session.is_over(249)


def test_registering_again_is_no_heartbeat() -> None:
    session = registered()
    session.registered(90)
    session.heard(95, 100)
    assert session.is_over(101)


@pytest.mark.parametrize(("as_of", "is_over"), [(200, True), (201, False)])
def test_one_that_came_too_late_needs_metadata_fetched_after_it(as_of: int, is_over: bool) -> None:
    session = registered()
    session.heard(5, 20)
    session.heard(150, 200)
    assert session.is_over(210)
    session.metadata_applied(as_of)
    session.metadata_applied(0)  # what comes late takes nothing back
    assert session.is_over(210) is is_over


def test_it_is_over_at_once_when_the_controller_says_so() -> None:
    session = registered()
    session.heard(5, 20)
    session.fenced(25, 30)
    assert session.is_over(30)
    session.heard(30, 40)
    assert session.is_over(40)
    session.metadata_applied(41)
    assert not session.is_over(41)


def test_without_a_time_out_it_lasts_for_ever() -> None:
    session = OwnSession()
    assert not session.is_over(1 << 40)
    session.fenced(5, 20)
    assert not session.is_over(1 << 40)
