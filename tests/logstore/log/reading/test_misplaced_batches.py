"""Whatever is altered outside of checksums, or written elsewhere: readers give what was written, or raise, and end."""

import random
import shutil
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from logstore import Isolation, Log, LogConfig
from logstore.batch.batches import read_batches
from logstore.errors import LogStoreError
from logstore.log.cursors.cursor import Cursor
from logstore.log.frozen_log import CheckedLog, FrozenLog
from logstore.log.readable_log import ReadableLog
from logstore.offline.live.read_only_log import ReadOnlyLog
from tests.campaign import Campaign

RECORDS = 120
HEADER_BITS = 21 * 8
"""Offset, length, epoch, magic and checksum."""
FLIPS = Campaign("flipped bits of what no checksum covers, read by each kind of reader", full=12_000, share=250)
BLOCKS = Campaign("misdirected, lost and swapped writes, read by each kind of reader", full=4_000, share=100)
CONFIG = LogConfig(segment_bytes=2_000, index_interval_bytes=300)


class Read(NamedTuple):
    """What a reader gives of a record: -1 where it tells no epoch."""

    offset: int
    value: bytes
    epoch: int = -1


Damage = Callable[[Path], object]
Reader = Callable[[Path, Damage], Iterator[Read]]


def value(offset: int) -> bytes:
    return b"%d:" % offset * 5


def epoch(offset: int) -> int:
    return offset // 40 * 3


def write(log: Log) -> None:
    for first in range(0, RECORDS, 4):
        log.append([value(offset) for offset in range(first, first + 4)], leader_epoch=epoch(first))


def views(log: ReadableLog, max_bytes: int) -> Iterator[Read]:
    offset = log.log_start_offset
    while view := log.read(offset, max_bytes):
        batches = list(view.batches())
        for record in view.records():
            [leader] = [each.leader_epoch for each in batches if each.base_offset <= record.offset <= each.last_offset]
            yield Read(record.offset, bytes(record.value or b""), leader)
        assert view.next_offset > offset
        offset = view.next_offset


def columns(log: ReadableLog) -> Iterator[Read]:
    for batch in log.arrow_batches(log.log_start_offset):
        for row in batch.to_pylist():
            yield Read(row["offset"], row["value"], row["leader_epoch"])


def records(log: ReadableLog | ReadOnlyLog | Cursor) -> Iterator[Read]:
    for record in log.records():
        yield Read(record.offset, bytes(record.value or b""))


def gets(log: ReadableLog) -> Iterator[Read]:
    for segment in log.segments:
        segment.file.data()  # mapped, so that kernels look at it
    for offset in range(log.log_start_offset, log.log_end_offset):
        record = log.get(offset)
        yield Read(offset, b"none" if record is None else bytes(record.value or b""))
    log.read(log.log_end_offset, 0)  # which tells where the log ends too early


def cursor(log: Log) -> Iterator[Read]:
    for record in log.cursor("c").records(isolation=Isolation.HIGH_WATERMARK):
        yield Read(record.offset, bytes(record.value or b""))


def read_only_views(log: ReadOnlyLog) -> Iterator[Read]:
    offset = log.log_start_offset
    while view := log.read(offset, 300):
        for record in view.records():
            yield Read(record.offset, bytes(record.value or b""))
        assert view.next_offset > offset
        offset = view.next_offset


def live(read: Callable[[Log], Iterator[Read]]) -> Reader:
    """Of a log that is open while its files are damaged: opening it would look at some of them."""

    def reader(place: Path, damage: Damage) -> Iterator[Read]:
        log = Log.open(place, CONFIG)
        try:
            log.advance_high_watermark(log.log_end_offset)
            damage(place)
            yield from read(log)
        finally:
            log.abandon()

    return reader


def stopped(open_log: Callable[[Path], Any], read: Callable[[Any], Iterator[Read]]) -> Reader:
    """Of a log that was damaged before it is opened."""

    def reader(place: Path, damage: Damage) -> Iterator[Read]:
        damage(place)
        with open_log(place) as log:
            yield from read(log)

    return reader


READERS: dict[str, Reader] = {
    "records": live(records),
    "gets": live(gets),
    "views": live(lambda log: views(log, 700)),
    "cursor": live(cursor),
    "columns": live(columns),
    "read-only records": stopped(Log.reader, records),
    "read-only views": stopped(Log.reader, read_only_views),
    "frozen records": stopped(FrozenLog.open, records),
    "frozen gets": stopped(FrozenLog.open, gets),
    "frozen columns": stopped(FrozenLog.open, columns),
    "checked views": stopped(CheckedLog.open, lambda log: views(log, 300)),
}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sound") / "t-0"
    with Log.open(place, CONFIG) as log:
        write(log)
    return place


def fresh(sound: Path, tmp_path: Path) -> Path:
    place = tmp_path / sound.name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(sound, place)
    return place


def ensure_told(name: str, place: Path, damage: Damage) -> None:
    """Read all, and see that it is what was written; or its beginning, and then an error."""
    found: list[Read] = []
    is_told = False
    try:
        for read in READERS[name](place, damage):
            found.append(read)
            assert len(found) <= RECORDS, "it does not end"
    except LogStoreError:
        is_told = True
    for number, read in enumerate(found):
        assert (read.offset, read.value) == (number, value(number))
        assert read.epoch in {-1, epoch(number)}
    assert is_told or len(found) == RECORDS


def overwrite(path: Path, position: int, data: bytes) -> None:
    """Write within a file, as it may be mapped."""
    with open(path, "r+b") as file:
        file.seek(position)
        file.write(data[: max(path.stat().st_size - position, 0)])


def flipped(file: str, position: int, bit: int) -> Damage:
    def damage(place: Path) -> None:
        at = position + bit // 8
        overwrite(place / file, at, bytes([(place / file).read_bytes()[at] ^ 1 << bit % 8]))

    return damage


def flips(sound: Path) -> list[tuple[str, int, int]]:
    """All that can be flipped."""
    return [
        (path.name, batch.position, bit)
        for path in sorted(sound.glob("*.log"))
        for batch in read_batches(memoryview(path.read_bytes()))
        for bit in range(HEADER_BITS)
    ]


def misdirected(sound: Path, rng: random.Random) -> tuple[object, Damage]:
    """Tell what is written over what."""
    logs = sorted(sound.glob("*.log"))
    source, target = rng.choice(logs), rng.choice(logs)
    size, start, at = rng.choice([64, 512]), block(source, rng), block(target, rng)
    data = source.read_bytes()[start : start + size]
    what = source.name, start, target.name, at, size
    return what, lambda place: overwrite(place / target.name, at, data)


def lost(sound: Path, rng: random.Random) -> tuple[object, Damage]:
    """Tell where zeros are instead of a block."""
    path = rng.choice(sorted(sound.glob("*.log")))
    size, at = rng.choice([64, 512]), block(path, rng)
    return (path.name, at, size), lambda place: overwrite(place / path.name, at, bytes(size))


def block(path: Path, rng: random.Random) -> int:
    """Choose where a sector begins, in small."""
    return rng.randrange(path.stat().st_size // 64) * 64


@pytest.mark.parametrize("name", READERS)
def test_a_flipped_bit_outside_of_checksums_is_told_before_anything_wrong_is_given(
    name: str, sound: Path, tmp_path: Path
) -> None:
    count = FLIPS.count // len(READERS)
    for flip in random.Random(f"{FLIPS.seed} {name}").sample(flips(sound), count):
        ensure_told(name, fresh(sound, tmp_path), flipped(*flip))
    FLIPS.report(count, name)


@pytest.mark.parametrize("name", READERS)
def test_blocks_in_a_wrong_place_are_told_before_anything_wrong_is_given(
    name: str, sound: Path, tmp_path: Path
) -> None:
    rng = random.Random(f"{BLOCKS.seed} {name}")
    count = BLOCKS.count // len(READERS)
    for _ in range(count):
        _, damage = rng.choice([misdirected, lost])(sound, rng)
        ensure_told(name, fresh(sound, tmp_path), damage)
    BLOCKS.report(count, name)


@pytest.mark.parametrize("name", [name for name in READERS if READERS[name].__qualname__.startswith("stopped")])
def test_segments_that_have_changed_places_are_told_before_anything_wrong_is_given(
    name: str, sound: Path, tmp_path: Path
) -> None:
    for first, second in combinations(sorted(path.name for path in sound.glob("*.log")), 2):
        ensure_told(name, fresh(sound, tmp_path), swapped(first, second))


def swapped(first: str, second: str) -> Damage:
    def damage(place: Path) -> None:
        aside = place / "aside"
        (place / first).rename(aside)
        (place / second).rename(place / first)
        aside.rename(place / second)

    return damage
