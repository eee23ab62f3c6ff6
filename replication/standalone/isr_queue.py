"""What the leaders of a broker want of a controller in its process."""

from collections import deque
from collections.abc import Callable
from typing import Final
from uuid import UUID

from logstore.log.state.waiters import Waiter
from replication.broker.partitions.led_partition import LedPartition
from replication.controller.isr_changes import IsrChangeAnswer
from replication.controller.partition_index import PartitionKey
from replication.controller.refusal import Refusal
from replication.protocol.messages.alter_partition import AlterPartitionRequest, IsrChange
from replication.standalone.errors import ControllerUnreachableError
from replication.standalone.reached_controller import ReachedController


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

    def settle(
        self, controller: ReachedController, broker_epoch: int, led: Callable[[UUID, int], LedPartition | None]
    ) -> None:
        """Ask for all that is wanted, and tell the leaders. One thread does.

        Raises ControllerFailedError; and ControllerUnreachableError, after which the next call asks again.
        """
        wanted = [self._wanted.popleft() for _ in range(len(self._wanted))]
        if not wanted:
            return
        request = AlterPartitionRequest(broker_id=self._broker_id, broker_epoch=broker_epoch, changes=tuple(wanted))
        try:
            answers = controller.decide(lambda deciding: deciding.change_isrs(request))
        except Refusal as refusal:
            answers = [IsrChangeAnswer(_key(each), refusal.code) for each in wanted]
        except ControllerUnreachableError:
            self._wanted.extendleft(reversed(wanted))
            raise
        self._is_settling = True
        try:
            for change, answer in zip(wanted, answers, strict=True):
                leader = led(change.topic_id, change.partition)
                if leader is not None:
                    leader.answered(change, answer.error, answer.partition)
        finally:
            self._is_settling = False


def _key(change: IsrChange) -> PartitionKey:
    return PartitionKey(change.topic_id, change.partition)
