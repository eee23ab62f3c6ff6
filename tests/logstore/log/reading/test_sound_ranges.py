"""What was checked or appended not long ago is not checked again, and anything else is."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import CorruptBatchError, Isolation, Log, LogConfig
from logstore.batch.batches import read_batches
from logstore.batch.layout import CRC_START
from logstore.log.reading.sound_bytes import SOUND_RUNS, SoundBytes
from logstore.log.reading.sound_ranges import MOST_RANGES, SoundRanges
from logstore.segment.read_view import ReadView

AGE_MS = 1_000
CONFIG = LogConfig(segment_bytes=4_000, index_interval_bytes=300)


class Clock:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        append(log, 200)
        yield log


def append(log: Log, batches: int) -> None:
    for number in range(batches):
        log.append([b"%d" % number * 20] * 2)


def ranges(log: Log, clock: Clock, age_ms: int | None = AGE_MS) -> SoundRanges:
    return SoundRanges(log._contents, age_ms, clock)


def damage(log: Log, offset: int) -> None:
    """Flip a bit of the batch that holds an offset."""
    view = log.read(offset, 0)
    segment = next(each for each in log.segments if each.base_offset == view.segment_base_offset)
    segment.file.data()  # reads behind appends come from copies until the file is mapped again
    with open(segment.path, "r+b") as file:
        file.seek(view.position + CRC_START + 30)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 4]))


def is_given(sound: SoundRanges, log: Log, offset: int) -> bool:
    """Whether the batch that holds `offset` is given where it is asked for."""
    try:
        return len(sound.checked(log.read(offset, 0))) > 0
    except CorruptBatchError:
        return False


def test_what_was_there_is_checked_and_then_for_a_time_no_more(log: Log, clock: Clock) -> None:
    sound = ranges(log, clock)
    assert is_given(sound, log, 10)
    damage(log, 10)
    clock.now = AGE_MS
    assert is_given(sound, log, 10)
    clock.now += 1
    assert not is_given(sound, log, 10)


def test_where_no_time_counts_it_is_checked_each_time(log: Log, clock: Clock) -> None:
    sound = ranges(log, clock, 0)
    append(log, 1)
    for offset in (10, log.log_end_offset - 1):
        assert is_given(sound, log, offset)
        damage(log, offset)
        assert not is_given(sound, log, offset)


def test_what_nobody_writes_is_checked_once(log: Log, clock: Clock) -> None:
    sound = ranges(log, clock, None)
    assert is_given(sound, log, 10)
    damage(log, 10)
    clock.now = 1_000_000 * AGE_MS
    assert is_given(sound, log, 10)


def test_what_was_appended_counts_as_checked_for_as_long(log: Log, clock: Clock) -> None:
    sound = ranges(log, clock)
    offset = log.log_end_offset
    append(log, 1)
    damage(log, offset)
    clock.now = AGE_MS
    assert is_given(sound, log, offset)
    clock.now += 1
    assert not is_given(sound, log, offset)


def test_what_is_there_before_the_damage_is_given(log: Log, clock: Clock) -> None:
    sound = ranges(log, clock)
    damage(log, 10)
    view = sound.checked(log.read(2, 1 << 20))
    assert [batch.base_offset for batch in read_batches(view.data)] == [2, 4, 6, 8]
    with pytest.raises(CorruptBatchError, match="damaged: the checksum") as caught:
        sound.checked(log.read(10, 1 << 20))
    assert caught.value.file == str(log.segments[0].path)
    assert caught.value.offset == 10


def test_nothing_is_given_that_was_checked_longer_ago_whatever_was_read_meanwhile(
    log: Log, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model: when each batch was looked at, or appended, at the latest."""
    rng = random.Random(1)
    monkeypatch.setattr("logstore.log.reading.sound_ranges.AT_ONCE_BYTES", 1_000)
    SOUND_RUNS.get()
    sound = ranges(log, clock)
    checked_ms: dict[int, int] = {}
    count_sound = SoundBytes.of

    def note(view: ReadView, ahead: int) -> SoundBytes:
        found = count_sound(view, ahead)
        onward = view.surroundings.onward()
        if onward is not None:
            looked = (each for each in read_batches(onward[0]) if each.position < found.size)
            checked_ms.update((each.base_offset, clock.now) for each in looked)
        return found

    monkeypatch.setattr(SoundBytes, "of", note)
    for _ in range(1_500):
        clock.now += rng.randrange(AGE_MS // 10)
        if rng.random() < 0.1:
            first = log.log_end_offset
            append(log, 1)
            checked_ms |= dict.fromkeys((first, first + 1), clock.now)
            continue
        offset = rng.randrange(log.log_end_offset)
        view = log.read(offset, rng.choice([0, 300, 1_000]))
        batches = list(read_batches(view.data))
        is_due = any(clock.now - checked_ms.get(each.base_offset, -AGE_MS - 1) > AGE_MS for each in batches)
        # What is no batch is found out where it is looked at.
        marked = ReadView(offset, memoryview(b"\0" * len(view)), view.segment_base_offset, view.position)
        try:
            sound.checked(marked)
            assert not is_due
        except CorruptBatchError:
            sound.checked(view)


def test_what_follows_is_checked_with_it_and_damage_there_is_told_to_who_reads_it(log: Log, clock: Clock) -> None:
    SOUND_RUNS.get()
    sound = ranges(log, clock)
    damage(log, 14)
    assert is_given(sound, log, 4)
    for offset in (6, 12):
        damage(log, offset)
        assert is_given(sound, log, offset)
    for _ in range(2):
        assert not is_given(sound, log, 14)
    assert is_given(sound, log, 16)


def test_beyond_where_a_read_may_go_nothing_is_checked(log: Log, clock: Clock) -> None:
    SOUND_RUNS.get()
    sound = ranges(log, clock)
    log.update_high_watermark(6)
    sound.checked(log.read(0, 0, isolation=Isolation.HIGH_WATERMARK))
    for offset, is_known in ((4, True), (6, False)):
        damage(log, offset)
        assert is_given(sound, log, offset) is is_known


def test_what_is_remembered_is_bounded(log: Log, clock: Clock) -> None:
    sound = ranges(log, clock)
    append(log, 4 * MOST_RANGES)
    clock.now = 2 * AGE_MS
    for offset in range(0, log.log_end_offset, 4):
        sound.checked(log.read(offset, 0))
    assert sum(map(len, sound._ranges.values())) <= MOST_RANGES
    clock.now += AGE_MS * 10
    for _ in range(100):
        clock.now += AGE_MS // 3
        sound.checked(log.read(log.log_end_offset - 1, 0))
    assert len(sound._ends) < 16
