"""Stores that Python programs keep records in, behind the same calls: ours, sqlite, LMDB, RocksDB, a plain file."""

import os
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any, Final

from bench.results import OURS
from logstore.log.log import Log
from logstore.log_config import LogConfig

SQLITE: Final = "sqlite"
LMDB: Final = "lmdb"
ROCKSDB: Final = "RocksDB"
PLAIN: Final = "a plain file"
_MAP_BYTES: Final = 4 << 30
_SELECT: Final = "SELECT number, timestamp, value FROM records WHERE number = ?"
_INSERT: Final = "INSERT INTO records (timestamp, value) VALUES (1, ?)"


class Store(ABC):
    """Keeps records in the order in which they come. A durable one has them on stable storage when a call returns."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        """Begin with no records in a directory that is empty."""
        self._directory = directory
        self._durable = durable

    @abstractmethod
    def append(self, values: Sequence[bytes]) -> None:
        """Add records in one call."""

    @abstractmethod
    def read(self) -> int:
        """Read all records as objects; return the bytes of their values."""

    @abstractmethod
    def close(self) -> None:
        """Close the files."""

    def in_thread(self) -> "Store":
        """Return what another thread appends by."""
        return self


class LogStore(Store):
    """A `Log`."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        super().__init__(directory, durable=durable)
        self._log = Log.open(directory / "records-0", LogConfig(retention_ms=-1))

    def append(self, values: Sequence[bytes]) -> None:
        if self._durable:
            self._log.append(values, durable=True).result()
        else:
            self._log.append(values)

    def read(self) -> int:
        size = offset = 0
        while view := self._log.read(offset, 1 << 20):
            size += sum(len(record.value or b"") for record in view.records())
            offset = view.next_offset
        return size

    def flush(self) -> None:
        """Return once all records are on stable storage."""
        self._log.flush()

    def close(self) -> None:
        self._log.close()


class FlushedLogStore(LogStore):
    """A `Log` that is flushed by the thread that appends, where there is one alone."""

    def append(self, values: Sequence[bytes]) -> None:
        self._log.append(values)
        self._log.flush()


class SqliteStore(Store):
    """A table, with a write-ahead log."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        super().__init__(directory, durable=durable)
        self._connection = sqlite3.connect(directory / "records.db", isolation_level=None, timeout=600)
        for setting in ("journal_mode=WAL", f"synchronous={'FULL' if durable else 'NORMAL'}"):
            self._connection.execute(f"PRAGMA {setting}")
        table = "CREATE TABLE IF NOT EXISTS records (number INTEGER PRIMARY KEY, timestamp INTEGER, value BLOB)"
        self._connection.execute(table)

    def append(self, values: Sequence[bytes]) -> None:
        if len(values) == 1:
            self._connection.execute(_INSERT, values)
            return
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.executemany(_INSERT, [(value,) for value in values])
        self._connection.execute("COMMIT")

    def read(self) -> int:
        rows = self._connection.execute("SELECT number, timestamp, value FROM records ORDER BY number")
        return sum(len(value) for _, _, value in rows)

    def get(self, number: int) -> tuple[int, int, bytes]:
        """Read one record; the first has number 0."""
        row: tuple[int, int, bytes] = self._connection.execute(_SELECT, (number + 1,)).fetchone()
        return row

    def close(self) -> None:
        self._connection.close()

    def in_thread(self) -> "Store":
        return SqliteStore(self._directory, durable=self._durable)


class LmdbStore(Store):
    """A tree by number."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        import lmdb  # noqa: PLC0415  it may not be there

        super().__init__(directory, durable=durable)
        self._environment: Any = lmdb.open(str(directory), map_size=_MAP_BYTES, sync=durable, metasync=durable)

    def append(self, values: Sequence[bytes]) -> None:
        with self._environment.begin(write=True) as transaction:
            number = transaction.stat()["entries"]
            for value in values:
                transaction.put(number.to_bytes(8), value, append=True)
                number += 1

    def read(self) -> int:
        with self._environment.begin() as transaction:
            return sum(len(value) for _, value in transaction.cursor())

    def close(self) -> None:
        self._environment.close()


class RocksStore(Store):
    """A log-structured merge tree by number."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        import rocksdict  # noqa: PLC0415  it may not be there

        super().__init__(directory, durable=durable)
        self._batch: Callable[..., Any] = rocksdict.WriteBatch
        self._database: Any = rocksdict.Rdict(str(directory / "records"), rocksdict.Options(raw_mode=True))
        self._options: Any = rocksdict.WriteOptions()
        self._options.sync = durable
        self._numbers = count()

    def append(self, values: Sequence[bytes]) -> None:
        batch = self._batch(raw_mode=True)
        for value in values:
            batch.put(next(self._numbers).to_bytes(8), value)
        self._database.write(batch, self._options)

    def read(self) -> int:
        return sum(len(value) for _, value in self._database.items())

    def close(self) -> None:
        self._database.close()


class PlainStore(Store):
    """Lengths and values, one after the other."""

    def __init__(self, directory: Path, *, durable: bool) -> None:
        super().__init__(directory, durable=durable)
        self._path = directory / "records"
        self._descriptor = os.open(self._path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def append(self, values: Sequence[bytes]) -> None:
        os.write(self._descriptor, b"".join([len(value).to_bytes(4) + value for value in values]))
        if self._durable:
            os.fsync(self._descriptor)

    def read(self) -> int:
        size = 0
        with self._path.open("rb", 1 << 20) as file:
            while length := file.read(4):
                size += len(file.read(int.from_bytes(length)))
        return size

    def close(self) -> None:
        os.close(self._descriptor)


STORES: Final[dict[str, type[Store]]] = {
    OURS: LogStore,
    SQLITE: SqliteStore,
    **({LMDB: LmdbStore} if find_spec("lmdb") else {}),
    **({ROCKSDB: RocksStore} if find_spec("rocksdict") else {}),
    PLAIN: PlainStore,
}
"""Those that are installed."""
