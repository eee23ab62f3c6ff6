"""Threads that append, truncate, read, hold what they have read, and open the log again: round after round."""

import random
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.errors import LogClosedError, OffsetOutOfRangeError
from logstore.log.isolation import Isolation
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.segment.read_view import ReadView
from tests.campaign import Campaign
from tests.logstore.directories import GAPS, assert_sound

ROUNDS = Campaign("rounds of threads on one log", full=10_000, share=150)
CONFIG = LogConfig(segment_bytes=3_000, index_interval_bytes=200, retention_ms=-1, file_delete_delay_ms=0)
READERS, WRITERS = 2, 2
HELD = 30
"""Views that are held, and looked at again."""
SECONDS = 60
"""What counts as hanging."""


@pytest.fixture(autouse=True)
def _often_interrupted() -> Iterator[None]:
    """Let threads take turns in the midst of everything."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


class Threads:
    """A log, all that was acknowledged and is not truncated, and views with what they showed at first."""

    def __init__(self, directory: Path, rng: random.Random) -> None:
        self.directory = directory
        self.rng = rng
        self.log = Log.open(directory, CONFIG)
        self.records: dict[int, bytes] = {}
        self.held: deque[tuple[ReadView, bytes]] = deque()
        self.looked_at = 0

    def round(self, threads: ThreadPoolExecutor, number: int) -> None:
        """Append and read at once; then take away, close or open while others read; then compare."""
        writers = [threads.submit(self.write, b"%d/%d " % (number, each), 4) for each in range(WRITERS)]
        self.read_beside(threads, writers)
        for writer in writers:
            self.records |= writer.result(SECONDS)
        change = threads.submit(self.rng.choice([self.truncate, self.truncate, self.reopen, self.recover, self.delete]))
        self.read_beside(threads, [change])
        change.result(SECONDS)
        self.compare()

    def read_beside(
        self, threads: ThreadPoolExecutor, others: list["Future[dict[int, bytes]]"] | list["Future[None]"]
    ) -> None:
        """Read while others are at work."""
        readers = [threads.submit(self.read, self.rng.random(), 6) for _ in range(READERS)]
        for future in [*readers, *others]:
            future.result(SECONDS)

    # --- in threads

    def write(self, prefix: bytes, times: int) -> dict[int, bytes]:
        """Append; return what was acknowledged."""
        written = {}
        for number in range(times):
            value = prefix + b"%d" % number + bytes(number * 60)
            written[self.log.append([Record.of(value)]).first_offset] = value
        return written

    def read(self, seed: float, times: int) -> None:
        """Read anywhere and hold some of it; what is held never changes."""
        rng = random.Random(seed)
        for _ in range(times):
            log = self.log
            try:
                offset = rng.randint(log.log_start_offset, max(log.log_end_offset, log.log_start_offset))
                view = log.read(offset, rng.choice([1, 400, 9_000]), isolation=rng.choice(list(Isolation)))
                log.offset_for_timestamp(rng.choice([0, 2**50]))
            except (LogClosedError, OffsetOutOfRangeError):
                continue
            for batch in view.batches():
                batch.ensure_valid()
            self.held.append((view, bytes(view.data)))
            self.looked_at += 1

    def truncate(self) -> None:
        """Take back the log's end."""
        offset = max(self.log.log_start_offset, self.log.log_end_offset - self.rng.randrange(14))
        self.log.truncate_to(offset)
        self.records = {each: value for each, value in self.records.items() if each < offset}

    def delete(self) -> None:
        """Let the log begin later."""
        self.log.update_high_watermark(self.log.log_end_offset)
        start = max(self.log.log_start_offset, self.log.log_end_offset - 30)
        self.log.delete_records(start)
        self.log.delete_old_segments()
        self.records = {each: value for each, value in self.records.items() if each >= start}

    def reopen(self) -> None:
        """Close the log under its readers, and open it again."""
        self.log.close()
        self.log = Log.open(self.directory, CONFIG)

    def recover(self) -> None:
        """Do so as after a crash."""
        self.log = self.log.recover()

    # --- when all is quiet

    def compare(self) -> None:
        """Nothing acknowledged is lost or changed, neither in the log nor in what is held."""
        assert contents(self.log) == self.records
        assert all(view.data == before for view, before in self.held), "what was read has changed"
        while len(self.held) > HELD:
            self.held.popleft()


def contents(log: Log) -> dict[int, bytes]:
    """All records, by offset."""
    found: dict[int, bytes] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        view = log.read(offset, 1 << 20)
        found |= {record.offset: record.value or b"" for record in view.records()}
        offset = view.next_offset
    return found


def test_nothing_is_lost_or_changed_whatever_threads_do_at_once(memory_dir: Path) -> None:
    directory = memory_dir / "threads" / "t-0"
    directory.parent.mkdir()
    threads = Threads(directory, random.Random(ROUNDS.seed))
    with ThreadPoolExecutor(READERS + WRITERS + 1) as pool:
        for number in range(ROUNDS.count):
            threads.round(pool, number)
    assert threads.looked_at > ROUNDS.count
    start = threads.log.log_start_offset
    threads.log.close()
    assert_sound(directory, start, expected=GAPS)
    ROUNDS.report(ROUNDS.count, f"{threads.looked_at:,} views looked at again")
