"""The last stable offset passes no transaction that is open, whatever the writer does while a reader asks for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from tests.interruption import Bystander, Interrupter

PRODUCER = 7
SECONDS = 60
"""What counts as hanging."""
FILES = ("log_contents.py", "transactions.py")


def write(log: Log, sequence: int) -> None:
    template = BatchTemplate(producer_id=PRODUCER, producer_epoch=0, base_sequence=sequence, is_transactional=True)
    log.append([Record.of(b"of a transaction")], template=template)
    log.update_high_watermark(log.log_end_offset)


def end(log: Log) -> None:
    log.append_end_transaction(PRODUCER, 0, commit=False)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log.open(tmp_path / "t-0")


def test_it_passes_no_transaction_that_begins_while_somebody_asks(log: Log) -> None:
    log.append([Record.of(b"plain")])
    log.update_high_watermark(1)
    interrupter = Interrupter(lambda file: file.endswith(FILES))
    with Bystander() as bystander:
        assert asked_beside(bystander, interrupter, log, lambda: write(log, 0), 0) <= 1
        for point in range(1, interrupter.passed):
            log.truncate_to(1)
            assert asked_beside(bystander, interrupter, log, lambda: write(log, 0), point) <= 1, interrupter.place


def test_it_passes_no_transaction_that_somebody_asks_about_while_it_ends(log: Log) -> None:
    interrupter = Interrupter(lambda file: file.endswith(FILES))
    write(log, 0)
    seen: list[object] = []
    point = 0
    with Bystander() as bystander:

        def ask() -> None:
            seen.append(bystander.ask(lambda: log.last_stable_offset, SECONDS))

        while point == 0 or interrupter.place:
            with interrupter.between_bytecodes(point, ask):
                end(log)
            log.truncate_to(1)
            log.update_high_watermark(1)
            point += 1
    assert point > 10
    assert set(seen) == {0}


def asked_beside(bystander: Bystander, interrupter: Interrupter, log: Log, do: Callable[[], object], point: int) -> int:
    """The offset as it is told where something happens at a point of the question."""
    with interrupter.between_bytecodes(point, lambda: bystander.ask(do, SECONDS)):
        return log.last_stable_offset
