"""What fails beside a round of chaos is told when it is stopped, and what does not end is, too."""

from threading import Event

import pytest

from tests.replication.cluster.node.joining.chaos.thread import ChaosThread


class Waiting(ChaosThread):
    def __init__(self) -> None:
        self.may_end = Event()

    def _run(self) -> None:
        self.may_end.wait()


class Failing(ChaosThread):
    def _run(self) -> None:
        raise ValueError("lost")


def test_what_has_ended_it_is_raised_each_time() -> None:
    thread = Failing()
    thread.start()
    for _ in range(2):
        with pytest.raises(ValueError, match="lost"):
            thread.stop()


def test_one_that_does_not_end_is_waited_for_no_longer_than_asked() -> None:
    thread = Waiting()
    thread.start()
    with pytest.raises(AssertionError, match="has not ended"):
        thread.stop(seconds=0.01)
    thread.may_end.set()
    thread.stop()
