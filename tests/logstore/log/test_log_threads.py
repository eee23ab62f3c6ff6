"""Threads that append, truncate, read, hold what they have read, and open the log again: round after round."""

import random
import sys
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import LogClosedError, OffsetOutOfRangeError, OutOfOrderSequenceError
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig
from logstore.segment import segment_file
from logstore.segment.read_view import ReadView
from tests.campaign import Campaign
from tests.logstore.directories import GAPS, assert_sound
from tests.logstore.late_syncs import late_syncs
from tests.logstore.log.ledger import Ledger, Written

ROUNDS = Campaign("rounds of threads on one log", full=10_000, share=150)
CONFIG = LogConfig(segment_bytes=3_000, index_interval_bytes=200, retention_ms=-1, file_delete_delay_ms=0)
READERS, WRITERS = 2, 2
PRODUCERS = (7, 8)
"""Transactional ones: each has a thread of its own."""
HELD = 30
"""Views that are held, and looked at again."""
SECONDS = 60
"""What counts as hanging."""
TIME = 500
TIMES = range(1_000)


@pytest.fixture(autouse=True)
def _often_interrupted() -> Iterator[None]:
    """Let threads take turns in the midst of everything."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


class Threads:
    """A log, the ledger of what was done to it, and views with what they showed at first."""

    def __init__(self, directory: Path, rng: random.Random, threads: ThreadPoolExecutor) -> None:
        self.directory = directory
        self.rng = rng
        self.threads = threads
        self.ledger = Ledger()
        self.log = self.open()
        self.held: deque[tuple[ReadView, bytes]] = deque()
        self.looked_at = self.number = 0

    def open(self) -> Log:
        """Open the log."""
        return Log.open(self.directory, CONFIG, observer=self.ledger, clock=lambda: TIME)

    def round(self, number: int) -> None:
        """Append and read at once; then change the log by one call, or by two at once, while others read; compare."""
        self.number = number
        self.together(self.write, self.write, self.transact_first)
        if self.rng.random() < 0.3:
            self.together(self.rng.choice([self.reopen, self.recover]))
            # Once more, with nobody else: the first reads of the new log are beside its first append then.
            self.reopen(self.rng)
            self.together(self.rng.choice([self.write, self.transact_second]))
        else:
            changes = [self.truncate, self.delete, self.roll, self.write, self.transact_second]
            self.together(*self.rng.sample(changes, 2))
        self.compare()

    def together(self, *changes: Callable[[random.Random], None]) -> None:
        """Call all at once, each in its thread, while others read."""
        doing: list[Future[None]] = [
            self.threads.submit(each, random.Random(self.rng.random())) for each in (*changes, *[self.read] * READERS)
        ]
        for future in doing:
            future.result(SECONDS)

    # --- in threads

    def write(self, rng: random.Random) -> None:
        """Append."""
        for _ in range(4):
            self.append(b"plain", rng)

    def append(self, fate: bytes, rng: random.Random, template: BatchTemplate | None = None) -> None:
        """Append a record that says what becomes of it."""
        value = b"%s %d " % (fate, self.number) + rng.randbytes(4) + bytes(rng.randrange(180))
        written = Written(value, rng.choice(TIMES), template.producer_id if template else None)
        self.ledger.expect(written)
        self.log.append([Record.of(value, timestamp=written.timestamp)], template=template)

    def transact_first(self, rng: random.Random) -> None:
        """Write a transaction."""
        self.transact(PRODUCERS[0], rng, commit=rng.random() < 0.3)

    def transact_second(self, rng: random.Random) -> None:
        """Abort one as another producer, perhaps beside a truncation: what is left of it would be committed else."""
        self.transact(PRODUCERS[1], rng, commit=False)

    def transact(self, producer: int, rng: random.Random, *, commit: bool) -> None:
        """Write a transaction as a new instance of a producer, once that of the last one is aborted if it is open."""
        epoch = self.number
        self.end_transaction(producer, epoch, commit=False)
        try:
            for sequence in range(rng.randrange(1, 4)):
                template = BatchTemplate(
                    producer_id=producer, producer_epoch=epoch, base_sequence=sequence, is_transactional=True
                )
                self.append(b"commit" if commit else b"abort", rng, template)
        except OutOfOrderSequenceError:
            return  # what came before was truncated meanwhile: the next instance will abort what is left
        if rng.random() < 0.8:
            self.end_transaction(producer, epoch, commit=commit)

    def end_transaction(self, producer: int, epoch: int, *, commit: bool) -> None:
        """Write the marker."""
        self.ledger.expect(Written(None, TIME, producer, is_commit=commit))
        self.log.append_end_transaction(producer, epoch, commit=commit)

    def read(self, rng: random.Random) -> None:
        """Read anywhere and hold some of it; what is held never changes."""
        for _ in range(rng.choice([1, 6])):
            log = self.log
            try:
                if rng.random() < 0.5:  # which waits for the writer, and reading does not
                    log.update_high_watermark(log.log_end_offset)
                offset = rng.randint(log.log_start_offset, max(log.log_end_offset, log.log_start_offset))
                isolation = rng.choice(list(Isolation))
                view = log.read(offset, rng.choice([1, 400, 9_000]), isolation=isolation)
                log.offset_for_timestamp(rng.choice([-3, *TIMES]))
            except (LogClosedError, OffsetOutOfRangeError):
                continue
            for batch in view.batches():
                batch.ensure_valid()
            if isolation is Isolation.READ_COMMITTED:
                shown = [record.value for record in view.records()]
                assert not [value for value in shown if value and value.startswith(b"abort")], "read before its abort"
            self.held.append((view, bytes(view.data)))
            self.looked_at += 1

    def truncate(self, rng: random.Random) -> None:
        """Take back the log's end."""
        self.log.truncate_to(max(self.log.log_start_offset, self.log.log_end_offset - rng.randrange(14)))

    def delete(self, rng: random.Random) -> None:
        """Let the log begin later."""
        start = max(self.log.log_start_offset, self.log.log_end_offset - rng.choice([10, 30, 50]))
        self.log.update_high_watermark(self.log.log_end_offset)
        self.ledger.latest_start = max(self.ledger.latest_start, start)
        try:
            self.log.delete_records(start)
        except OffsetOutOfRangeError:
            return  # truncated meanwhile
        self.log.delete_old_segments()

    def roll(self, _: random.Random) -> None:
        """Begin a segment."""
        self.log.roll()

    def reopen(self, _: random.Random) -> None:
        """Close the log under its readers, and open it again."""
        self.log.close()
        self.log = self.open()

    def recover(self, _: random.Random) -> None:
        """Do so as after a crash."""
        self.log = self.log.recover()

    # --- when all is quiet

    def compare(self) -> None:
        """Nothing acknowledged is lost or changed, neither in the log nor in what is held; all is found by time."""
        log, ledger = self.log, self.ledger
        assert log.recovery_point <= log.log_end_offset
        assert log.log_start_offset <= min(ledger.latest_start, log.log_end_offset)
        ledger.start_at(log.log_start_offset)
        assert contents(log, Isolation.LOG_END) == ledger.records
        log.update_high_watermark(log.log_end_offset)
        assert log.last_stable_offset in ledger.last_stable_offsets(log.log_end_offset)
        assert contents(log, Isolation.READ_COMMITTED) == ledger.committed_before(log.last_stable_offset)
        for timestamp in self.rng.sample(TIMES, 3):
            found = log.offset_for_timestamp(timestamp)
            assert (found and found.offset) == ledger.first_offset_from(timestamp)
        assert all(view.data == before for view, before in self.held), "what was read has changed"
        while len(self.held) > HELD:
            self.held.popleft()


def contents(log: Log, isolation: Isolation) -> dict[int, bytes]:
    """All records, by offset."""
    found: dict[int, bytes] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        view = log.read(offset, 1 << 20, isolation=isolation)
        if not view:
            break
        found |= {record.offset: record.value or b"" for record in view.records()}
        offset = view.next_offset
    return found


def test_nothing_is_lost_or_changed_whatever_threads_do_at_once(
    memory_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = memory_dir / "threads" / "t-0"
    directory.parent.mkdir()
    with ThreadPoolExecutor(READERS + WRITERS + 1) as pool:
        threads = Threads(directory, random.Random(ROUNDS.seed), pool)
        for number in range(ROUNDS.count):
            # Segments are so small that reads would not come to map them.
            monkeypatch.setattr(segment_file, "MOST_COPIED", threads.rng.choice([0, 2_000, 20_000, 1 << 20]))
            with late_syncs(are_late=threads.rng.random() < 0.5, have_threads=True):
                threads.round(number)
    assert threads.looked_at > ROUNDS.count
    start = threads.log.log_start_offset
    threads.log.close()
    assert_sound(directory, start, expected=GAPS)
    ROUNDS.report(ROUNDS.count, f"{threads.looked_at:,} views looked at again")
