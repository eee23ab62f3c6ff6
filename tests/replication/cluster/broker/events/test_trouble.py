"""Trouble is told when it begins and when it is over, however often it is met."""

from replication.cluster.broker.events.trouble import Trouble
from replication.cluster.broker.events.trouble_events import TroubleBegan, TroubleEnded, TroubleEvent, TroubleKind


class Told:
    def __init__(self) -> None:
        self.now = 1_000
        self.events: list[TroubleEvent] = []
        self.trouble = Trouble(TroubleKind.LEADER, "broker1:9092", self.events.append, lambda: self.now)


def test_it_is_told_once_and_its_end_once_with_how_long_it_lasted() -> None:
    told = Told()
    for why in ("refused", "still refused"):
        told.trouble.begin(why)
    told.now = 4_500
    for _ in range(2):
        told.trouble.end()
    assert told.events == [
        TroubleBegan(kind=TroubleKind.LEADER, peer="broker1:9092", why="refused"),
        TroubleEnded(kind=TroubleKind.LEADER, peer="broker1:9092", lasted_ms=3_500),
    ]


def test_causes_that_take_turns_are_told_once_each() -> None:
    told = Told()
    for cause in ("STALE", "", "STALE", ""):
        told.trouble.begin(f"for {cause}", cause)
    told.trouble.end()
    assert [event.fields().get("why") for event in told.events] == ["for STALE", "for ", None]


def test_what_comes_again_after_its_end_is_told_again() -> None:
    told = Told()
    for _ in range(2):
        told.trouble.begin("gone")
        told.trouble.end()
    assert [event.event for event in told.events] == ["trouble", "trouble-over"] * 2


def test_what_never_began_does_not_end() -> None:
    told = Told()
    told.trouble.end()
    assert told.events == []
