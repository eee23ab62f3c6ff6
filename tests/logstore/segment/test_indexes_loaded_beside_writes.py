"""Indexes are read from their files on first use: a reader's first look loses nothing of what is written meanwhile."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log.reading.isolation import Isolation
from logstore.log_config import LogConfig
from logstore.segment.live_segment import LiveSegment
from tests.interruption import Bystander, Interrupter

PRODUCER, TIME = 7, 1_003
WITH_ALL_ENTRIES = LogConfig(index_interval_bytes=0, retention_ms=-1)
SECONDS = 60
"""What counts as hanging."""


@pytest.fixture
def closed(memory_dir: Path, request: pytest.FixtureRequest) -> Path:
    """A log of three plain batches and an aborted transaction, and one that is open."""
    directory = memory_dir / request.node.name / "closed" / "t-0"
    directory.parent.mkdir(parents=True)
    with Log.open(directory, WITH_ALL_ENTRIES, clock=lambda: TIME) as log:
        for timestamp in (1_000, 1_001, 1_002):
            log.append([Record.of(b"first", timestamp=timestamp)])
        begin_transaction(log, 0)
        abort(log)
        begin_transaction(log, 1)
    return directory


def begin_transaction(log: Log, sequence: int) -> None:
    template = BatchTemplate(producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence, is_transactional=True)
    log.append([Record.of(b"aborted", timestamp=TIME)], template=template)


def abort(log: Log) -> None:
    log.append_end_transaction(PRODUCER, 0, commit=False)


def append(log: Log) -> None:
    for timestamp in (2_000, 2_001):
        log.append([Record.of(b"new", timestamp=timestamp)])


def after_each_meeting(
    closed: Path, config: LogConfig, look: Callable[[Log], object], write: Callable[[Log], object]
) -> Iterator[Log]:
    """Give the log after its first `look`, with a `write` of another thread before each bytecode of the segment."""
    interrupter = Interrupter(
        lambda file: file.endswith(("live_segment.py", "segment_indexes.py", "segment_reader.py"))
    )
    meetings = 0
    with Bystander() as bystander:
        while meetings == 0 or interrupter.place:
            directory = closed.parent.parent / str(meetings) / closed.name
            shutil.copytree(closed, directory)
            log = Log.open(directory, config, clock=lambda: TIME)
            log.update_high_watermark(log.log_end_offset)
            with interrupter.between_bytecodes(meetings, lambda log=log: bystander.ask(lambda: write(log), SECONDS)):
                look(log)
            if interrupter.place:
                yield log
            log.abandon()
            meetings += 1
    assert meetings > 10


def search_by_time(log: Log) -> object:
    return log.offset_for_timestamp(1_001)


def read_committed(log: Log) -> object:
    return log.read(0, 1 << 20, isolation=Isolation.READ_COMMITTED)


def batches(segment: LiveSegment) -> int:
    return sum(1 for _ in segment.batches())


def test_entries_of_the_offset_index_survive_a_first_read(closed: Path) -> None:
    for log in after_each_meeting(closed, WITH_ALL_ENTRIES, lambda log: log.read(0, 100), append):
        (segment,) = log.segments
        expected = [(batch.last_offset, batch.position) for batch in segment.batches() if batch.position]
        # The first batch after a start is not indexed, as the bytes since the last entry are counted from there.
        assert segment.offset_index.entries == [each for each in expected if each[0] != log.log_end_offset - 2]


def test_entries_of_the_time_index_survive_a_first_search_by_time(closed: Path) -> None:
    for log in after_each_meeting(closed, WITH_ALL_ENTRIES, search_by_time, append):
        (segment,) = log.segments
        assert segment.time_index.last == (2_001, log.log_end_offset - 1)


def test_the_largest_timestamp_survives_a_first_search_by_time(closed: Path) -> None:
    for log in after_each_meeting(closed, LogConfig(retention_ms=-1), search_by_time, append):
        end = log.log_end_offset
        assert log.segments[0].largest == (2_001, end - 1)
        found = log.offset_for_timestamp(2_000)
        assert found is not None
        assert found.offset == end - 2
        log.close()
        with Log.open(log.directory) as opened:
            assert opened.offset_for_timestamp(2_000) == found


def test_an_aborted_transaction_survives_a_first_read_of_committed_records(closed: Path) -> None:
    for log in after_each_meeting(closed, LogConfig(retention_ms=-1), read_committed, abort):
        log.update_high_watermark(log.log_end_offset)
        view = log.read(0, 1 << 20, isolation=Isolation.READ_COMMITTED)
        assert [each.first_offset for each in view.aborted_transactions] == [3, 5]
        assert [record.value for record in view.records()] == [b"first"] * 3


def test_a_segment_s_end_by_time_is_one_that_was_written(closed: Path) -> None:
    largest: list[tuple[int, int]] = []
    look: Callable[[Log], object] = lambda log: largest.append(log.segments[0].largest)  # noqa: E731
    for log in after_each_meeting(closed, WITH_ALL_ENTRIES, look, append):
        end = log.log_end_offset
        assert largest.pop() in {(TIME, 3), (2_001, end - 1)}
