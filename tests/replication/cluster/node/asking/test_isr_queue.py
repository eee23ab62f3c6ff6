"""Changes of ISRs on their way to the controller."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from logstore import Log, TopicPartition
from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.partitions.led_partition import LedPartition
from replication.cluster.node.asking.isr_queue import IsrQueue
from replication.records.metadata.nodes import BrokerRegistration
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrAnswer,
    IsrChange,
)
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles

TOPIC = UUID(int=7_000)


class Answers:
    """A controller that answers every request alike. Without an error it grants all."""

    def __init__(self, error: ErrorCode, *, may_arrive_late: bool = False) -> None:
        self.error = error
        self.may_arrive_late = may_arrive_late
        self.asked: list[AlterPartitionRequest] = []

    def answer(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        self.asked.append(request)
        return AlterPartitionResponse(error=self.error, answers=tuple(map(self._granted, request.changes)))

    def _granted(self, change: IsrChange) -> IsrAnswer:
        return IsrAnswer(
            *change[:2],
            self.error,
            leader=1,
            leader_epoch=change.leader_epoch,
            isr=change.broker_ids,
            partition_epoch=change.partition_epoch + 1,
        )


def _broker(broker_id: int) -> BrokerRegistration:
    return BrokerRegistration(
        id=broker_id, epoch=10, incarnation_id=UUID(int=broker_id), listeners={}, features={}, fenced=False
    )


class Leader:
    """Leads partitions of two replicas each, and wants the ISRs without the other as soon as it looks."""

    def __init__(self, *logs: Log) -> None:
        self.waiter = ThreadWaiter()
        self.told = HeardTroubles()
        self.queue = IsrQueue(1, self.waiter, self.told)
        self.queue.led = lambda *key: self.led.get(key)
        self.now = 0
        self.led = {(TOPIC, number): self._led(number, log) for number, log in enumerate(logs)}
        self.now += 60_000
        for led in self.led.values():
            led.check_lag()

    def _led(self, number: int, log: Log) -> LedPartition:
        brokers = {each: _broker(each) for each in (1, 2)}
        led = LedPartition(
            TopicPartition("orders", number),
            TOPIC,
            log,
            PartitionRegistration(replicas=(1, 2), isr=(1, 2), leader=1),
            broker_id=1,
            broker_of=brokers.get,
            isr_changes=self.queue,
            clock=lambda: self.now,
        )
        log.append([b"what the other lacks"], leader_epoch=0)
        return led

    def settle(self, controller: Answers) -> bool:
        """Ask for what is wanted, and return whether nothing of it is wanted again."""
        request = self.queue.next(broker_epoch=10)
        return request is None or self.queue.answered(
            controller.answer(request), may_arrive_late=controller.may_arrive_late
        )


@pytest.fixture
def leader(tmp_path: Path) -> Leader:
    return Leader(Log.open(tmp_path / "orders-0", replicated=True))


def test_a_change_wakes_who_asks_for_it(leader: Leader) -> None:
    assert leader.waiter.wait(0)
    assert not leader.waiter.wait(0)


def test_what_may_pass_is_asked_for_again_after_a_while(leader: Leader) -> None:
    controller = Answers(ErrorCode.UNKNOWN_SERVER_ERROR)
    leader.waiter.wait(0)
    for rounds in (1, 2):
        assert not leader.settle(controller)
        assert len(controller.asked) == rounds
        assert not leader.waiter.wait(0), "it is asked again without a pause"


def test_what_is_asked_again_and_again_is_told_once_and_that_it_is_granted(leader: Leader) -> None:
    for _ in range(3):
        leader.settle(Answers(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert leader.told == ["isr"]
    assert "UNKNOWN_SERVER_ERROR" in leader.told.reasons[0]
    leader.settle(Answers(ErrorCode.NONE))
    assert leader.told == ["isr", "isr over"]


def test_what_is_refused_for_good_is_not_asked_for_again(leader: Leader) -> None:
    controller = Answers(ErrorCode.FENCED_LEADER_EPOCH)
    assert leader.settle(controller)
    assert leader.queue.next(broker_epoch=10) is None


def test_what_could_not_be_asked_is_asked_next_and_before_what_has_come_meanwhile(leader: Leader) -> None:
    first = leader.queue.next(broker_epoch=10)
    assert first is not None
    later = IsrChange(TOPIC, 1, 0, 0, ())
    leader.queue.ask(later)
    leader.queue.failed("no answer")
    again = leader.queue.next(broker_epoch=11)
    assert again == replace(first, broker_epoch=11, changes=(*first.changes, later))
    assert leader.queue.next(broker_epoch=11) is None


def test_a_controller_that_does_not_answer_is_told_once_until_it_does(leader: Leader) -> None:
    for _ in range(2):
        assert leader.queue.next(broker_epoch=10) is not None
        leader.queue.failed("login refused")
    assert leader.told == ["isr"]
    assert leader.told.reasons == ["the controller does not answer what this broker asks of ISRs: login refused"]
    assert leader.settle(Answers(ErrorCode.NONE))
    assert leader.told == ["isr", "isr over"]


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.UNKNOWN_SERVER_ERROR])
def test_what_comes_while_another_is_asked_waits_only_for_what_is_refused(leader: Leader, error: ErrorCode) -> None:
    request = leader.queue.next(broker_epoch=10)
    assert request is not None
    later = IsrChange(TOPIC, 1, 0, 0, ())
    leader.queue.ask(later)
    is_settled = leader.queue.answered(Answers(error).answer(request), may_arrive_late=False)
    assert is_settled is (error is ErrorCode.NONE)
    following = leader.queue.next(broker_epoch=10)
    assert following is not None
    assert later in following.changes


@pytest.mark.parametrize("late", [False, True], ids=["all was answered", "an earlier request may arrive"])
def test_what_is_refused_is_forgotten_once_no_earlier_request_can_be_granted(leader: Leader, late: bool) -> None:
    controller = Answers(ErrorCode.INELIGIBLE_REPLICA, may_arrive_late=late)
    (led,) = leader.led.values()
    leader.settle(controller)
    assert (led.wanted is not None) is late
    leader.settle(controller)
    assert len(controller.asked) == (2 if late else 1)


def test_a_log_that_is_closed_meanwhile_keeps_no_other_leader_from_its_answer(tmp_path: Path) -> None:
    logs = [Log.open(tmp_path / f"orders-{number}", replicated=True) for number in range(3)]
    leader = Leader(*logs)
    logs[1].abandon()  # as where its disk fails
    leader.settle(Answers(ErrorCode.NONE))
    assert [led.isr for led in leader.led.values()] == [(1,)] * 3
    assert [log.high_watermark for log in (logs[0], logs[2])] == [1, 1]
