"""Appending and reading records beside other stores of Python programs: same records, same durability."""

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from statistics import quantiles
from threading import Event
from typing import Final

from bench.peer.files import Logs
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.stores import SQLITE, STORES, FlushedLogStore, LogStore, Store
from bench.peer.turns import Settings, Timed, take_turns
from bench.results import OURS, Row

THREADS: Final = 16
DURABLE_CALLS: Final = 256
"""Each waits for the disk."""
UNDISTURBED: Final = "without a flush"
"""The side of ours beside which nobody flushes."""
READ_RECORDS: Final = 100_000
SMALL, LARGE = 100, 1 << 10
"""Bytes of a value."""


SHORT_PROGRAMS: Final = {
    OURS: """
import sys
from logstore import Log
with Log.open(sys.argv[1] + "/log") as log:
    log.append([b"a"])
    log.flush()
""",
    SQLITE: """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1] + "/table", isolation_level=None)
connection.execute("PRAGMA journal_mode=WAL")
connection.execute("PRAGMA synchronous=FULL")
connection.execute("CREATE TABLE IF NOT EXISTS log (number INTEGER PRIMARY KEY, value BLOB)")
connection.execute("INSERT INTO log (value) VALUES (?)", [b"a"])
connection.close()
""",
}
"""What a program does that opens a store, appends one record durably and ends."""


@dataclass(frozen=True)
class Appends:
    """Calls that append, and what they append."""

    calls: int
    records: int = 1
    """In a call."""
    size: int = SMALL
    durable: bool = False
    threads: int = 1


class StoreWorks:
    """Records into stores, and out of them as objects."""

    group = "stores"
    timer = ""

    def __init__(self, settings: Settings, _logs: Logs, _kafka: KafkaTimer | None) -> None:
        self._settings = settings
        self._directories = (settings.work / f"store-{number}" for number in count())

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name."""
        calls = max(self._settings.calls // 16, 1)
        flushed = STORES | {OURS: FlushedLogStore}
        return {
            "append one record of 100 bytes": partial(self._append, STORES, Appends(calls)),
            "append 100 records of 100 bytes": partial(self._append, STORES, Appends(calls // 16 or 1, 100)),
            "append 100 records of 1 KiB": partial(self._append, STORES, Appends(calls // 16 or 1, 100, LARGE)),
            "append one record durably": partial(self._append, flushed, Appends(DURABLE_CALLS, durable=True)),
            "append one record durably in 16 threads": partial(
                self._append, STORES, Appends(DURABLE_CALLS * THREADS, durable=True, threads=THREADS)
            ),
            "append one record while another thread flushes, 99th percentile": partial(self._append_beside, calls),
            "read records as objects": self._read,
            "append one record durably in a process of its own": partial(self._append_in_process, is_new=True),
            "append one record durably in a process of its own, to a store that is there": partial(
                self._append_in_process, is_new=False
            ),
        }

    def _append(self, stores: Mapping[str, type[Store]], appends: Appends, name: str) -> Row:
        def measure(store: type[Store]) -> Timed:
            opened = self._open(store, durable=appends.durable)
            spent, _ = self._settings.time(lambda: _append_all(opened, appends))
            size = opened.read()
            opened.close()
            return Timed(spent / appends.calls, size)

        row = Row(name, items=appends.records, unit="records", group=self.group)
        return take_turns(row, {side: partial(measure, store) for side, store in stores.items()}, self._settings)

    def _append_beside(self, calls: int, name: str) -> Row:
        """Measure waiting, which is no processor time, whatever the clock of the other rows."""

        def measure(*, flushes: bool) -> Timed:
            directory = next(self._directories)
            directory.mkdir()
            store = LogStore(directory, durable=False)
            if flushes:
                with _flushing(store):
                    slow = _slowest_hundredth(store, calls)
            else:
                slow = _slowest_hundredth(store, calls)
            size = store.read()
            store.close()
            return Timed(slow, size)

        row = Row(name, items=1, unit="records", group=self.group)
        sides = {OURS: partial(measure, flushes=True), UNDISTURBED: partial(measure, flushes=False)}
        return take_turns(row, sides, self._settings)

    def _read(self, name: str) -> Row:
        opened = {side: self._open(store) for side, store in STORES.items()}
        for store in opened.values():
            _append_all(store, Appends(READ_RECORDS // 100, 100))

        def measure(store: Store) -> Timed:
            return Timed(*self._settings.time(store.read))

        row = Row(name, items=READ_RECORDS, unit="records", group=self.group)
        take_turns(row, {side: partial(measure, store) for side, store in opened.items()}, self._settings)
        for store in opened.values():
            store.close()
        return row

    def _append_in_process(self, name: str, *, is_new: bool) -> Row:
        """Measure the processor time of all that a program takes, Python's own start included, whatever the clock."""

        def measure(program: str, there: Path) -> Timed:
            place = next(self._directories) if is_new else there
            place.mkdir(exist_ok=True)
            return Timed(_processor_time([sys.executable, "-c", program, str(place)]))

        row = Row(name, items=1, unit="records", group=self.group)
        sides = {side: partial(measure, each, next(self._directories)) for side, each in SHORT_PROGRAMS.items()}
        return take_turns(row, sides, self._settings)

    def _open(self, store: type[Store], *, durable: bool = False) -> Store:
        directory = next(self._directories)
        directory.mkdir()
        return store(directory, durable=durable)


def _processor_time(command: list[str]) -> float:
    """Run a program; return the nanoseconds of processor time that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""})
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e9 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@contextmanager
def _flushing(store: LogStore) -> Iterator[None]:
    """Flush in another thread all the time."""
    done = Event()

    def flush() -> None:
        while not done.is_set():
            store.flush()

    with ThreadPoolExecutor(1) as thread:
        flushing = thread.submit(flush)
        try:
            yield
        finally:
            done.set()
        flushing.result()


def _slowest_hundredth(store: Store, calls: int) -> float:
    """Append one record a call; return the nanoseconds that 99 of 100 calls took at most."""
    values, spent = [b"v" * SMALL], []
    for _ in range(calls):
        start = time.perf_counter_ns()
        store.append(values)
        spent.append(time.perf_counter_ns() - start)
    return quantiles(spent, n=100, method="inclusive")[98]


def _append_all(store: Store, appends: Appends) -> None:
    values = [b"v" * appends.size] * appends.records
    if appends.threads == 1:
        for _ in range(appends.calls):
            store.append(values)
        return

    def append_part(_: int) -> None:
        mine = store.in_thread()
        for _ in range(appends.calls // appends.threads):
            mine.append(values)
        if mine is not store:
            mine.close()

    with ThreadPoolExecutor(appends.threads) as threads:
        list(threads.map(append_part, range(appends.threads)))
