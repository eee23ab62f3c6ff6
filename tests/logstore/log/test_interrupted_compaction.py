"""Whatever is raised between any two steps of a compaction: each key has its latest value, and the log goes on."""

import random
import shutil
import signal
from functools import partial
from pathlib import Path
from typing import NoReturn

import pytest

from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.campaign import Campaign
from tests.interruption import RAISED, InterruptedDisk, Interrupter, is_of_interest
from tests.logstore.directories import assert_sound

INTERRUPTIONS = Campaign("interrupted compactions", full=4_000, share=120)
SECONDS = 120
CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=700, file_delete_delay_ms=0)
DECIDING = (
    "batch_cleaner.py",
    "cleaned_batch.py",
    "dirty_section.py",
    "offset_map.py",
    "record_section.py",
    "seen_transactions.py",
    "segment_groups.py",
)
"""What only computes: whatever is raised there, its caller sees the same of it."""
COMPACTED = {"offset-gap", "missing-segment"}

pytestmark = pytest.mark.usefixtures("alarmed")


def fill(log: Log) -> None:
    """Write segments, of which some become one."""
    for number in range(24):
        value = None if number % 5 == 4 else b"value %d" % number * (1 + number % 3)
        log.append([Record.of(value, b"key %d" % (number % 6)), Record.of(b"once", b"key of %d" % number)])
    log.roll()
    log.update_high_watermark(log.log_end_offset)


def values(log: Log) -> dict[bytes | None, bytes | None]:
    found: dict[bytes | None, bytes | None] = {}
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        view = log.read(offset, 1 << 20)
        found |= {record.key: record.value for record in view.records()}
        if view.next_offset == offset:
            break
        offset = view.next_offset
    return found


def counts(name: str) -> bool:
    return is_of_interest(name) and not name.endswith(DECIDING)


def fail(error: BaseException) -> NoReturn:
    raise error


def test_a_compaction_that_is_broken_off_loses_nothing(memory_dir: Path) -> None:
    rng, points, poisoned = random.Random(INTERRUPTIONS.seed), {True: 0, False: 0}, 0
    origin = memory_dir / "to-compact/t-0"
    origin.parent.mkdir()
    with Log.open(origin, CONFIG) as log:
        fill(log)
        expected = values(log)
    for number in range(INTERRUPTIONS.count):
        signal.alarm(SECONDS)
        directory = memory_dir / f"interrupted-{number}/t-0"
        shutil.copytree(origin, directory)
        interrupter = Interrupter(counts)
        disk = InterruptedDisk(interrupter)
        log = Log.open(directory, CONFIG, filesystem=disk)
        beside, kind = rng.random() < 0.5, rng.choice(list(RAISED))
        within = interrupter.beside_steps if beside else interrupter.between_bytecodes
        error, caught = RAISED[kind](), None
        with within(rng.randrange(points[beside] + 1), partial(fail, error)):
            try:
                log.compact()
            except BaseException as caught_error:  # noqa: BLE001  whatever became of it
                caught = caught_error
        points[beside] = max(points[beside], interrupter.passed)
        try:
            assert caught is None or interrupter.place
            if log.failure is not None:
                poisoned += 1
                log = log.recover()
            assert values(log) == expected
            log.compact()
            assert values(log) == expected
            log.append([Record.of(b"new", b"key 0")])
            log.close()
            assert not [*directory.glob("*.cleaned"), *directory.glob("*.swap")]
            assert_sound(directory, expected=COMPACTED)
        except BaseException as error:
            error.add_note(f"{kind} {interrupter.place}, {caught!r}")
            raise
        shutil.rmtree(directory.parent)
    assert poisoned
    INTERRUPTIONS.report(INTERRUPTIONS.count, f"poisoned by {poisoned:,}")
