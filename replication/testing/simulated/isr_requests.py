"""What the leaders of a broker of a simulated cluster ask their controller for."""

from collections.abc import Callable
from functools import partial
from typing import Final
from uuid import UUID

from replication.broker.partitions.isr_changes import answers_to
from replication.broker.partitions.led_partition import LedPartition
from replication.protocol.error_code import ErrorCode
from replication.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse, IsrChange
from replication.testing.simulated.channel import Channel
from replication.testing.simulated.process import Alarm, Process

_AGAIN_MS: Final = 50


class IsrRequests:
    """One request at a time, of all changes that have come; asked again once the one before cannot arrive any more."""

    def __init__(self, process: Process, channel: Channel, broker_id: int, broker_epoch: int) -> None:
        """Ask as a broker. `channel` must not let anything arrive that it has given up."""
        self.led: Callable[[UUID, int], LedPartition | None] = lambda _topic_id, _number: None
        """Finds the leaders that hear the answers, by topic id and number."""
        self._channel: Final = channel
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch
        self._wanted: Final[list[IsrChange]] = []
        self._is_asking = False
        self._is_told = False
        self._alarm: Final = Alarm(process, self._send)

    def ask(self, change: IsrChange) -> None:
        """Want a change; what was refused is wanted again, after a while."""
        self._wanted.append(change)
        self._alarm.set_in(_AGAIN_MS if self._is_told else 0)

    def _send(self) -> None:
        if self._is_asking or not self._wanted:
            return
        wanted = tuple(self._wanted)
        self._wanted.clear()
        self._is_asking = True
        request = AlterPartitionRequest(broker_id=self._broker_id, broker_epoch=self._broker_epoch, changes=wanted)
        self._channel.ask(request, partial(self._answered, wanted), partial(self._failed, wanted))

    def _failed(self, wanted: tuple[IsrChange, ...], reason: str) -> None:
        del reason
        self._answered(wanted, AlterPartitionResponse(error=ErrorCode.REQUEST_TIMED_OUT))

    def _answered(self, wanted: tuple[IsrChange, ...], response: AlterPartitionResponse) -> None:
        self._is_asking = False
        self._is_told = True
        for change, answer in zip(wanted, answers_to(wanted, response), strict=True):
            leader = self.led(change.topic_id, change.partition)
            if leader is not None:
                leader.answered(change, answer.error, answer)
        self._is_told = False
        if self._wanted:
            self._alarm.set_in(_AGAIN_MS)
