"""The thread that carries a fetcher's requests to its leader: a thin shell."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, RLock, Thread, current_thread
from typing import Final

from epoch.resource_limits import no_more_threads
from replication.back_off import BackOff
from replication.errors import ReplicationError
from replication.fetcher.errors import reason_of
from replication.fetcher.fetch_observer import FetchObserver
from replication.fetcher.fetch_rules import FetchRules
from replication.fetcher.fetcher import Fetcher
from replication.protocol.addresses import Address
from replication.protocol.client.client_settings import ClientSettings
from replication.protocol.client.connection import Connection
from replication.protocol.messages import fetch, offset_for_leader_epoch
from replication.protocol.messages.api_versions import ApiVersions

STOP_SECONDS: Final = 5.0
_NEVER: Final = 3600.0


def now_ms() -> int:
    """Milliseconds of a clock that does not go back."""
    return time.monotonic_ns() // 1_000_000


class FetcherThread:
    """Connects to one leader, and follows its partitions until it is stopped; comes back when the leader does.

    `fetching()` gives the fetcher to other threads, which see and do to it what they like meanwhile.
    """

    def __init__(
        self, address: Address, fetcher: Fetcher, settings: ClientSettings, observer: FetchObserver, name: str
    ) -> None:
        """Take over the fetcher; `start` begins."""
        self.address = address
        self._fetcher = fetcher
        self._settings = settings
        self._observer = observer
        self._held = RLock()
        """While it is held the fetcher stands still. Who stops the thread does not need it."""
        self._changed = Event()
        self._stopped = Event()
        self._connection: Connection | None = None
        self._back_off = BackOff()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to fetch. Raises ResourceLimitError where the process may have no more threads."""
        try:
            self._thread.start()
        except RuntimeError as error:
            raise no_more_threads(error) from error

    @property
    def stopped(self) -> bool:
        """Whether it follows nothing any more: it was stopped, or has failed."""
        return self._stopped.is_set()

    def stop(self, *, wait: bool = True, until: float | None = None) -> None:
        """Touch no log any more but for what is under way, hang up, and end the thread. It may be called again.

        It waits for the thread up to `until`, of `time.monotonic()`; by default for some seconds. Only one that is held
        up in a write, or by an observer, takes longer: it ends when that returns.
        """
        deadline = time.monotonic() + STOP_SECONDS if until is None else until
        self._stopped.set()
        self._changed.set()
        connection = self._connection
        if connection is not None:
            connection.close()
        if wait and self._thread.is_alive() and self._thread is not current_thread():
            # One that is just connecting takes as long as that may take, and then ends.
            self._thread.join(max(0.0, deadline - time.monotonic()))

    @contextmanager
    def fetching(self) -> Iterator[Fetcher]:
        """Hold the fetcher still, and let the thread look again afterwards."""
        with self._held:
            try:
                yield self._fetcher
            finally:
                self._changed.set()

    @property
    def fetcher(self) -> Fetcher:
        """The fetcher, for what any thread may read."""
        return self._fetcher

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._step()

    def _step(self) -> None:
        """Do a round. Whatever ends the thread, no partition seems to be followed then."""
        try:
            try:
                self._round(self._connected())
            except (OSError, ReplicationError, MemoryError) as error:
                self._lost(error)
        except BaseException as error:
            self._give_up(error)
            raise

    def _connected(self) -> Connection:
        if self._connection is None:
            connection = Connection.open(self.address, self._settings)
            with self._held:
                self._connection = connection
                self._fetcher.use_rules(_rules(self._fetcher.settings.effective_rules, connection.versions))
            self._back_off.succeeded()
            self._observer.connected(str(self.address))
        return self._connection

    def _round(self, connection: Connection) -> None:
        """Send what is due, and take the answers; where nothing is due, wait until it may be."""
        with self._held:
            # Before it is looked for what there is to do, so that nothing is missed that comes meanwhile.
            self._changed.clear()
            if self._stopped.is_set():
                connection.close()
                return
            requests = self._fetcher.requests(now_ms())
            wake_at = self._fetcher.wake_at(now_ms())
        if not requests:
            self._changed.wait(_NEVER if wake_at is None else max(wake_at - now_ms(), 1) / 1_000)
            return
        for request in requests:
            connection.send(request)
        timeout_ms = self._settings.request_timeout_ms + self._fetcher.settings.max_wait_ms
        for request in requests:
            _, response = connection.receive(timeout_ms)
            with self._held:
                if self._stopped.is_set():
                    return
                self._fetcher.take(request, response, now_ms())

    def _lost(self, error: Exception) -> None:
        """Let the partitions know, and wait a while."""
        connection = self._connection
        if connection is not None:
            connection.close()
            self._connection = None
        with self._held:
            if self._stopped.is_set():
                return
            reason = reason_of(error)
            self._fetcher.disconnected(reason, now_ms())
            self._observer.disconnected(str(self.address), reason)
        self._stopped.wait(self._back_off.failed() / 1_000)

    def _give_up(self, error: BaseException) -> None:
        """Leave no partition behind that seems to be followed: this is a fault of ours, or somebody ends the thread."""
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
