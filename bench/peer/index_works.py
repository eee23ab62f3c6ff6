"""Looking up full indexes: where an offset lies, and where a timestamp begins."""

import mmap
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bench.peer.files import FIRST_TIMESTAMP, Logs, write_numbers
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.turns import Settings, Timed, take_turns
from bench.results import KAFKA, OURS, Row
from logstore.files.index_slots import OFFSET_SLOT, TIME_SLOT
from logstore.indexes.live_offset_index import LiveOffsetIndex
from logstore.indexes.live_time_index import LiveTimeIndex
from logstore.indexes.offset_index import OFFSET_COLUMNS
from logstore.indexes.time_index import TIME_COLUMNS
from logstore.kernels import search

INDEX_BYTES: Final = 10 << 20
"""As large as `segment.index.bytes` lets one grow: 1.3 million offsets, 0.87 million timestamps."""
SMALL_INDEX_BYTES: Final = 64 << 10
SMALL_LOG: Final = 64 << 20
"""Logs below this have small indexes."""
OFFSETS_APART, BYTES_APART, MILLISECONDS_APART = 100, 819, 10
NEAR_THE_END: Final = 1_000
"""Entries: where followers and most consumers read."""
PASSES: Final = 4
NAME: Final = "0" * 20


class IndexWorks:
    """Both indexes of a segment, each as full as it can be. Kafka looks up one at a time, also where many are asked."""

    group = "indexes"
    timer = "IndexTimer"

    def __init__(self, settings: Settings, _logs: Logs, kafka: KafkaTimer | None) -> None:
        self._settings = settings
        self._kafka = kafka
        self._bytes = INDEX_BYTES if settings.size >= SMALL_LOG else SMALL_INDEX_BYTES
        self._entries = self._bytes // OFFSET_SLOT
        self._times = self._bytes // TIME_SLOT
        self._directory = settings.work / "indexes"

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name."""
        return {
            "offset index lookup": partial(self._offset, 0),
            "offset index lookup near the end": partial(self._offset, max(self._entries - NEAR_THE_END, 0)),
            "offset index lookup in bulk": self._offsets,
            "time index lookup": self._timestamp,
            "time index lookup in bulk": self._timestamps,
        }

    def _offset(self, lowest: int, name: str) -> Row:
        queries = self._queries(lowest * OFFSETS_APART, self._entries * OFFSETS_APART)
        lookup = LiveOffsetIndex.open(self._written(".index"), 0, self._bytes).lookup

        def ours() -> Timed:
            spent, positions = self._settings.time(lambda: [lookup(offset) for offset in queries])
            return Timed(spent / len(queries), sum(positions))

        return self._beside_kafka(name, ours, "offsets")

    def _offsets(self, name: str) -> Row:
        queries = np.array(self._queries(0, self._entries * OFFSETS_APART))
        index = _mapped(self._written(".index"))
        found, positions = np.empty((2, len(queries)), np.int64)

        def ours() -> Timed:
            spent, _ = self._settings.time(
                lambda: search.lookup_offsets(index, self._entries, 0, queries, found, positions)
            )
            return Timed(spent / len(queries), int(positions.sum()))

        return self._beside_kafka(name, ours, "offsets")

    def _timestamp(self, name: str) -> Row:
        queries = self._queries(FIRST_TIMESTAMP, FIRST_TIMESTAMP + self._times * MILLISECONDS_APART)
        lookup = LiveTimeIndex.open(self._written(".timeindex"), 0, self._bytes).lookup

        def ours() -> Timed:
            spent, offsets = self._settings.time(lambda: [lookup(timestamp) for timestamp in queries])
            return Timed(spent / len(queries), sum(offsets))

        return self._beside_kafka(name, ours, "timestamps")

    def _timestamps(self, name: str) -> Row:
        queries = np.array(self._queries(FIRST_TIMESTAMP, FIRST_TIMESTAMP + self._times * MILLISECONDS_APART))
        index = _mapped(self._written(".timeindex"))
        found, offsets = np.empty((2, len(queries)), np.int64)

        def ours() -> Timed:
            spent, _ = self._settings.time(
                lambda: search.lookup_timestamps(index, self._times, 0, queries, found, offsets)
            )
            return Timed(spent / len(queries), int(offsets.sum()))

        return self._beside_kafka(name, ours, "timestamps")

    def _queries(self, lowest: int, end: int) -> list[int]:
        """Return numbers to look up, which Kafka knows too."""
        rng = random.Random(lowest)
        queries = [rng.randrange(lowest, end) for _ in range(self._settings.calls)]
        if self._kafka is not None:
            path = self._settings.work / "index-queries"
            write_numbers(path, queries)
            self._written(".index")
            self._kafka.ask("open", self._directory, self._bytes)
            self._kafka.ask("queries", path)
        return queries

    def _written(self, suffix: str) -> Path:
        """Write both index files where that was not done yet; return one of them."""
        path = self._directory / f"{NAME}{suffix}"
        if not path.exists():
            self._directory.mkdir(exist_ok=True)
            self._write()
        return path

    def _write(self) -> None:
        entries = np.empty(self._entries, OFFSET_COLUMNS)
        entries["relative_offset"] = np.arange(self._entries) * OFFSETS_APART + OFFSETS_APART - 1
        entries["position"] = np.arange(self._entries) * BYTES_APART
        (self._directory / f"{NAME}.index").write_bytes(entries.tobytes())
        times = np.empty(self._times, TIME_COLUMNS)
        times["timestamp"] = FIRST_TIMESTAMP + np.arange(self._times) * MILLISECONDS_APART
        times["relative_offset"] = np.arange(self._times) * OFFSETS_APART + OFFSETS_APART - 1
        (self._directory / f"{NAME}.timeindex").write_bytes(times.tobytes())

    def _beside_kafka(self, name: str, ours: Callable[[], Timed], command: str) -> Row:
        sides = {OURS: ours}
        if self._kafka is not None:
            operations = self._settings.calls * PASSES
            sides[KAFKA] = partial(self._kafka.ask, command, PASSES, operations=operations)
        row = Row(name, items=1, unit="lookups", group=self.group)
        return take_turns(row, sides, self._settings)


def _mapped(path: Path) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    with open(path, "rb") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
