"""What the leaders of a broker want of a controller in its process."""

from collections import deque
from typing import Final

from logstore.log.state.waiters import Waiter
from replication.broker.partitions.hosted_partitions import HostedPartitions
from replication.broker.partitions.isr_changes import WantedIsr
from replication.controller.isr_changes import IsrChange, IsrChangeAnswer, IsrChangeRequest, IsrMember
from replication.controller.partition_index import PartitionKey
from replication.controller.refusal import Refusal
from replication.standalone.errors import ControllerUnreachableError
from replication.standalone.reached_controller import ReachedController


class IsrQueue:
    """Collects changes of ISRs, and asks for all that have come as one (Kafka: AlterPartitionManager)."""

    def __init__(self, broker_id: int, waiter: Waiter) -> None:
        """Ask as a broker; the waiter is woken when there is something to ask."""
        self._broker_id: Final = broker_id
        self._waiter: Final = waiter
        self._wanted: Final[deque[WantedIsr]] = deque()
        self._is_settling = False

    def ask(self, change: WantedIsr) -> None:
        """Want a change, of which its leader is told later what has become. Any thread may.

        What was refused is wanted again at once, while the answer is told: nobody is woken for that, so it waits for
        the next round.
        """
        self._wanted.append(change)
        if not self._is_settling:
            self._waiter.wake()

    def settle(self, controller: ReachedController, broker_epoch: int, hosted: HostedPartitions) -> None:
        """Ask for all that is wanted, and tell the leaders. One thread does.

        Raises ControllerFailedError; and ControllerUnreachableError, after which the next call asks again.
        """
        wanted = [self._wanted.popleft() for _ in range(len(self._wanted))]
        if not wanted:
            return
        request = IsrChangeRequest(self._broker_id, broker_epoch, tuple(map(_change, wanted)))
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
                known = hosted.get(change.partition)
                if known is not None and known.led is not None:
                    known.led.answered(change, answer.error, answer.partition)
        finally:
            self._is_settling = False


def _key(change: WantedIsr) -> PartitionKey:
    return PartitionKey(change.topic_id, change.partition.partition)


def _change(change: WantedIsr) -> IsrChange:
    return IsrChange(
        _key(change),
        change.leader_epoch,
        change.partition_epoch,
        tuple(IsrMember(*member) for member in change.isr),
        change.recovery_state,
    )
