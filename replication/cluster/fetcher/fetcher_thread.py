"""The thread that carries a fetcher's requests to its leader: a thin shell."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, RLock
from typing import ClassVar, Final

from replication.base.back_off import BackOff
from replication.base.clock import monotonic_ms
from replication.base.errors import ReplicationError
from replication.cluster.fetcher.decisions.fetch_rules import FetchRules
from replication.cluster.fetcher.errors import reason_of
from replication.cluster.fetcher.fetch_observer import FetchObserver
from replication.cluster.fetcher.fetcher import Fetcher
from replication.cluster.worker_thread import WorkerThread
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.messages import fetch, offset_for_leader_epoch
from replication.wire.messages.api_versions import ApiVersions

_NEVER: Final = 3600.0


class FetcherThread(WorkerThread):
    """Connects to one leader, and follows its partitions until it is stopped; comes back when the leader does.

    `fetching()` gives the fetcher to other threads, which see and do to it what they like meanwhile.
    """

    PASSING: ClassVar[tuple[type[Exception], ...]] = (OSError, ReplicationError, MemoryError)

    def __init__(
        self, address: Address, fetcher: Fetcher, settings: ClientSettings, observer: FetchObserver, name: str
    ) -> None:
        """Create a thread that runs the fetcher; `start` begins."""
        super().__init__(name, BackOff())
        self.address = address
        self._fetcher = fetcher
        self._settings = settings
        self._observer = observer
        self._held = RLock()
        """While it is held the fetcher stands still. Who stops the thread does not need it."""
        self._changed = Event()
        self._has_worked = False
        """Whether the leader has answered on any connection."""
        self._is_answered = False
        """Whether it has on this one."""

    @contextmanager
    def fetching(self) -> Iterator[Fetcher]:
        """Hold the fetcher still, and let the thread look again afterwards."""
        with self._held:
            try:
                yield self._fetcher
            finally:
                self._changed.set()

    def look_again(self) -> None:
        """Do what is due by now, where that has changed without an answer."""
        self._changed.set()

    @property
    def fetcher(self) -> Fetcher:
        """The fetcher, for what any thread may read."""
        return self._fetcher

    def _wake(self) -> None:
        self.look_again()

    def _connected(self) -> Connection:
        connection = self._connection
        if connection is None:
            connection = self._connect(self.address, self._settings, has_worked=self._has_worked)
            with self._held:
                self._fetcher.use_rules(_rules(self._fetcher.settings.effective_rules, connection.versions))
            self._back_off.succeeded()
            self._is_answered = False
            self._observer.connected(str(self.address))
        return connection

    def _round(self) -> None:
        """Send what is due, and take the answers; where nothing is due, wait until it may be."""
        connection = self._connected()
        with self._held:
            # Before it is looked for what there is to do, so that nothing is missed that comes meanwhile.
            self._changed.clear()
            if self._stopped.is_set():
                return
            requests = self._fetcher.requests(monotonic_ms())
            wake_at = self._fetcher.wake_at(monotonic_ms())
        if not requests:
            self._changed.wait(_NEVER if wake_at is None else max(wake_at - monotonic_ms(), 1) / 1_000)
            return
        for request in requests:
            connection.send(request)
        timeout_ms = self._settings.request_timeout_ms + self._fetcher.settings.max_wait_ms
        for request in requests:
            _, response = connection.receive(timeout_ms)
            self._note_answer()
            with self._held:
                if self._stopped.is_set():
                    return
                self._fetcher.take(request, response, monotonic_ms())

    def _note_answer(self) -> None:
        self._has_worked = True
        if not self._is_answered:
            self._is_answered = True
            self._observer.answered(str(self.address))

    def _lost(self, error: Exception) -> None:
        """Mark the partitions as disconnected, and wait a while."""
        self._hang_up()
        with self._held:
            if self._stopped.is_set():
                return
            reason = reason_of(error)
            self._fetcher.disconnected(reason, monotonic_ms())
            self._observer.disconnected(str(self.address), reason)
        self._rest()

    def _give_up(self, error: BaseException) -> None:
        """Leave no partition behind that seems to be followed: this is a bug, or the thread is being ended."""
        self.failure = error
        with self._held:
            self.stop(wait=False)
            for partition in self._fetcher.states:
                self._fetcher.fail(partition, f"the fetcher has failed: {type(error).__name__}: {error}")


def _rules(rules: FetchRules, versions: ApiVersions) -> FetchRules:
    """Return what the leader's versions leave of the rules."""
    return rules.for_leader(
        versions.highest(fetch.API_KEY, "Fetch", fetch.VERSIONS),
        tells_epochs=offset_for_leader_epoch.API_KEY in versions.theirs,
    )
