"""One thread that does rounds until it is stopped, over a connection where it holds one."""

import time
from abc import ABC, abstractmethod
from threading import Event, Thread, current_thread
from typing import ClassVar, Final

from epoch.base.resource_limits import no_more_threads
from replication.base.back_off import BackOff
from replication.base.errors import ReplicationError
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection

STOP_SECONDS: Final = 5.0


class WorkerThread(ABC):
    """Does `_round` again and again. After a passing failure comes `_lost`, and then the next round; others end it.

    A subclass has at least a `_round`. `stop` may come while one waits for something: it closes the connection of
    `_connect`, and calls `_wake`.
    """

    PASSING: ClassVar[tuple[type[Exception], ...]] = (OSError, ReplicationError)
    """Errors after which another round may succeed."""

    def __init__(self, name: str, back_off: BackOff | None = None) -> None:
        """Prepare the thread; see `start`. The program may end without stopping it."""
        self.failure: BaseException | None = None
        """What has ended it, where it was not stopped."""
        self._stopped = Event()
        self._back_off = back_off or BackOff()
        self._connection: Connection | None = None
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin. Raises ResourceLimitError where the process may have no more threads; RuntimeError the second time."""
        was_started = self._thread.ident is not None
        try:
            self._thread.start()
        except RuntimeError as error:
            if was_started:
                raise
            raise no_more_threads(error) from error

    @property
    def stopped(self) -> bool:
        """Whether it does no more rounds: it was stopped, or has given up."""
        return self._stopped.is_set()

    def stop(self, *, wait: bool = True, until: float | None = None) -> None:
        """Begin no more rounds, hang up, and end the thread. It may be called again.

        It waits for the thread up to `until`, of `time.monotonic()`; by default for some seconds. Only one that is held
        up in a write, or by an observer, takes longer: it ends when that returns.
        """
        deadline = time.monotonic() + STOP_SECONDS if until is None else until
        self._stopped.set()
        self._wake()
        connection = self._connection
        if connection is not None:
            connection.close()
        if wait and self._thread.is_alive() and self._thread is not current_thread():
            # One that is just connecting takes as long as that may take, and then ends.
            self._thread.join(max(0.0, deadline - time.monotonic()))

    # --- what a subclass does

    @abstractmethod
    def _round(self) -> None:
        """Do what is due, or wait until something may be."""

    def _lost(self, error: Exception) -> None:
        """Note that a round has failed in passing."""
        del error
        self._hang_up()
        self._rest()

    def _give_up(self, error: BaseException) -> None:
        """Stop: a round has raised an error that another round would not fix, or the thread is being ended."""
        self.failure = error
        self.stop(wait=False)

    def _wake(self) -> None:  # noqa: B027  not every one waits for something of its own
        """Wake a round that waits. Any thread calls this, after it is stopped."""

    # --- what it has for that

    def _connect(self, address: Address, settings: ClientSettings, *, has_worked: bool = False) -> Connection:
        """Hold a new connection, which `stop` may close while it is made. Raises what `Connection.open` raises."""
        try:
            return self._hold(Connection.open(address, settings, has_worked=has_worked, made=self._hold))
        except BaseException:
            self._hang_up()
            raise

    def _hold(self, connection: Connection) -> Connection:
        """Allow `stop` to close this connection, at once where it came before."""
        self._connection = connection
        if self._stopped.is_set():
            connection.close()
        return connection

    def _hang_up(self) -> None:
        """Close the connection, where there is one, and hold none."""
        connection = self._connection
        if connection is not None:
            connection.close()
            self._connection = None

    def _rest(self) -> None:
        """Wait after a failure, a while longer each time, until `_back_off.succeeded()`; not once it is stopped."""
        self._stopped.wait(self._back_off.failed() / 1_000)

    # --- the thread

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._step()

    def _step(self) -> None:
        """Do a round. Whatever ends the thread, it is given up by then."""
        try:
            try:
                self._round()
            except self.PASSING as error:
                self._lost(error)
        except BaseException as error:
            self._give_up(error)
            raise
