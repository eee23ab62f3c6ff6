"""Appends that are reported once they are on stable storage: one sync for all that wait (group commit)."""

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from threading import Condition, Thread, current_thread
from typing import Final

from logstore.append.append_info import AppendInfo
from logstore.log.durable.durable_append import DurableAppend, Waiters
from logstore.log.durable.pending_append import PendingAppend
from logstore.log_config import LogConfig

IDLE_SECONDS: Final = 1.0
"""So long a thread waits for the next append before it ends."""
PATIENCE: Final = 0.5
"""Of the time of a flush, so much may be waited for more appends to share the next."""


class DurableAppends:
    """Reports each append once it is durable, by a thread that flushes the log as long as any wait.

    While it waits for the disk further appends gather, and share the next flush.
    """

    def __init__(
        self, flush: Callable[[], object], config: Callable[[], LogConfig], ensure_own: Callable[[], None]
    ) -> None:
        """Call `flush` to sync, and `ensure_own` before somebody waits for one, which raises in a forked process.

        See `LogConfig.durable_linger_ms` and `durable_linger_bytes`.
        """
        self._flush = flush
        self._config = config
        self._waiters = Waiters(ensure_own)
        self._changed = Condition(self._waiters.lock)
        self._waiting: list[PendingAppend] = []
        self._awaited = 1
        """How many have to wait before the thread looks: each wake costs as much as an append."""
        self._flushing = 0
        """How many appends a flush is under way for."""
        self._expected = 1
        """How many were under way as the last flush ended: whoever got an answer is likely to append again at once."""
        self._patience = 0.0
        """Seconds that they are waited for: less than it takes to flush once more for them."""
        self._thread: Thread | None = None

    def submitted(self, info: AppendInfo) -> DurableAppend:
        """Return what an append that was made is waited for with."""
        append = PendingAppend(info, self._waiters)
        self._add(append)
        return append

    def when_synced(self, info: AppendInfo) -> Future[AppendInfo]:
        """Return a future of an append that was made: it is done once that is on stable storage, or cannot be."""
        append = PendingAppend(info, self._waiters)
        future = append.as_future()
        self._add(append)
        return future

    def _add(self, append: PendingAppend) -> None:
        with self._changed:
            self._waiting.append(append)
            if len(self._waiting) >= self._awaited:
                self._changed.notify_all()
            is_started = self._thread is not None or self._start()
        if not is_started:
            self._flush_group()

    def drain(self) -> None:
        """Return once none of the appends made so far waits any more."""
        if self._thread is current_thread():
            return  # one of its futures was given a callback that closes the log
        with self._changed:
            # The append that was to start the thread may have been interrupted before it did.
            is_served = not self._waiting or self._thread is not None or self._start()
        if not is_served:
            self._flush_group()
        with self._changed:
            self._changed.wait_for(lambda: not self._waiting and not self._flushing)

    def _start(self) -> bool:
        """Start the thread; False where the system allows no more."""
        thread = Thread(target=self._work, name="epochlog-durable-appends", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            return False
        self._thread = thread  # only now: its start may be interrupted
        return True

    def _work(self) -> None:
        while self._wait_for_appends():
            try:
                self._flush_group()
            except BaseException as error:  # noqa: BLE001  a callback's, which is not to end the thread of all others
                threading.excepthook(threading.ExceptHookArgs((type(error), error, None, current_thread())))

    def _wait_for_appends(self) -> bool:
        """Wait until appends have gathered; False, and the thread ends, where none came for a while."""
        with self._changed:
            if not self._wait_for(1, IDLE_SECONDS):
                self._thread = None
                return False
            self._wait_for(self._expected, self._patience)
            config = self._config()
            if config.durable_linger_ms:
                self._awaited = 1
                self._changed.wait_for(
                    lambda: sum(append.size for append in self._waiting) >= config.durable_linger_bytes,
                    config.durable_linger_ms / 1e3,
                )
            return True

    def _wait_for(self, count: int, seconds: float) -> bool:
        """Wait for so many appends; return whether they came in time."""
        self._awaited = count
        return self._changed.wait_for(lambda: len(self._waiting) >= count, seconds)

    def _flush_group(self) -> None:
        with self._changed:
            group, self._waiting = self._waiting, []
            self._flushing += len(group)
        begun = time.perf_counter()
        failure: BaseException | None = None
        try:
            self._flush()
        except BaseException as error:  # noqa: BLE001  each who waits is told
            failure = error
        try:
            self._settle(group, failure)
        finally:
            self._waiters.tasks.wake()
            with self._changed:
                self._flushing -= len(group)
                self._expected = len(group) + len(self._waiting)
                self._patience = (time.perf_counter() - begun) * PATIENCE
                self._changed.notify_all()

    def _settle(self, group: Iterable[PendingAppend], failure: BaseException | None) -> None:
        """Settle each, and raise then what a callback has raised: futures catch no SystemExit and the like."""
        with self._changed:
            for append in group:
                append.settle(failure)
        raised: BaseException | None = None
        for append in group:
            try:
                append.wake()
            except BaseException as error:  # noqa: BLE001  the others are to be told all the same
                raised = error
        if raised is not None:
            raise raised
