"""Hands what is to be logged to Python's logging, in a thread of its own.

Whoever reports something holds the log's lock, and a handler may be slow. Worse, up to Python 3.12 a signal that
raises in the middle of `Handler.handle` leaves that handler's lock taken for ever, and who waits for it would keep the
log's. Signals are handled in the main thread alone, so they never meet this one there. Nor do they do harm here: what
is waited for are locks, which are taken in one step, where `Event` and `Thread.start` take several.
"""

import atexit
import logging
import os
from _thread import LockType, start_new_thread
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, RLock, get_ident
from typing import Final

IDLE_SECONDS: Final = 1.0
"""So long the thread waits for more before it ends."""
PATIENCE_SECONDS: Final = 5.0
"""So long the end of the program, and that of a log, waits for handlers."""


_SURELY: Final = "is_to_be_heard"


class QuietHandler(logging.NullHandler):
    """Prints nothing, as a library does by itself, but what is logged by `warn_surely` where nobody listens."""

    def handle(self, record: logging.LogRecord) -> bool:
        """Hand it to Python's handler of last resort, which writes to stderr."""
        others = {*logging.getLogger(record.name).handlers, *logging.getLogger().handlers} - {self}
        if getattr(record, _SURELY, False) and not others and logging.lastResort is not None:
            logging.lastResort.handle(record)
        return True


class LoggingThread:
    """Started by the first message, and again by later ones; messages keep their order."""

    def __init__(self, logger: logging.Logger) -> None:
        """Log to `logger`."""
        self._logger = logger
        self._begin()
        os.register_at_fork(after_in_child=self._begin)
        atexit.register(self.drain, PATIENCE_SECONDS)

    def _begin(self) -> None:
        """Start without messages: those that wait in a forked process are its parent's."""
        self._messages: SimpleQueue[logging.LogRecord | LockType] = SimpleQueue()
        # A signal handler may log, or close a log, in the middle of what holds this.
        self._lock = RLock()
        self._thread = 0
        """Its number; 0 while there is none."""
        self._late: LockType | None = None
        """What was waited for in vain: until it is there nobody waits again, such as the next log of a directory."""

    def tell(self, level: int, message: str, *what: object) -> None:
        """Log a message soon, if anybody wants to know."""
        logger = self._logger
        if logger.isEnabledFor(level):
            self._put(logger.makeRecord(logger.name, level, "", 0, message, what, None))

    def warn_surely(self, message: str, *what: object) -> None:
        """Log a warning soon, which is printed where nobody has set up logging."""
        logger = self._logger
        if logger.isEnabledFor(logging.WARNING):
            record = logger.makeRecord(logger.name, logging.WARNING, "", 0, message, what, None)
            setattr(record, _SURELY, True)
            self._put(record)

    def drain(self, timeout: float) -> bool:
        """Return once all events are logged; False where that takes longer than so many seconds."""
        if not self._thread or self._thread == get_ident():
            return True
        if self._late is not None and self._late.locked():
            return False
        logged = Lock()
        logged.acquire()
        self._put(logged)
        if logged.acquire(timeout=timeout):
            return True
        self._late = logged
        return False

    def _put(self, message: logging.LogRecord | LockType) -> None:
        self._messages.put(message)
        with self._lock:
            if not self._thread:
                with suppress(RuntimeError):  # the system allows no more threads: it waits for the next message
                    self._thread = start_new_thread(self._work, ())

    def _work(self) -> None:
        while self._log_next():
            pass

    def _log_next(self) -> bool:
        try:
            message = self._messages.get(timeout=IDLE_SECONDS)
        except Empty:
            with self._lock:
                if self._messages.empty():
                    self._thread = 0
                    return False
            return True
        if isinstance(message, LockType):
            message.release()
        else:
            with suppress(Exception):  # what a handler or filter raises: the log has done what it tells of
                self._logger.handle(message)
        return True


_LOGGER: Final = logging.getLogger("logstore")
_LOGGER.addHandler(QuietHandler())
LOGGING: Final = LoggingThread(_LOGGER)
"""What all logs are logged by."""
