"""Two threads call a log at once: all is as if one had called after the other, wherever the second one came."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.appender import Appender
from logstore.log.flusher import Flusher
from logstore.log.log import Log
from logstore.log.state.log_contents import LogContents
from logstore.log.timestamp_search import EARLIEST
from logstore.log_config import LogConfig
from tests.interleaving import BeforeLine

NOW = 10_000
CONFIG = LogConfig(segment_bytes=200, retention_ms=5_000, file_delete_delay_ms=0, segment_ms=1 << 40)
START, END = 2, 8
FETCHED = bytes(encode_batch([Record.of(b"fetched", timestamp=1)], BatchTemplate(base_offset=END, leader_epoch=4)))

Call = Callable[[Log], object]
CHANGES: dict[str, Call] = {
    "delete_records": lambda log: log.delete_records(7),
    "delete_old_segments": lambda log: log.delete_old_segments(),
    "truncate_to": lambda log: log.truncate_to(5),
    "truncate_to before the first segment": lambda log: log.truncate_to(0),
    "truncate_fully_and_start_at": lambda log: log.truncate_fully_and_start_at(3),
    "close": lambda log: log.close(),
}
CALLS: dict[str, Call] = CHANGES | {
    "append": lambda log: log.append([Record.of(b"more", timestamp=NOW)]),
    "append_batches": lambda log: log.append_batches(FETCHED),
    "assign_epoch": lambda log: log.assign_epoch(5, 6),
    "flush": lambda log: log.flush(),
    "roll": lambda log: log.roll(),
    "truncate_to the end": lambda log: log.truncate_to(END),
    "update_high_watermark": lambda log: log.update_high_watermark(6),
}
TAKES_THE_LOCK = {"append": Appender.append, "append_batches": Appender.append_batches, "flush": Flusher._sync}
"""What does so by itself, and not by what `Log` has its guard do."""
PAIRS = [(call, other) for call in CALLS for other in CHANGES if call != other]


@pytest.fixture
def directories(memory_dir: Path) -> Iterator[Path]:
    return (memory_dir / f"t-{number}" for number in count())


def open_log(directory: Path) -> Log:
    log = Log.open(directory, CONFIG, clock=lambda: NOW)
    log.truncate_fully_and_start_at(START)
    for offset in range(START, END):
        log.append([Record.of(b"value", timestamp=1)], leader_epoch=offset // 3)
    log.update_high_watermark(7)
    return log


def outcome(log: Log, call: Call) -> object:
    try:
        return call(log)
    except Exception as error:  # noqa: BLE001  compared
        return type(error)


def state(log: Log) -> tuple[object, ...]:
    """Where the log stands, which it can do."""
    assert log.failure is None
    assert log.log_start_offset <= log.high_watermark <= log.log_end_offset
    assert log.recovery_point <= log.log_end_offset
    segments = [(each.base_offset, each.size) for each in log.segments]
    log.abandon()
    return log.log_start_offset, log.high_watermark, log.log_end_offset, log.epochs.entries, segments


def if_free(log: Log, call: Callable[[], object]) -> None:
    """Call, unless another thread holds the log's lock: that one is in the middle of a change, and is waited for."""
    if log._guard.lock.acquire(blocking=False):
        log._guard.lock.release()
        call()


@pytest.mark.parametrize(("call", "other"), PAIRS)
def test_a_call_does_what_it_does_before_or_after_another(directories: Iterator[Path], call: str, other: str) -> None:
    mine, others = CALLS[call], CALLS[other]
    orders = []
    for first, second in ((mine, others), (others, mine)):
        log = open_log(next(directories))
        answers = {first: outcome(log, first), second: outcome(log, second)}
        orders.append((answers[mine], answers[others], state(log)))
    name = call.split(maxsplit=1)[0]
    method = TAKES_THE_LOCK.get(name, getattr(Log, name)).__code__
    for number in count():
        log, done = open_log(next(directories)), []  # type: tuple[Log, list[object]]

        def make(log: Log = log, done: list[object] = done) -> None:
            if_free(log, lambda: done.append(outcome(log, others)))

        with BeforeLine(method, number, make) as line:
            answer = outcome(log, mine)
        if not done:
            done.append(outcome(log, others))
        assert (answer, done[0], state(log)) in orders, number
        if not line.is_reached:
            assert number
            return


def test_the_start_is_told_with_the_epoch_that_wrote_there(directories: Iterator[Path]) -> None:
    expected = {(START, 0), (7, 2)}
    for number in count():
        seen: list[object] = []
        log = open_log(next(directories))

        def look(log: Log = log, seen: list[object] = seen) -> None:
            start = log.offset_for_timestamp(EARLIEST)
            assert start is not None
            seen.append((start.offset, start.leader_epoch))

        with BeforeLine(LogContents.move_start.__code__, number, look) as line:
            log.delete_records(7)
        look()
        log.close()
        assert expected.issuperset(seen)
        if not line.is_reached:
            assert number
            return
