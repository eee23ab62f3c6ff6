"""The followers of a broker of a simulated cluster: the real machines, each fed by events in place of a thread."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final, cast

from logstore import Log
from replication.base.back_off import BackOff
from replication.cluster.fetcher.fetch_observer import Cut, FetchObserver
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.cluster.fetcher.fetcher_settings import FetcherSettings
from replication.cluster.fetcher.fetcher_thread import FetcherThread
from replication.testing.simulated.network import Network
from replication.testing.simulated.process import Alarm, Process
from replication.testing.simulated.simulated_channel import SimulatedChannel
from replication.testing.simulated.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchingProcess:
    """Whose followers they are, and what they reach leaders by."""

    process: Process
    broker_id: int
    network: Network
    random: Random
    timeout_ms: int


class SimulatedFetchers(FetcherManager):
    """Places partitions as the real manager does."""

    def __init__(self, owner: FetchingProcess, settings: FetcherSettings) -> None:
        """Follow nothing yet."""
        observer = _Told(owner.network.trace, owner.broker_id)
        super().__init__(settings=settings, observer=observer)
        self._owner: Final = owner
        self._fetching: Final = settings
        self._told: Final = observer

    def _thread(self, leader: LeaderAddress, number: int) -> FetcherThread:
        known = self._threads.get((leader, number))
        if known is not None and not known.stopped:
            return known
        fetcher = Fetcher(self._fetching, observer=self._told, in_doubt=self.doubts.add)
        # Whatever the manager does to a thread can be done to it.
        thread = cast("FetcherThread", SimulatedFetcher(self._owner, leader.broker_id, fetcher))
        self._threads[leader, number] = thread
        return thread


class SimulatedFetcher:
    """Sends what a fetcher wants to ask, and takes the answers (FetcherThread, without its thread)."""

    def __init__(self, owner: FetchingProcess, leader: int, fetcher: Fetcher) -> None:
        """Begin once there is something to follow."""
        self.fetcher: Final = fetcher
        self.stopped: bool = False
        self._process: Final = owner.process
        self._channel: Final = SimulatedChannel(
            owner.network,
            owner.process,
            (owner.broker_id, leader),
            timeout_ms=owner.timeout_ms + fetcher.settings.max_wait_ms,
            arrives_late=True,
        )
        self._back_off: Final = BackOff(random=owner.random)
        self._look: Final = Alarm(owner.process, self._send)
        self._open = 0
        self._rests_until = 0

    @contextmanager
    def fetching(self) -> Iterator[Fetcher]:
        """Give access to the fetcher, and look again afterwards."""
        try:
            yield self.fetcher
        finally:
            self._look.set_in(0)

    def stop(self, *, wait: bool = True, until: float | None = None) -> None:
        """Ask nothing more, and take no answer."""
        del wait, until
        self.stopped = True
        self._channel.close()

    def _send(self) -> None:
        now = self._process.now_ms
        if self.stopped or self._open:
            return
        if now < self._rests_until:
            self._look.set(self._rests_until)
            return
        requests = self.fetcher.requests(now)
        self._open = len(requests)
        for request in requests:
            self._channel.ask(request, partial(self._take, request), self._lost)
        if not requests:
            self._look.set(self.fetcher.wake_at(now))

    def _take(self, request: Any, response: Any) -> None:
        if self.stopped:
            return
        self._back_off.succeeded()
        self._open -= 1
        self.fetcher.take(request, response, self._process.now_ms)
        self._send()

    def _lost(self, reason: str) -> None:
        if self.stopped:
            return
        self._open = 0
        rest = self._back_off.failed()
        self._rests_until = self._process.now_ms + rest
        self.fetcher.disconnected(reason, self._process.now_ms)
        self._look.set(self._rests_until)


class _Told(FetchObserver):
    """Notes what followers cut off."""

    def __init__(self, trace: Trace, broker_id: int) -> None:
        self._trace: Final = trace
        self._broker_id: Final = broker_id

    def truncated(self, log: Log, cut: Cut) -> None:
        del log
        self._trace.note(
            f"{self._broker_id} cuts {cut.partition} at {cut.offset}, which ended at {cut.log_end_offset}: {cut.reason}"
        )
