"""What the leaders of a broker of a simulated cluster ask their controller for."""

from functools import partial
from typing import Final

from replication.broker.partitions.hosted_partitions import HostedPartitions
from replication.broker.partitions.isr_changes import WantedIsr
from replication.controller.isr_changes import IsrChange, IsrChangeAnswer, IsrChangeRequest, IsrMember
from replication.controller.partition_index import PartitionKey
from replication.protocol.error_code import ErrorCode
from replication.testing.simulated.channel import Channel
from replication.testing.simulated.process import Alarm, Process

_AGAIN_MS: Final = 50


class IsrRequests:
    """One request at a time, of all changes that have come; asked again once the one before cannot arrive any more."""

    def __init__(self, process: Process, channel: Channel, broker_id: int, broker_epoch: int) -> None:
        """Ask as a broker. `channel` must not let anything arrive that it has given up."""
        self.hosted: HostedPartitions = HostedPartitions()
        """Whose leaders hear the answers."""
        self._channel: Final = channel
        self._broker_id: Final = broker_id
        self._broker_epoch: Final = broker_epoch
        self._wanted: Final[list[WantedIsr]] = []
        self._is_asking = False
        self._is_told = False
        self._alarm: Final = Alarm(process, self._send)

    def ask(self, change: WantedIsr) -> None:
        """Want a change; what was refused is wanted again, after a while."""
        self._wanted.append(change)
        self._alarm.set_in(_AGAIN_MS if self._is_told else 0)

    def _send(self) -> None:
        if self._is_asking or not self._wanted:
            return
        wanted = tuple(self._wanted)
        self._wanted.clear()
        self._is_asking = True
        request = IsrChangeRequest(self._broker_id, self._broker_epoch, tuple(map(_change, wanted)))
        self._channel.ask(request, partial(self._answered, wanted), partial(self._failed, wanted))

    def _failed(self, wanted: tuple[WantedIsr, ...], reason: str) -> None:
        del reason
        self._answered(wanted, [IsrChangeAnswer(_key(each), ErrorCode.REQUEST_TIMED_OUT) for each in wanted])

    def _answered(self, wanted: tuple[WantedIsr, ...], answers: list[IsrChangeAnswer]) -> None:
        self._is_asking = False
        self._is_told = True
        for change, answer in zip(wanted, answers, strict=True):
            known = self.hosted.get(change.partition)
            if known is not None and known.led is not None:
                known.led.answered(change, answer.error, answer.partition)
        self._is_told = False
        if self._wanted:
            self._alarm.set_in(_AGAIN_MS)


def _key(change: WantedIsr) -> PartitionKey:
    return PartitionKey(change.topic_id, change.partition.partition)


def _change(change: WantedIsr) -> IsrChange:
    members = tuple(IsrMember(*member) for member in change.isr)
    return IsrChange(_key(change), change.leader_epoch, change.partition_epoch, members, change.recovery_state)
