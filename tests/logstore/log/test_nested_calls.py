"""A signal handler calls a log in the middle of a call that its thread makes: it is refused, or as good as not nested.

Each call is broken into by each other call, at points between two of its bytecodes. What was acknowledged has an
offset of its own and is read back, and a log that was closed stays closed.
"""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import LogClosedError, ReentrantCallError, UnexpectedAppendOffsetError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.interruption import Interrupter
from tests.logstore.directories import assert_sound

CONFIG = LogConfig(segment_bytes=300, file_delete_delay_ms=0)
STEP = 31
"""Of the points, each so many-th is looked at; which ones, the pair of calls decides. Without it, minutes."""

Acknowledged = dict[int, bytes]
Call = Callable[[Log, Acknowledged], None]


def append(value: bytes) -> Call:
    def call(log: Log, acknowledged: Acknowledged) -> None:
        offset = log.append([Record.of(value)], leader_epoch=1).last_offset
        assert offset not in acknowledged
        acknowledged[offset] = value

    return call


def append_with_producer(log: Log, acknowledged: Acknowledged) -> None:
    template = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=0)
    info = log.append([Record.of(b"producer")], leader_epoch=1, template=template)
    # Either call may have written it: it is in the log some bytecodes before its call returns.
    assert acknowledged.get(info.last_offset, b"producer") == b"producer"
    acknowledged[info.last_offset] = b"producer"
    assert list(acknowledged.values()).count(b"producer") == 1


def follow(log: Log, acknowledged: Acknowledged) -> None:
    base_offset = log.log_end_offset
    fetched = encode_batch([Record.of(b"fetched")], BatchTemplate(base_offset=base_offset, leader_epoch=1))
    try:
        log.append_batches(fetched)
    except UnexpectedAppendOffsetError:  # another append was first
        assert base_offset in acknowledged
        return
    assert base_offset not in acknowledged
    acknowledged[base_offset] = b"fetched"


def truncate(log: Log, acknowledged: Acknowledged) -> None:
    cut = {offset: acknowledged.pop(offset) for offset in list(acknowledged) if offset >= 1}
    try:
        log.truncate_to(1)
    except LogClosedError:
        acknowledged |= cut
        raise
    # What was appended just before is gone too, and what just after is not.
    for offset in [each for each in acknowledged if each > max(cut)]:
        del acknowledged[offset]


CHANGES: dict[str, Call] = {
    "append": append(b"outer"),
    "append with a producer": append_with_producer,
    "append_batches": follow,
    "truncate_to": truncate,
    "roll": lambda log, _: log.roll(),
    "flush": lambda log, _: log.flush() and None,
    "delete_records": lambda log, _: log.delete_records(1) and None,
    "expire_producers": lambda log, _: log.expire_producers(),
    "close": lambda log, _: log.close(),
    "abandon": lambda log, _: log.abandon(),
}
NESTED = ["append", "append with a producer", "append_batches", "expire_producers", "close", "abandon"]


@pytest.fixture
def directories(memory_dir: Path) -> Iterator[Path]:
    return (memory_dir / f"t-{number}" for number in count())


def begin(directory: Path) -> tuple[Log, Acknowledged]:
    log, acknowledged = Log.open(directory, CONFIG), dict[int, bytes]()
    for number in range(3):
        append(b"value %d" % number)(log, acknowledged)
    log.update_high_watermark(2)
    return log, acknowledged


def values(log: Log) -> Acknowledged:
    found: Acknowledged = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        view = log.read(offset, 1 << 20)
        found |= {record.offset: record.value or b"" for record in view.records()}
        offset = view.next_offset
    return found


@pytest.mark.parametrize("nested", NESTED)
@pytest.mark.parametrize("outer", list(CHANGES))
def test_a_call_in_the_middle_of_another_is_refused(directories: Iterator[Path], outer: str, nested: str) -> None:
    refused = 0
    for at in range((NESTED.index(nested) + list(CHANGES).index(outer)) % STEP, 100_000, STEP):
        directory = next(directories)
        log, acknowledged = begin(directory)
        interrupter, answers = Interrupter(), list[Exception | None]()

        def handle(
            log: Log = log, acknowledged: Acknowledged = acknowledged, answers: list[Exception | None] = answers
        ) -> None:
            try:
                CHANGES[nested](log, acknowledged)
                answers.append(None)
            except (ReentrantCallError, LogClosedError) as error:
                answers.append(error)

        with interrupter.between_bytecodes(at, handle):
            try:
                CHANGES[outer](log, acknowledged)
            except LogClosedError:
                assert answers == [None]
                assert nested in {"close", "abandon"}
        if not interrupter.place:
            assert refused, "no call was refused"
            return
        refused += isinstance(answers[0], ReentrantCallError)
        is_closed = outer in {"close", "abandon"} or (nested in {"close", "abandon"} and answers == [None])
        check(log, acknowledged, interrupter.place, is_closed=is_closed)


def check(log: Log, acknowledged: Acknowledged, place: str, *, is_closed: bool) -> None:
    if is_closed:
        with pytest.raises(LogClosedError):
            log.append([Record.of(b"more")])
    else:
        assert log.failure is None, place
        log.close()
    with Log.open(log.directory, CONFIG) as again:
        kept = {offset: value for offset, value in acknowledged.items() if offset >= again.log_start_offset}
        assert values(again) == kept, place
    assert_sound(again.directory, again.log_start_offset)
