"""A durable work queue in a directory, for any number of processes."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Final, Self, TypeVar

from epoch.base.forked import detach_after_fork
from epoch.filesystem import REAL, FileSystem
from logstore.arguments import LONGEST_WAIT, deadline_after, number_within, whole_number
from logstore.clock import now_ms, steady_ms
from logstore.errors import DirectoryLockedError, LogClosedError, LogPoisonedError
from logstore.log_config import MAX_INT32, LogConfig
from logstore.queue.queue_client import QueueClient
from logstore.queue.queue_directory import make_queue_directory
from logstore.queue.queue_item import QueueItem
from logstore.queue.queue_log import CONFIG, Producer, QueueLog
from logstore.queue.queue_server import QueueServer
from logstore.queue.queue_state import QueueCounts

PATIENCE_SECONDS: Final = 30.0
_RETRY_SECONDS: Final = 0.01
_HIGHEST_PRIORITY: Final = 255
_LAST_SEQUENCE: Final = 1 << 30
_ID_BYTES: Final = 7

Link = QueueLog | QueueClient
T = TypeVar("T")


class WorkQueue:
    """Items that are each done at least once, by whichever process takes them; on stable storage, in a `Log`.

    The first process that opens the queue owns its log, and the others ask it over a socket in the directory; once it
    ends, however it does, another one takes its place. All have the same calls. Any thread may call. A forked process
    connects anew.

    An item that is taken is leased: who does not `ack` it in time, `nack` it or `extend` the lease, may find that it
    was given to another. What was acknowledged never comes again.

    >>> with WorkQueue.open("tasks") as queue:
    ...     queue.put([b"wash", b"dry"])
    ...     for item in queue.take(max_items=2):
    ...         item.ack()
    """

    def __init__(
        self,
        directory: Path,
        lease_ms: int,
        max_attempts: int,
        config: LogConfig,
        filesystem: FileSystem,
        clock: Callable[[], int],
    ) -> None:
        """Use a queue, without a look at it yet: see `open`."""
        self.directory: Path = directory
        self._lease_ms = lease_ms
        self._max_attempts = max_attempts
        self._config = config
        self._filesystem = filesystem
        self._clock = clock
        self._is_closed = False
        self._begin()
        detach_after_fork(self)

    def _begin(self) -> None:
        self._lock = Lock()
        self._link: Link | None = None
        self._server: QueueServer | None = None
        self._producers: list[Producer] = []

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        *,
        lease: float = 30.0,
        max_attempts: int = 5,
        config: LogConfig = CONFIG,
        filesystem: FileSystem = REAL,
        clock: Callable[[], int] | None = None,
    ) -> Self:
        """Open the queue in a directory of its own, creating it if missing, in one that exists.

        `lease` is for how many seconds this process takes items, and `max_attempts` how often an item is given out that
        it takes, before it is dead. `config` is that of the log where this process owns it. `clock` returns
        milliseconds since 1970 UTC, by default of a clock that goes on from now, whatever is done to the system's.

        Raises what `Log.open` raises, NotALogDirectoryError also for a directory in which others keep logs, and
        DirectoryLockedError where another process has the log and does not answer.
        """
        lease_ms = _milliseconds(lease, "lease")
        if not whole_number(max_attempts, "max_attempts") or number_within(max_attempts, "max_attempts", MAX_INT32) < 1:
            raise ValueError("max_attempts is 0: pass 1 or more, as an item that is taken is given out once")
        path = Path(directory).absolute()
        queue = cls(path, lease_ms, max_attempts, config, filesystem, clock or _steady_clock())
        with queue._lock:
            queue._connect()
        return queue

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.directory)!r}{', owned' if self.is_owner else ''})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_owner(self) -> bool:
        """Whether this object has the queue's log, and answers others; that may change with each call."""
        return isinstance(self._link, QueueLog)

    # --- what it is for

    def put(self, values: Iterable[bytes], *, priority: int = 0, delay: float = 0) -> list[int]:
        """Add items, all of them or none; return their ids once they are on stable storage.

        Those of the highest `priority`, from 0 to 255, are given out first, and none before `delay` seconds. Where the
        owner dies meanwhile, they are put once all the same.

        Raises RecordTooLargeError for an item, or items, of more than `max_message_bytes`, and OSError, such as that of
        a full disk, with nothing added.

        >>> queue.put([b"wash", b"dry"], priority=1)
        [0, 1]
        """
        given = [*values]
        for value in given:
            if type(value) is not bytes:
                raise TypeError(f"an item is of type {type(value).__name__}: pass a list of bytes, such as [b'wash']")
        number_within(priority, "priority", _HIGHEST_PRIORITY)
        delay_ms = _milliseconds(delay, "delay")
        if not given:
            return []
        try:
            producer = self._producers.pop()
        except IndexError:
            producer = int.from_bytes(os.urandom(_ID_BYTES)), 0
        is_asked = False

        def call(link: Link) -> range:
            nonlocal is_asked
            # By its producer a put is known that an owner was asked for before, of whom nothing was heard.
            is_asked = is_asked or isinstance(link, QueueClient)
            return link.put(given, priority, delay_ms, producer if is_asked else None)

        ids = self._call(call)
        if is_asked and producer[1] < _LAST_SEQUENCE:
            self._producers.append((producer[0], producer[1] + len(given)))
        return [*ids]

    def take(self, *, max_items: int = 1, wait: float | None = 0) -> list[QueueItem]:
        """Lease up to so many items, and wait for the first one so many seconds; None: as long as it takes.

        Fewer are returned where they are large: a mebibyte, or one. Raises LogClosedError
        once the queue is closed, and OSError.

        >>> for item in queue.take(max_items=10, wait=1.0):
        ...     print(item.value)
        """
        most = number_within(max_items, "max_items", MAX_INT32)
        deadline = deadline_after(wait)

        def call(link: Link) -> list[QueueItem]:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            return [QueueItem(self, *each) for each in link.take(most, self._lease_ms, self._max_attempts, left)]

        return self._call(call)

    def __iter__(self) -> Iterator[QueueItem]:
        """Yield one item after the other, and wait for more, until the queue is closed in another thread."""
        while True:
            try:
                items = self.take(wait=None)
            except LogClosedError:
                return
            yield from items

    def ack(self, items: Iterable[QueueItem]) -> list[QueueItem]:
        """Acknowledge items, as done; return once that is on stable storage, with those that are not done all the same.

        These are items whose lease had run out, and which were given out once more. One that is done already, by
        whomever, is done. On a full disk this works for the oldest items, and otherwise raises OSError.
        """
        asked = _listed(items)
        done = self._call(lambda link: link.finish([item.token for item in asked])) if asked else []
        return [item for item, is_done in zip(asked, done, strict=True) if not is_done]

    def release(self, item: QueueItem, delay: float = 0) -> bool:
        """Do as `QueueItem.nack`."""
        delay_ms = _milliseconds(delay, "delay")
        return self._call(lambda link: link.release([item.token], delay_ms))[0]

    def extend(self, item: QueueItem, seconds: float) -> bool:
        """Do as `QueueItem.extend`."""
        lease_ms = _milliseconds(seconds, "seconds")
        return self._call(lambda link: link.extend([item.token], lease_ms))[0]

    # --- what has failed too often, and how many there are

    def dead_letters(self, max_items: int = 100) -> list[QueueItem]:
        """Return the first dead items: those that were given out `max_attempts` times, and never acknowledged."""
        most = number_within(max_items, "max_items", MAX_INT32)
        return self._call(lambda link: [QueueItem(self, *each) for each in link.dead(most)])

    def revive(self, items: Iterable[QueueItem]) -> int:
        """Give dead items out again, as often as new ones; return how many, once that is on stable storage."""
        ids = [item.id for item in _listed(items)]
        return self._call(lambda link: link.revive(ids))

    def discard(self, items: Iterable[QueueItem]) -> int:
        """Forget dead items; return how many, once that is on stable storage."""
        ids = [item.id for item in _listed(items)]
        return self._call(lambda link: link.discard(ids))

    def counts(self) -> QueueCounts:
        """Return how many items are ready, delayed, leased and dead."""
        return self._call(lambda link: link.counts())

    # --- who has the log

    def close(self) -> None:
        """Close the queue; an owner answers what it was asked for, and closes the log. Closing again does nothing.

        What was taken stays leased until the leases end.
        """
        with self._lock:
            self._is_closed = True
            self._let_go()

    def detach(self) -> None:
        """Begin anew in a forked process, which has neither the log nor the connections."""
        if isinstance(self._link, QueueClient):
            self._link.detach()
        self._begin()

    def _call(self, call: Callable[[Link], T]) -> T:
        while True:
            with self._lock:
                link = self._connected()
            try:
                return call(link)
            except (ConnectionError, LogClosedError, LogPoisonedError):  # it is another's to do, or one's own now
                with self._lock:
                    if self._link is link:
                        self._let_go()

    def _connected(self) -> Link:
        if self._is_closed:
            raise LogClosedError("the queue is closed", file=self.directory, advice="open it again")
        if isinstance(self._link, QueueLog) and self._link.failure is not None:
            self._let_go()
        return self._link or self._connect()

    def _connect(self) -> Link:
        """Ask who owns the queue, or own it. Raises DirectoryLockedError where neither succeeds for a while."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                self._link = QueueClient(self.directory)
            except (ConnectionRefusedError, FileNotFoundError, NotADirectoryError):
                pass
            else:
                return self._link
            try:
                return self._own()
            except DirectoryLockedError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(_RETRY_SECONDS)  # another process opens the log just now, or closes it

    def _own(self) -> QueueLog:
        make_queue_directory(self.directory, self._filesystem)
        queue = QueueLog(self.directory, self._config, self._filesystem, self._clock)
        try:
            self._server = QueueServer(queue, self.directory)
        except BaseException:
            queue.close()
            raise
        self._link = queue
        return queue

    def _let_go(self) -> None:
        link, self._link = self._link, None
        server, self._server = self._server, None
        if isinstance(link, QueueClient):
            link.close()
        elif link is not None and server is not None:
            server.stop()
            if link.failure is None:
                link.end_waits()
                server.join()
                link.close()
            else:
                link.abandon()


def _steady_clock() -> Callable[[], int]:
    begun_ms = now_ms() - steady_ms()
    return lambda: begun_ms + steady_ms()


def _listed(items: object) -> list[QueueItem]:
    listed: list[object] = [*items] if isinstance(items, Iterable) else [items]
    found = [each for each in listed if isinstance(each, QueueItem)]
    if len(found) < len(listed) or not isinstance(items, Iterable):
        wrong = next((each for each in listed if not isinstance(each, QueueItem)), items)
        raise TypeError(f"{wrong!r} is no list of items: pass a list of what `take` has returned")
    return found


def _milliseconds(seconds: float, name: str) -> int:
    """Return a time in milliseconds. Raises TypeError, and ValueError for what nobody can wait."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{name} is {seconds!r}, of type {type(seconds).__name__}: pass seconds")
    if not 0 <= seconds <= LONGEST_WAIT:
        raise ValueError(f"{name} is {seconds!r}: pass seconds from 0 to {LONGEST_WAIT:,}")
    return round(seconds * 1000)
