"""Whichever step fails, and however: the caller is told, nothing acknowledged is lost, and the log can go on.

A life of a log is lived on a disk whose n-th step fails once, for every n. After a full disk the caller does again what
failed; a poisoned log is recovered first.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree

import pytest

from logstore.batch.record import Record
from logstore.errors import LogPoisonedError
from logstore.files.only_copy.space_reserve import RESERVE_NAME
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.campaign import Campaign
from tests.disk import FailingDisk, Failure
from tests.logstore.directories import assert_sound
from tests.logstore.late_syncs import late_syncs
from tests.logstore.log.test_log_crash_states import check_log, check_transactions, whole_batches
from tests.logstore.log_workloads import NOW, PARTITION, LogUse

FAILURES = Campaign("log on a failing disk", full=1_500, share=250)
CONFIG = LogConfig(
    segment_bytes=1_500,
    index_interval_bytes=200,
    segment_index_bytes=4_096,
    retention_ms=-1,
    flush_messages=9,
    file_delete_delay_ms=0,
)

LIFE: tuple[Callable[[LogUse], object], ...] = (
    lambda use: use.lead(2, 100),
    lambda use: use.follow((2, 100, 0), (1, 300, 1)),
    lambda use: use.produce(1, epoch=1),
    lambda use: use.produce(2, epoch=1),
    lambda use: use.end_transaction(1, commit=False, epoch=1),
    lambda use: use.lead(3, 200, epoch=2),
    lambda use: use.flush(),
    lambda use: use.end_transaction(2, commit=False, epoch=2),
    lambda use: check_transactions(use.log, whole_batches(use.log)),
    lambda use: use.lead(2, 400, epoch=2),
    lambda use: use.log.roll(),
    lambda use: use.follow((2, 200, 3), (1, 300, 4)),
    lambda use: use.follow((2, 200, 4), (1, 300, 5)),
    lambda use: use.truncate_to(use.ends[-2]),
    lambda use: use.lead(2, 100, epoch=6),
    lambda use: use.truncate_to(use.ends[-4]),
    lambda use: use.follow((3, 200, 7), (3, 130, 7)),
    lambda use: use.delete_records(6),
    lambda use: use.delete_records(use.log.log_end_offset),
    lambda use: use.delete_old_segments(),
    lambda use: use.lead(2, 100, epoch=8),
    lambda use: use.truncate_fully(100),
    lambda use: use.lead(2, 100, epoch=9),
    lambda use: use.flush(),
    lambda use: use.lead(2, 100, epoch=9),
)


@dataclass
class Survivor:
    """A log on a disk that fails once, and a caller who does not give up."""

    directory: Path
    disk: FailingDisk
    errors: list[OSError] = field(default_factory=list)

    def live(self) -> LogUse:
        """Live the whole life; close the log in order."""
        use = LogUse(PARTITION, self.open(), lambda *_: None)
        for step in LIFE:
            try:
                step(use)
            except OSError as error:
                self.errors.append(error)
                self.check_error(error, use.log)
                use.log = self.usable(use.log)
                step(use)
        try:
            use.log.close()
        except OSError as error:
            self.errors.append(error)
            use.log = self.usable(use.log)
            use.log.close()
        return use

    def open(self) -> Log:
        """Open the log; after a failure that is tried again."""
        try:
            return self._open()
        except OSError as error:
            self.errors.append(error)
            return self._open()

    def usable(self, log: Log) -> Log:
        """Recover the log where it is poisoned."""
        if log.failure is None:
            return log
        end = log.log_end_offset
        for refused in (log.flush, log.roll, lambda: log.truncate_to(0), lambda: log.append([RECORD], leader_epoch=99)):
            with pytest.raises(LogPoisonedError, match="open the log again"):
                refused()
        assert log.log_end_offset == end
        return log.recover()

    def check_error(self, error: OSError, log: Log) -> None:
        """The error says what happened, where, and what to do; only what is full leaves the log usable."""
        assert error.errno == self.disk.failure.number
        assert str(error.filename).startswith(str(self.directory))
        assert any("again" in note for note in error.__notes__)
        reason = log.failure.__cause__ if isinstance(log.failure, LogPoisonedError) else log.failure
        assert reason in {None, error}
        assert (log.failure is error) == (self.disk.failure in POISONS)
        if SYNC_OF_THE_LOG.fullmatch(self.disk.failed):
            assert reason is error

    def _open(self) -> Log:
        return Log.open(self.directory, CONFIG, filesystem=self.disk, clock=lambda: NOW)


RECORD = Record(0, NOW, None, b"refused")
SYNC_OF_THE_LOG = re.compile(r"fsync .*\.(log|index|timeindex|txnindex)")
POISONS = {Failure.BROKEN, Failure.SHORT_AND_BROKEN, Failure.READ_ONLY}


def steps_of_a_life(root: Path, *, are_late: bool) -> int:
    disk = FailingDisk(0)
    with late_syncs(are_late=are_late):
        Survivor(root / PARTITION, disk).live()
    return -disk.steps_left


@pytest.mark.parametrize("are_late", [False, True], ids=["synced", "synced-late"])
def test_whichever_step_fails_nothing_acknowledged_is_lost(memory_dir: Path, *, are_late: bool) -> None:
    """A normal run lets each step fail in one way, another each day; with late syncs as well."""
    root = memory_dir / "failing"
    root.mkdir()
    steps = steps_of_a_life(root, are_late=are_late)
    ways = [(number, failure) for number in range(1, steps + 1) for failure in Failure]
    stride = 1 if FAILURES.count == FAILURES.full else 2 * len(Failure) + 1
    chosen = ways[(2 * FAILURES.seed + are_late) % stride :: stride]
    for number, failure in chosen:
        rmtree(root)
        root.mkdir()
        survivor = Survivor(root / PARTITION, FailingDisk(number, failure))
        try:
            with late_syncs(are_late=are_late):
                use = survivor.live()
            # Space that is kept is no promise; a full disk is met again in that space.
            may_be_silent = RESERVE_NAME in survivor.disk.failed or failure in {Failure.FULL, Failure.SHORT}
            assert len(survivor.errors) == 1 or (may_be_silent and not survivor.errors)
            with Log.open(root / PARTITION, CONFIG, clock=lambda: NOW) as log:
                assert log.report.recovered_segments == 0
                check_log(log, use, use.promise)
            assert_sound(root / PARTITION, log.log_start_offset)
        except BaseException as error:
            error.add_note(f"step {number} of {steps}, {survivor.disk.failed}, {failure}")
            raise
    FAILURES.report(len(chosen), f"{steps} steps")
