"""Queues on disk behind the same calls: ours, persist-queue, litequeue, and a table of sqlite."""

import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from bench.results import OURS
from logstore.queue import WorkQueue

LEASE_SECONDS: Final = 3.0
_FULL: Final = "PRAGMA synchronous=FULL"
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY AUTOINCREMENT, value BLOB, leased_until REAL NOT NULL)
"""
_TAKE: Final = """
UPDATE items SET leased_until = ? WHERE id IN (SELECT id FROM items WHERE leased_until < ? ORDER BY id LIMIT ?)
RETURNING id, value
"""

Taken = tuple[Any, bytes]
"""What an item is acknowledged by, and its value."""


class Queue(ABC):
    """Any number of processes have it open. All is on stable storage when a call returns."""

    many = True
    """Whether one call puts, takes and acknowledges many."""

    @abstractmethod
    def put(self, values: Sequence[bytes]) -> None:
        """Add items."""

    @abstractmethod
    def take(self, most: int) -> list[Taken]:
        """Lease items; none where none is ready now."""

    @abstractmethod
    def ack(self, taken: Sequence[Taken]) -> None:
        """Acknowledge items."""

    @abstractmethod
    def left(self) -> int:
        """Return how many items are not acknowledged, given out or not."""

    @abstractmethod
    def close(self) -> None:
        """Close the files."""


class OurQueue(Queue):
    """A `WorkQueue`."""

    def __init__(self, directory: Path) -> None:
        self._queue = WorkQueue.open(directory / "queue", lease=LEASE_SECONDS)

    def put(self, values: Sequence[bytes]) -> None:
        self._queue.put(values)

    def take(self, most: int) -> list[Taken]:
        return [(item, item.value) for item in self._queue.take(max_items=most)]

    def ack(self, taken: Sequence[Taken]) -> None:
        self._queue.ack([item for item, _ in taken])

    def left(self) -> int:
        return sum(self._queue.counts())

    def close(self) -> None:
        self._queue.close()


class SqliteTable(Queue):
    """What a program writes for itself: a table, with a time up to which an item is leased."""

    def __init__(self, directory: Path) -> None:
        self._table = sqlite3.connect(directory / "queue.db", isolation_level=None, timeout=60)
        for setting in ("PRAGMA journal_mode=WAL", _FULL, _TABLE):
            self._table.execute(setting)

    def put(self, values: Sequence[bytes]) -> None:
        self._table.execute("BEGIN IMMEDIATE")
        self._table.executemany("INSERT INTO items (value, leased_until) VALUES (?, 0)", [(each,) for each in values])
        self._table.execute("COMMIT")

    def take(self, most: int) -> list[Taken]:
        now = time.time()
        return self._table.execute(_TAKE, (now + LEASE_SECONDS, now, most)).fetchall()

    def ack(self, taken: Sequence[Taken]) -> None:
        self._table.execute("BEGIN IMMEDIATE")
        self._table.executemany("DELETE FROM items WHERE id = ?", [(item,) for item, _ in taken])
        self._table.execute("COMMIT")

    def left(self) -> int:
        return int(self._table.execute("SELECT count(*) FROM items").fetchone()[0])

    def close(self) -> None:
        self._table.close()


class LiteQueue(Queue):
    """litequeue, with its table synced at each commit, which by itself it is not."""

    many = False

    def __init__(self, directory: Path) -> None:
        from litequeue import LiteQueue  # noqa: PLC0415  it may not be there

        self._queue = LiteQueue(str(directory / "queue.db"), timeout=60)
        self._queue.conn.execute(_FULL)

    def put(self, values: Sequence[bytes]) -> None:
        for value in values:
            self._queue.put(value.decode())

    def take(self, most: int) -> list[Taken]:  # noqa: ARG002  it gives out one at a time
        message = self._queue.pop()
        return [] if message is None else [(message.message_id, message.data.encode())]

    def ack(self, taken: Sequence[Taken]) -> None:
        for message, _ in taken:
            self._queue.done(message)

    def left(self) -> int:
        return int(self._queue.qsize())

    def close(self) -> None:
        self._queue.close()


class PersistQueue(Queue):
    """persist-queue's SQLiteAckQueue, which is made for the threads of one process."""

    many = False

    def __init__(self, directory: Path) -> None:
        from persistqueue import SQLiteAckQueue  # noqa: PLC0415  it may not be there

        self._queue = SQLiteAckQueue(str(directory / "queue"), multithreading=True, timeout=60)

    def put(self, values: Sequence[bytes]) -> None:
        for value in values:
            self._queue.put(value)

    def take(self, most: int) -> list[Taken]:  # noqa: ARG002  it gives out one at a time
        from persistqueue import Empty  # noqa: PLC0415  as above

        try:
            item = self._queue.get(block=False, raw=True)
        except Empty:
            return []
        return [(item["pqid"], item["data"])]

    def ack(self, taken: Sequence[Taken]) -> None:
        for item, _ in taken:
            self._queue.ack(id=item)

    def left(self) -> int:
        return int(self._queue.size) + int(self._queue.unack_count())

    def close(self) -> None:
        self._queue.close()


QUEUES: Final[dict[str, type[Queue]]] = {
    OURS: OurQueue,
    "a sqlite table": SqliteTable,
    **({"litequeue": LiteQueue} if find_spec("litequeue") else {}),
    **({"persist-queue": PersistQueue} if find_spec("persistqueue") else {}),
}
