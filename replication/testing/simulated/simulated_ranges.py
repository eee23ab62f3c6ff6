"""What a broker of a simulated cluster asks leaders of what is damaged: what `RangeThread` does, event by event."""

from collections.abc import Callable
from functools import partial
from typing import Final

from replication.cluster.broker.replicas.damage.damaged_ranges import DamagedRanges, RangeQuestion
from replication.testing.simulated.process import Alarm
from replication.testing.simulated.simulated_channel import SimulatedChannel
from replication.testing.simulated.simulated_fetchers import FetchingProcess
from replication.wire.messages.list_offsets import ListOffsetsResponse
from replication.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse

_AGAIN_MS: Final = 100


class SimulatedRanges:
    """One question at a time."""

    def __init__(self, owner: FetchingProcess, ranges: DamagedRanges, answered: Callable[[], object]) -> None:
        """Ask as a broker; `answered` is called after each answer."""
        self._owner: Final = owner
        self._ranges: Final = ranges
        self._answered: Final = answered
        self._is_asking = False
        self._alarm: Final = Alarm(owner.process, self._ask)
        ranges.wake = partial(self._alarm.set_in, 0)

    def _ask(self) -> None:
        question = self._ranges.next()
        if question is None or self._is_asking:
            return
        self._is_asking = True
        nodes = self._owner.broker_id, question.leader.broker_id
        channel = SimulatedChannel(self._owner.network, self._owner.process, nodes, timeout_ms=self._owner.timeout_ms)
        request = question.damaged.epoch_request(self._owner.broker_id)
        channel.ask(request, partial(self._take_end, channel, question), partial(self._failed, question))

    def _take_end(self, channel: SimulatedChannel, question: RangeQuestion, ends: OffsetForLeaderEpochResponse) -> None:
        request = question.damaged.start_request(self._owner.broker_id)
        channel.ask(request, partial(self._take_start, question, ends), partial(self._failed, question))

    def _take_start(
        self, question: RangeQuestion, ends: OffsetForLeaderEpochResponse, starts: ListOffsetsResponse
    ) -> None:
        damaged = question.damaged
        try:
            missing = damaged.missing(ends.partitions[damaged.partition], starts.partitions[damaged.partition])
        except LookupError as error:
            self._failed(question, str(error))
            return
        self._is_asking = False
        self._ranges.answered(question, missing)
        self._answered()
        self._alarm.set_in(0)

    def _failed(self, question: RangeQuestion, reason: str) -> None:
        del reason
        self._is_asking = False
        self._ranges.failed(question)
        self._alarm.set_in(_AGAIN_MS)
