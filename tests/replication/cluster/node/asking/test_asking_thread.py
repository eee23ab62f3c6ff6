"""A thread that asks the controller: what could not be asked, or was not granted, is asked again."""

from dataclasses import dataclass, field
from threading import Event
from typing import Any

import pytest

from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.node.asking.asking_thread import AskingThread
from replication.wire.errors import MalformedResponseError
from replication.wire.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse

EPOCH = 20


@dataclass
class Requests:
    """So many to ask, one after the other."""

    wanted: int
    told: list[str] = field(default_factory=list)
    is_settled: bool = True
    again_ms: int = 7_000

    def next(self, broker_epoch: int) -> AlterPartitionRequest | None:
        return AlterPartitionRequest(broker_id=1, broker_epoch=broker_epoch, changes=()) if self.wanted else None

    def answered(self, answer: AlterPartitionResponse, *, may_arrive_late: bool) -> bool:
        self.told.append(f"{answer.error.name}{' late' if may_arrive_late else ''}")
        self.wanted -= 1
        return self.is_settled

    def failed(self, reason: str) -> None:
        del reason
        self.told.append("failed")


@dataclass
class Controller:
    """Answers, or raises."""

    failure: Exception | None = None
    may_arrive_late: bool = False
    address = None
    epochs: list[int] = field(default_factory=list)

    def ask(self, request: Any, timeout_ms: int | None = None) -> Any:
        del timeout_ms
        self.epochs.append(request.broker_epoch)
        if self.failure is not None:
            raise self.failure
        return AlterPartitionResponse()

    def close(self) -> None: ...


class Pauses(Event):
    """Keeps how long it was waited, and waits for nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.seconds.append(timeout)
        return True


def rounds(requests: Requests, controller: Controller, count: int) -> list[float | None]:
    """Let it ask so many times, without waiting for anybody; return how long it would have waited."""
    waiter = ThreadWaiter()
    thread = AskingThread("asks", controller, requests, waiter, lambda: EPOCH)
    pauses = Pauses()
    thread._stopped = pauses
    for _ in range(count):
        waiter.wake()
        thread._step()
    return pauses.seconds


def test_all_that_is_wanted_is_asked(controller: Controller) -> None:
    requests = Requests(wanted=2)
    rounds(requests, controller, 3)
    assert requests.told == ["NONE", "NONE"]
    assert controller.epochs == [EPOCH, EPOCH]


@pytest.mark.parametrize(("is_settled", "pauses"), [(True, []), (False, [7.0, 7.0])])
def test_it_pauses_only_where_something_was_refused(
    controller: Controller, is_settled: bool, pauses: list[float]
) -> None:
    assert rounds(Requests(wanted=2, is_settled=is_settled), controller, 3) == pauses


@pytest.mark.parametrize("failure", [NoControllerError("cut"), MalformedResponseError("odd")])
def test_what_could_not_be_asked_is_asked_in_the_next_round(controller: Controller, failure: Exception) -> None:
    requests = Requests(wanted=1)
    controller.failure = failure
    rounds(requests, controller, 2)
    controller.failure = None
    rounds(requests, controller, 1)
    assert requests.told == ["failed", "failed", "NONE"]


def test_it_is_said_whether_an_earlier_request_may_still_arrive(controller: Controller) -> None:
    controller.may_arrive_late = True
    requests = Requests(wanted=1)
    rounds(requests, controller, 1)
    assert requests.told == ["NONE late"]


@pytest.fixture
def controller() -> Controller:
    return Controller()
