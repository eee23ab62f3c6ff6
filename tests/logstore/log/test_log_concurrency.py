"""One writer that appends, truncates and deletes, and readers that never see a torn batch."""

import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import OffsetOutOfRangeError
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig
from logstore.segment import segment_file
from logstore.segment.open_files import OpenFiles
from logstore.segment.read_view import ReadView
from tests.logstore.directories import GAPS, assert_sound

SECONDS = 2.0
ISOLATIONS = [Isolation.LOG_END] * 6 + [Isolation.HIGH_WATERMARK, Isolation.READ_COMMITTED]


@pytest.fixture(autouse=True)
def _often_interrupted() -> Iterator[None]:
    """Let threads take turns in the midst of everything, not only every five milliseconds."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def batch(base_offset: int, rng: random.Random) -> bytes:
    """A batch whose records say which offsets they were written at."""
    offsets = range(base_offset, base_offset + rng.randrange(1, 6))
    records = [Record(0, offset, None, b"%d " % offset * rng.randrange(1, 40)) for offset in offsets]
    return bytes(encode_batch(records, BatchTemplate(base_offset=base_offset, leader_epoch=0)))


def check(view: ReadView) -> int:
    """Every batch is whole and says what was written at its offsets; return how many there are."""
    batches = list(view.batches())
    assert sum(each.size for each in batches) == len(view.data)
    for each in batches:
        each.ensure_valid()
        for record in each.records():
            assert record.value is not None
            assert record.value.split()[0] == b"%d" % record.offset
    return len(batches)


class Reader(Thread):
    """Reads at random offsets, and looks at some answers again much later."""

    def __init__(self, log: Log, done: Event, seed: int) -> None:
        super().__init__()
        self.log, self.done, self.rng = log, done, random.Random(seed)
        self.checked = 0
        self.error: BaseException | None = None

    def run(self) -> None:
        kept: list[ReadView] = []
        try:
            while not self.done.is_set():
                self.step(kept)
        except BaseException as error:  # noqa: BLE001  told by the test
            self.error = error

    def step(self, kept: list[ReadView]) -> None:
        log = self.log
        start, end = log.log_start_offset, log.log_end_offset
        try:
            offset, isolation = self.rng.randrange(min(start, end), end + 1), self.rng.choice(ISOLATIONS)
            view = log.read(offset, self.rng.choice([1, 500, 50_000]), isolation=isolation)
        except OffsetOutOfRangeError:
            return
        self.checked += check(view)
        log.offset_for_timestamp(self.rng.randrange(end + 1))
        kept.append(view)
        if len(kept) > 20:
            self.checked += check(kept.pop(0))


def test_readers_see_whole_batches_whatever_the_writer_does(tmp_path: Path) -> None:
    rng = random.Random(7)
    config = LogConfig(segment_bytes=6_000, index_interval_bytes=300, file_delete_delay_ms=0, retention_ms=-1)
    log = Log.open(tmp_path / "t-0", config, open_files=OpenFiles(4))
    done = Event()
    readers = [Reader(log, done, seed) for seed in range(3)]
    for reader in readers:
        reader.start()
    until = time.monotonic() + SECONDS
    try:
        while time.monotonic() < until:
            write(log, rng)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert [reader.error for reader in readers] == [None] * len(readers)
    assert all(reader.checked for reader in readers)
    log.close()
    assert_sound(tmp_path / "t-0", log.log_start_offset, expected=GAPS)


def write(log: Log, rng: random.Random) -> None:
    for _ in range(rng.randrange(1, 12)):
        log.append_batches(batch(log.log_end_offset, rng))
    log.update_high_watermark(log.log_end_offset)
    match rng.randrange(6):
        case 0 | 1:
            log.truncate_to(max(log.log_end_offset - rng.randrange(60), log.log_start_offset))
        case 2:
            log.delete_records(rng.randrange(log.log_start_offset, log.high_watermark + 1))
            log.delete_old_segments()
        case 3:
            log.roll()
        case 4 if rng.random() < 0.1:
            log.truncate_fully_and_start_at(log.log_end_offset + 5)


def test_a_view_outlives_truncation_deletion_and_close(tmp_path: Path) -> None:
    rng = random.Random(1)
    log = Log.open(tmp_path / "t-0", LogConfig(segment_bytes=2_000, file_delete_delay_ms=0))
    for _ in range(60):
        log.append_batches(batch(log.log_end_offset, rng))
    views = [log.read(segment.base_offset, 1 << 20) for segment in log.segments]
    before = [bytes(view.data) for view in views]
    log.truncate_to(log.log_end_offset - 10)
    log.append_batches(batch(log.log_end_offset, rng))
    log.truncate_fully_and_start_at(500)
    log.append_batches(batch(500, rng))
    log.close()
    assert [bytes(view.data) for view in views] == before


def test_a_segment_is_cut_in_place_unless_somebody_holds_its_bytes(tmp_path: Path) -> None:
    rng = random.Random(1)
    log = Log.open(tmp_path / "t-0")
    for _ in range(20):
        log.append_batches(batch(log.log_end_offset, rng))
    path = log.segments[0].path
    inode = path.stat().st_ino
    log.read(0, 100)
    log.truncate_to(log.log_end_offset - 1)
    assert path.stat().st_ino == inode
    view = log.read(0, 100)
    log.truncate_to(log.log_end_offset - 10)
    assert path.stat().st_ino != inode
    assert check(view)
    log.close()
    assert_sound(tmp_path / "t-0", expected=GAPS)


@pytest.mark.parametrize("most_copied", [0, 1 << 60], ids=["mapped", "copied"])
def test_a_view_says_nothing_of_what_was_written_after_a_truncation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_copied: int
) -> None:
    """A view is held against the batches around it as they were, although the file has others there by now."""
    monkeypatch.setattr(segment_file, "MOST_COPIED", most_copied)
    for seed in range(100):
        rng = random.Random(seed)
        log = Log.open(tmp_path / f"t-{seed}", LogConfig(index_interval_bytes=100))
        for _ in range(30):
            log.append_batches(batch(log.log_end_offset, rng))
        offset = rng.randrange(5, log.log_end_offset)
        view = log.read(offset, rng.choice([1, 300, 5_000]))
        log.truncate_to(rng.randrange(offset))
        for _ in range(30):
            log.append_batches(batch(log.log_end_offset, rng))
        assert check(view)
        assert next(view.records()).offset == offset
        log.abandon()
