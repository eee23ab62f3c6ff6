"""The thread that asks leaders for what is damaged here."""

from collections.abc import Callable
from typing import Final

from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.broker.replicas.damage.damaged_ranges import DamagedRanges, RangeQuestion
from replication.cluster.worker_thread import WorkerThread
from replication.wire.client.client_settings import ClientSettings


class RangeThread(WorkerThread):
    """Asks for one range after another, and again for those that a leader has not answered."""

    def __init__(
        self, broker_id: int, ranges: DamagedRanges, settings: ClientSettings, answered: Callable[[], object]
    ) -> None:
        """Ask as a broker, whose leaders are protected by `settings`; `answered` is called after each answer."""
        super().__init__("broker-damage")
        self._broker_id: Final = broker_id
        self._ranges: Final = ranges
        self._settings: Final = settings
        self._answered: Final = answered
        self._waiter: Final = ThreadWaiter()
        ranges.wake = self._waiter.wake

    def _round(self) -> None:
        question = self._ranges.next()
        if question is None:
            self._waiter.wait()
            return
        try:
            missing = self._ask(question)
        except LookupError:
            missing = None
        if missing is None:
            self._ranges.failed(question)
            self._rest()
            return
        self._back_off.succeeded()
        self._ranges.answered(question, missing)
        self._answered()

    def _ask(self, question: RangeQuestion) -> str:
        damaged = question.damaged
        connection = self._connect(question.leader.address, self._settings)
        try:
            ends = connection.ask(damaged.epoch_request(self._broker_id))
            starts = connection.ask(damaged.start_request(self._broker_id))
        finally:
            self._hang_up()
        return damaged.missing(ends.partitions[damaged.partition], starts.partitions[damaged.partition])

    def _lost(self, error: Exception) -> None:
        question = self._ranges.next()
        if question is not None:
            self._ranges.failed(question)
        super()._lost(error)

    def _wake(self) -> None:
        self._waiter.wake()
