"""Epoch histories: where an epoch ends, who wrote an offset, loading a checkpoint, a new epoch."""

import random
import shutil
from collections.abc import Callable
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np

from bench.peer.files import Logs, write_numbers
from bench.peer.kafka_timer import KafkaTimer
from bench.peer.turns import Settings, Timed, take_turns
from bench.results import KAFKA, OURS, Row
from epoch import EpochEntry, EpochHistory, LeaderEpochCheckpoint, LeaderEpochFileCache
from epoch.bulk import EndOffsets, EpochTable

SIZES: Final = (10, 1_000, 100_000)
LOG_END: Final = 1 << 40
OFFSETS_OF_AN_EPOCH: Final = 100
PASSES: Final = 16
"""Over all queries, in a round."""
EPOCHS_OF_A_CALL: Final = 8_192
"""In bulk. Twice as many answers are columns of 128 KiB, which malloc may map anew, page by page, in each call."""
LONG: Final = 100_000
"""Entries from which on what walks over them is asked less often."""
Entries = list[EpochEntry]


def entries_of(size: int, *, dense: bool = False) -> Entries:
    """So many epochs of 100 offsets each: each number used, or one in three."""
    rng = random.Random(size)
    steps = [1 if dense else rng.randint(1, 5) for _ in range(size)]
    return [EpochEntry(epoch, number * OFFSETS_OF_AN_EPOCH) for number, epoch in enumerate(accumulate(steps))]


class EpochWorks:
    """Kafka answers one question at a time, also where many are asked."""

    group = "epochs"
    timer = "EpochTimer"

    def __init__(self, settings: Settings, _logs: Logs, kafka: KafkaTimer | None) -> None:
        self._settings = settings
        self._kafka = kafka

    def works(self) -> dict[str, Callable[[str], Row]]:
        """Return all kinds of work by name."""
        works: dict[str, Callable[[str], Row]] = {}
        for size in SIZES:
            works[f"end offset for an epoch, {size:,} epochs"] = partial(self._ends, size)
            works[f"end offsets in bulk, {size:,} epochs"] = partial(self._bulk, size, dense=False)
            works[f"end offsets in bulk, {size:,} epochs without gaps"] = partial(self._bulk, size, dense=True)
            works[f"epoch for an offset, {size:,} epochs"] = partial(self._writers, size)
        for size in SIZES[1:]:
            works[f"load a checkpoint of {size:,} epochs"] = partial(self._load, size)
            works[f"assign a new epoch after {size:,}, in memory"] = partial(self._assign_in_memory, size)
            works[f"assign a new epoch after {size:,}, with its file"] = partial(self._assign_with_file, size)
        return works

    def _ends(self, size: int, name: str) -> Row:
        epochs, _ = self._ask_about(entries_of(size), self._settings.calls)
        cache = LeaderEpochFileCache.open(self._place(OURS))

        def ours() -> Timed:
            end_offset_for = cache.end_offset_for
            spent, found = self._settings.time(lambda: [end_offset_for(epoch, LOG_END) for epoch in epochs])
            return Timed(spent / len(epochs), sum(map(sum, found)))

        return self._beside_kafka(self._row(name, "answers"), ours, "ends", len(epochs))

    def _bulk(self, size: int, name: str, *, dense: bool) -> Row:
        epochs, _ = self._ask_about(entries_of(size, dense=dense), self._settings.calls)
        table = EpochTable([LeaderEpochFileCache.open(self._place(OURS)).history])
        asked = np.split(np.array(epochs), range(EPOCHS_OF_A_CALL, len(epochs), EPOCHS_OF_A_CALL))

        def ask() -> list[EndOffsets]:
            """Discard each pass's answers, as who has sent them does: to keep all would measure fresh memory."""
            for _ in range(PASSES):
                answers = [table.end_offsets_for(0, some, LOG_END) for some in asked]
            return answers

        def ours() -> Timed:
            spent, answers = self._settings.time(ask)
            return Timed(spent / PASSES / len(epochs), int(sum(np.sum(columns) for columns in answers)))

        return self._beside_kafka(self._row(name, "answers"), ours, "ends", len(epochs))

    def _writers(self, size: int, name: str) -> Row:
        _, offsets = self._ask_about(entries_of(size), self._settings.calls // (1_000 if size >= LONG else 1))
        cache = LeaderEpochFileCache.open(self._place(OURS))

        def ours() -> Timed:
            epoch_for_offset = cache.epoch_for_offset
            spent, found = self._settings.time(lambda: [epoch_for_offset(offset) for offset in offsets])
            return Timed(spent / len(offsets), sum(epoch for epoch in found if epoch is not None))

        # Kafka walks over the entries.
        passes = 1 if size > SIZES[0] else PASSES
        return self._beside_kafka(self._row(name, "answers"), ours, "writers", len(offsets), passes)

    def _load(self, size: int, name: str) -> Row:
        for side in (OURS, KAFKA):
            self._write(side, entries_of(size))
        times = LONG // size
        directory = self._place(OURS)

        def ours() -> Timed:
            spent, found = self._settings.time(lambda: [LeaderEpochFileCache.open(directory) for _ in range(times)])
            return Timed(spent / times, len(found[-1]))

        sides = {OURS: ours}
        if self._kafka is not None:
            sides[KAFKA] = partial(self._kafka.ask, "load", self._place(KAFKA), times, operations=times)
        return take_turns(self._row(name, "entries", size), sides, self._settings)

    def _assign_in_memory(self, size: int, name: str) -> Row:
        count = min(self._settings.calls, 100)
        return self._assign(
            name, count, size, lambda: LeaderEpochFileCache(EpochHistory(entries_of(size))), ("remember",)
        )

    def _assign_with_file(self, size: int, name: str) -> Row:
        count = 5 if size >= LONG else 20
        return self._assign(name, count, size, lambda: LeaderEpochFileCache.open(self._place(OURS)), ("load", 1))

    def _assign(
        self,
        name: str,
        count: int,
        size: int,
        make: Callable[[], LeaderEpochFileCache],
        make_kafkas: tuple[object, ...],
    ) -> Row:
        """Assign so many epochs after the latest; each round begins with the same entries."""
        entries = entries_of(size)
        epoch, start = entries[-1]

        def ours() -> Timed:
            self._write(OURS, entries)
            cache = make()
            assign = cache.assign
            spent, _ = self._settings.time(lambda: [assign(epoch + n, start + n) for n in range(1, count + 1)])
            return Timed(spent / count, len(cache) + sum(cache.entries[-1]))

        def kafkas(kafka: KafkaTimer) -> Timed:
            self._write(KAFKA, entries)
            command, *times = make_kafkas
            kafka.ask(command, self._place(KAFKA), *times)
            return kafka.ask("assign", count, operations=count)

        sides = {OURS: ours}
        if self._kafka is not None:
            sides[KAFKA] = partial(kafkas, self._kafka)
        return take_turns(self._row(name, "epochs"), sides, self._settings)

    def _row(self, name: str, unit: str, items: int = 1) -> Row:
        return Row(name, items=items, unit=unit, group=self.group)

    def _place(self, side: str) -> Path:
        return self._settings.work / f"{side.lower()}-epochs" / "t-0"

    def _write(self, side: str, entries: Entries) -> None:
        """Write a side's checkpoint."""
        place = self._place(side)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        LeaderEpochCheckpoint(place).write(entries)

    def _ask_about(self, entries: Entries, count: int) -> tuple[list[int], list[int]]:
        """Write each side's checkpoint, and let Kafka know it and as many random epochs and offsets as returned."""
        for side in (OURS, KAFKA):
            self._write(side, entries)
        rng = random.Random(count)
        highest, end = entries[-1][0], len(entries) * OFFSETS_OF_AN_EPOCH
        # The latest epoch ends with the log, and nothing is known of what lies above.
        epochs = [highest, highest + 1, *(rng.randint(0, highest) for _ in range(count))]
        offsets = [rng.randrange(end) for _ in epochs]
        if self._kafka is not None:
            queries = self._settings.work / "epoch-queries"
            write_numbers(queries, [*epochs, *offsets])
            self._kafka.ask("load", self._place(KAFKA), 1)
            self._kafka.ask("queries", queries)
        return epochs, offsets

    def _beside_kafka(
        self, row: Row, ours: Callable[[], Timed], command: str, queries: int, passes: int = PASSES
    ) -> Row:
        sides = {OURS: ours}
        if self._kafka is not None:
            sides[KAFKA] = partial(self._kafka.ask, command, passes, operations=queries * passes)
        return take_turns(row, sides, self._settings)
