"""What the leaders of a broker want of its controller."""

import logging
from collections import deque
from collections.abc import Callable, Collection
from typing import Final
from uuid import UUID

from logstore import LogStoreError
from logstore.log.state.waiters import Waiter
from replication.cluster.broker.events.trouble import TellTrouble, Trouble, untold
from replication.cluster.broker.events.trouble_events import TroubleKind
from replication.cluster.broker.partitions.isr_changes import answers_to
from replication.cluster.broker.partitions.led_partition import REFUSED, LedPartition
from replication.wire.error_code import ErrorCode
from replication.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrAnswer,
    IsrChange,
)

_log: Final = logging.getLogger(__name__)


class IsrQueue:
    """Collects changes of ISRs, and asks for all that have come as one (Kafka: AlterPartitionManager).

    See `replication.cluster.node.asking.controller_requests.ControllerRequests`.
    """

    again_ms: Final = 50
    """As Kafka's brokers."""

    def __init__(self, broker_id: int, waiter: Waiter, tell: TellTrouble = untold) -> None:
        """Ask as a broker; the waiter is woken when there is something to ask; `tell` gets what is refused."""
        self.led: Callable[[UUID, int], LedPartition | None] = lambda _topic_id, _number: None
        """Finds the leaders that hear the answers, by topic id and number."""
        self._broker_id: Final = broker_id
        self._waiter: Final = waiter
        self._wanted: Final[deque[IsrChange]] = deque()
        self._asked: tuple[IsrChange, ...] = ()
        self._is_telling = False
        self._trouble: Final = Trouble(TroubleKind.ISR, tell=tell)

    def ask(self, change: IsrChange) -> None:
        """Request a change, whose leader gets the result later. Any thread may.

        What was refused is wanted again at once, while the answer is reported: nobody is woken for that.
        """
        self._wanted.append(change)
        if not self._is_telling:
            self._waiter.wake()

    def next(self, broker_epoch: int) -> AlterPartitionRequest | None:
        """Return a request for all that is wanted."""
        self._asked = tuple(self._wanted.popleft() for _ in range(len(self._wanted)))
        if not self._asked:
            return None
        return AlterPartitionRequest(broker_id=self._broker_id, broker_epoch=broker_epoch, changes=self._asked)

    def answered(self, answer: AlterPartitionResponse, *, may_arrive_late: bool) -> bool:
        """Pass the results of their changes to the leaders; return whether none wants the same again."""
        self._is_telling = True
        answers = answers_to(self._asked, answer)
        try:
            for change, told in zip(self._asked, answers, strict=True):
                leader = self.led(change.topic_id, change.partition)
                if leader is not None:
                    _tell(leader, change, _error(told, may_arrive_late=may_arrive_late), told)
        finally:
            self._is_telling = False
        wanted = frozenset(self._wanted.copy())  # others may add to it meanwhile
        again = {each.error for change, each in zip(self._asked, answers, strict=True) if change in wanted}
        self._note(again)
        return not again

    def failed(self, reason: str) -> None:
        """Want again what was asked."""
        self._trouble.begin(f"the controller does not answer what this broker asks of ISRs: {reason}")
        self._wanted.extendleft(reversed(self._asked))

    def _note(self, refusals: Collection[ErrorCode]) -> None:
        """Report once that changes have to be asked again, and once that they no longer have."""
        for error in refusals:
            self._trouble.begin(f"the controller does not change ISRs that this broker leads: {error.name}", error.name)
        if not refusals:
            self._trouble.end()


def _tell(leader: LedPartition, change: IsrChange, error: ErrorCode, answer: IsrAnswer) -> None:
    """Pass a result to one leader. If its log is closed, as its disk has failed, the others get theirs all the same."""
    try:
        leader.answered(change, error, answer)
    except (LogStoreError, OSError) as failure:
        _log.warning("%s cannot continue with the ISR that the controller sent: %s", leader.partition, failure)


def _error(answer: IsrAnswer, *, may_arrive_late: bool) -> ErrorCode:
    """Return a leader's answer: nothing is refused as long as the same may be granted by an earlier request.

    It goes on to wait for who was to join, and asks again. Kafka's leader commits without, what the new one may lack.
    """
    is_open = may_arrive_late and answer.error in REFUSED
    return ErrorCode.UNKNOWN_SERVER_ERROR if is_open else answer.error
