"""What the leaders of a broker want of its controller."""

import logging
from collections import deque
from collections.abc import Callable
from typing import Final
from uuid import UUID

from logstore import LogStoreError
from logstore.log.state.waiters import Waiter
from replication.broker.lifecycle.controller_channel import Channel
from replication.broker.lifecycle.errors import NoControllerError
from replication.broker.partitions.isr_changes import answers_to
from replication.broker.partitions.led_partition import REFUSED, LedPartition
from replication.node.controller_link import asked
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    IsrAnswer,
    IsrChange,
)

_log: Final = logging.getLogger(__name__)


class IsrQueue:
    """Collects changes of ISRs, and asks for all that have come as one (Kafka: AlterPartitionManager)."""

    def __init__(self, broker_id: int, waiter: Waiter) -> None:
        """Ask as a broker; the waiter is woken when there is something to ask."""
        self._broker_id: Final = broker_id
        self._waiter: Final = waiter
        self._wanted: Final[deque[IsrChange]] = deque()
        self._is_settling = False

    def ask(self, change: IsrChange) -> None:
        """Want a change, of which its leader is told later what has become. Any thread may.

        What was refused is wanted again at once, while the answer is told: nobody is woken for that, so it waits for
        the next round.
        """
        self._wanted.append(change)
        if not self._is_settling:
            self._waiter.wake()

    def settle(self, channel: Channel, broker_epoch: int, led: Callable[[UUID, int], LedPartition | None]) -> None:
        """Ask for all that is wanted, and tell the leaders, which `led` finds by topic id and number. One thread does.

        Raises NoControllerError, after which the next call asks again.
        """
        wanted = [self._wanted.popleft() for _ in range(len(self._wanted))]
        if not wanted:
            return
        request = AlterPartitionRequest(broker_id=self._broker_id, broker_epoch=broker_epoch, changes=tuple(wanted))
        try:
            response = asked(channel, request)
        except NoControllerError:
            self._wanted.extendleft(reversed(wanted))
            raise
        self._is_settling = True
        try:
            for change, answer in zip(wanted, answers_to(wanted, response), strict=True):
                leader = led(change.topic_id, change.partition)
                if leader is not None:
                    _tell(leader, change, _error(answer, channel), answer)
        finally:
            self._is_settling = False


def _tell(leader: LedPartition, change: IsrChange, error: ErrorCode, answer: IsrAnswer) -> None:
    """Tell one leader. Its log may be closed by now, as its disk has failed: the others are told all the same."""
    try:
        leader.answered(change, error, answer)
    except (LogStoreError, OSError) as failure:
        _log.warning("%s cannot go on by what the controller says of its ISR: %s", leader.partition, failure)


def _error(answer: IsrAnswer, channel: Channel) -> ErrorCode:
    """Return what a leader is told: nothing is refused as long as the same may be granted by an earlier request.

    It goes on to wait for who was to join, and asks again. Kafka's leader commits without, what the new one may lack.
    """
    is_open = channel.may_arrive_late and answer.error in REFUSED
    return ErrorCode.UNKNOWN_SERVER_ERROR if is_open else answer.error
