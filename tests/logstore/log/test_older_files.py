"""Random programs of an only copy: appends, truncations, stops and crashes, after which a file is as it was earlier.

That may be any file of the log, also one that was removed since, as by a truncation or with the first records. No
record that was promised is gone in silence, and none is read that it has replaced: the log is refused and nothing is
changed, or the record is read as it was written, or its reader is told.
"""

import random
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct
from typing import Final
from zlib import crc32

import pytest

from logstore.errors import CorruptBatchError, DamagedLogError
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.directory_lock import LOCK_NAME
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME, PromisedOffsets
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.recovery.damage_policy import Damage
from tests.campaign import Campaign
from tests.logstore.log.told_losses import check

CAMPAIGN: Final = Campaign("older files of an only copy", full=2_000, share=40)
LIVES: Final = 5
NOTED: Final = Struct(">QqqqiQI?")
SLOT_BYTES: Final = 512
POLICIES: Final[tuple[Damage, ...]] = ("hole", "cut")


@dataclass
class Program:
    """A log, what it has, and what its files were at some time."""

    directory: Path
    config: LogConfig
    rng: random.Random
    written: dict[int, bytes] = field(default_factory=dict)
    """What the log has; a truncation takes some away."""
    promised: int = 0
    """Up to where all is on stable storage."""
    start: int = 0
    count: int = 0
    """Of all records that were ever written: no two are the same."""
    has_older_segment: bool = False
    earlier: dict[str, list[bytes]] = field(default_factory=dict)
    """What each file was at some time."""
    story: list[str] = field(default_factory=list)

    def live(self, log: Log) -> None:
        """Use the log, and end in one of two ways."""
        self.has_older_segment = False
        for _ in range(self.rng.randrange(2, 20)):
            self._step(log)
            if self.rng.random() < 0.3:
                self.keep_files()
        is_closed = self.rng.random() < 0.5
        if is_closed:
            log.close()
            self.promised = log.log_end_offset
        else:
            log.abandon()
        self.story.append("closed" if is_closed else "killed")
        self.keep_files()

    def _step(self, log: Log) -> None:
        action = self.rng.random()
        if action < 0.55:
            self._append(log)
        elif action < 0.75:
            self.promised = log.flush()
        elif action < 0.82:
            log.roll()
        elif action < 0.95:
            self._truncate(log)
        else:
            self.promised = log.flush()
            log.delete_records(self.rng.randrange(log.log_start_offset, log.log_end_offset + 1))
            self.start = log.log_start_offset
        self.promised = max(self.promised, min(log.recovery_point, log.log_end_offset))

    def _append(self, log: Log) -> None:
        values = [b"%d " % (self.count + each) * self.rng.randrange(1, 9) for each in range(self.rng.randrange(1, 4))]
        self.count += len(values)
        self.written |= dict(enumerate(values, log.log_end_offset))
        log.append(values)

    def _truncate(self, log: Log) -> None:
        end = self.rng.randrange(log.log_start_offset, log.log_end_offset + 1)
        log.truncate_to(end)
        at = [record.offset for record in log.records(skip_holes=True)]
        self.written = {offset: self.written[offset] for offset in at}
        self.promised = min(self.promised, log.recovery_point)
        self.story.append(f"truncated to {end}")

    def keep_files(self) -> None:
        """Keep what the files are now."""
        for name, data in contents(self.directory).items():
            if data not in (kept := self.earlier.setdefault(name, [])):
                kept.append(data)

    def put_back(self) -> bool:
        """Let one file be as it was earlier; return whether any is another one than before."""
        name = self.rng.choice(sorted(self.earlier))
        path, data = self.directory / name, self.rng.choice(self.earlier[name])
        before = path.read_bytes() if path.exists() else None
        path.write_bytes(data)
        self.story.append(f"{name} was put back" if before != data else "nothing was put back")
        self.has_older_segment = name.endswith(".log")
        if name == PROMISED_OFFSETS_NAME:  # of what was flushed since, nothing else knows
            noted = PromisedOffsets(self.directory).read()
            self.promised = min(self.promised, self.promised if noted is None else noted.recovery_point)
        return before != data

    def look(self, log: Log, *, may_cut: bool) -> int:
        """Look for all that was promised; return of how much its readers, or who opens it, were told."""
        if self.has_older_segment and log.report.damaged_epoch_checkpoint:
            return 1  # epochs had begun that no batch has
        return check(self, log, may_cut=may_cut)

    def go_on(self, log: Log) -> Log:
        """Take what the log has by now for what is to be there, once all that its readers meet is a hole."""
        try:
            found = {record.offset: record.value or b"" for record in log.records(skip_holes=True)}
        except CorruptBatchError:
            log.close()
            log = Log.open(self.directory, self.config, damage="hole", check_all=True)
            self.look(log, may_cut=False)
            found = {record.offset: record.value or b"" for record in log.records(skip_holes=True)}
        self.written, self.start = found, log.log_start_offset
        self.promised = log.flush()
        self.keep_files()
        return log


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file() and path.name != LOCK_NAME}


def without_epochs(promised: bytes) -> bytes:
    """Write both slots as a release did that did not note what the epochs are."""
    slots = (promised[at : at + SLOT_BYTES][: NOTED.size] for at in range(0, len(promised), SLOT_BYTES))
    return b"".join((slot + crc32(slot).to_bytes(4)).ljust(SLOT_BYTES, b"\0") for slot in slots)


def restore(directory: Path, files: dict[str, bytes]) -> None:
    for path in directory.iterdir():
        if path.name != LOCK_NAME:
            path.unlink()
    for name, data in files.items():
        (directory / name).write_bytes(data)


def run(program: Program) -> tuple[int, int]:
    """Live several times, with a file put back after most; return how often it was refused, and what was told."""
    refused = told = 0
    log = Log.open(program.directory, program.config)
    for _ in range(LIVES):
        program.live(log)
        right, promised = contents(program.directory), (program.promised, program.start)
        is_other = program.rng.random() < 0.8 and program.put_back()
        check_all = program.rng.random() < 0.3
        before = contents(program.directory)
        try:
            log = Log.open(program.directory, program.config, check_all=check_all)
        except DamagedLogError:
            refused += 1
            assert is_other, "a sound log was refused"
            assert contents(program.directory) == before
            damage: Damage | None = program.rng.choice([*POLICIES, None])
            program.story.append(f"refused, then {damage}")
            if damage is None:
                restore(program.directory, right)
                program.promised, program.start = promised
                log = Log.open(program.directory, program.config)
            else:
                log = Log.open(program.directory, program.config, damage=damage, check_all=check_all)
            told += program.look(log, may_cut=damage == "cut")
        else:
            told += program.look(log, may_cut=False)
        log = program.go_on(log)
    log.close()
    return refused, told


def test_no_promised_record_is_gone_in_silence_where_a_file_is_put_back(memory_dir: Path) -> None:
    refused = told = 0
    for number in range(CAMPAIGN.count):
        rng = random.Random(f"older files/{CAMPAIGN.seed}/{number}")
        place = memory_dir / str(number)
        place.mkdir()
        config = LogConfig(segment_bytes=rng.choice([600, 1_500, 1 << 20]), index_interval_bytes=rng.choice([0, 200]))
        program = Program(place / "t-0", config, rng)
        try:
            of_these = run(program)
        except BaseException as error:
            promised = f"promised {program.start}..{program.promised}"
            error.add_note(f"number {number}, seed {CAMPAIGN.seed}, {', '.join(program.story)}; {promised}")
            raise
        refused, told = refused + of_these[0], told + of_these[1]
        shutil.rmtree(place)
    assert refused, "nothing that was put back was noticed as the log was opened"
    CAMPAIGN.report(CAMPAIGN.count, f"{refused} refused, readers were told of {told} records")


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A log whose segment is as it was before a truncation, of the same size."""
    log = Log.open(tmp_path / "t-0")
    log.append([b"old", b"old"])
    segment = log.segments[0].path
    before = segment.read_bytes()
    log.truncate_to(0)
    log.append([b"new", b"new"])
    log.flush()
    log.abandon()
    segment.write_bytes(before)
    return tmp_path / "t-0"


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_segment_of_an_epoch_that_was_over_is_damage(older: Path, *, is_closed: bool) -> None:
    """What was noted of the epochs shows that it is not these that are wrong."""
    if is_closed:
        CleanShutdown().write(older / CLEAN_SHUTDOWN_NAME)
    before = contents(older)
    for _ in range(2):
        with pytest.raises(DamagedLogError, match="put back as it was earlier") as refused:
            Log.open(older)
        assert (refused.value.offset, refused.value.end_offset) == (0, 2)
        assert contents(older) == before
    with Log.open(older, damage="hole") as log:
        assert (log.log_start_offset, log.log_end_offset) == (0, 2)
        assert [(hole.start_offset, hole.end_offset) for hole in log.holes] == [(0, 2)]
        assert log.append([b"more"]).first_offset == 2


@pytest.mark.parametrize("damage", POLICIES)
def test_sound_batches_around_one_of_an_epoch_that_was_over_stay(tmp_path: Path, damage: Damage) -> None:
    log = Log.open(tmp_path / "t-0")
    log.append([b"kept"])
    log.append([b"old"])
    segment = log.segments[0].path
    before, size = segment.read_bytes(), log.size
    log.truncate_to(1)
    log.append([b"new"])
    log.append([b"behind"])
    log.flush()
    log.abandon()
    segment.write_bytes(before + segment.read_bytes()[size:])
    with pytest.raises(DamagedLogError, match="put back as it was earlier"):
        Log.open(tmp_path / "t-0")
    with Log.open(tmp_path / "t-0", damage=damage) as log:
        kept = [record.value for record in log.records(skip_holes=True)]
        assert kept == ([b"kept", b"behind"] if damage == "hole" else [b"kept"])
        assert b"old" in b"".join(path.read_bytes() for path in log.directory.glob("*.set-aside"))


def test_who_opens_a_log_is_told_of_batches_of_an_epoch_that_was_over(older: Path) -> None:
    """Where nothing was noted of the epochs, by an earlier release, either may be wrong."""
    path = older / PROMISED_OFFSETS_NAME
    path.write_bytes(without_epochs(path.read_bytes()))
    with Log.open(older) as log:
        assert "epoch 1 wrote offset 0, and the batch there has epoch 0" in log.report.damaged_epoch_checkpoint
        assert log.append([b"more"]).last_offset == 2
        assert log.epochs.latest_epoch == 2


def test_readers_are_told_of_a_batch_that_reaches_into_another_epoch(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0")
    log.append([b"kept"])
    log.append([b"old", b"old"])
    segment = log.segments[0].path
    older = segment.read_bytes()
    log.truncate_to(2)
    log.append([b"new"])
    log.roll()
    log.append([b"behind"])
    log.flush()
    log.delete_records(2)
    log.close()
    segment.write_bytes(older)
    with Log.open(tmp_path / "t-0") as log, pytest.raises(CorruptBatchError, match="epochs 1 wrote there"):
        list(log.records(2))


def test_a_segment_within_the_one_before_it_is_damage(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0")
    log.append([b"old", b"old"])
    log.roll()
    log.append([b"old"])
    log.flush()
    segment = log.segments[1].path
    older = segment.read_bytes()
    log.truncate_to(0)
    for _ in range(4):
        log.append([b"new"])
    log.flush()
    log.abandon()
    segment.write_bytes(older)
    before = contents(tmp_path / "t-0")
    with pytest.raises(DamagedLogError, match="beyond where the next one begins"):
        Log.open(tmp_path / "t-0")
    assert contents(tmp_path / "t-0") == before
    with Log.open(tmp_path / "t-0", damage="hole") as log:
        assert [record.value for record in log.records()] == [b"new"] * 4
        assert [tail.set_aside for tail in log.report.dropped] == [f"{segment.name}.set-aside"]


def test_an_older_segment_takes_no_offsets_from_the_one_behind_it(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "t-0")
    for first in range(0, 12, 3):
        log.append([b"old %d" % number for number in range(first, first + 3)])
    segment = log.segments[0].path
    older = segment.read_bytes()
    log.truncate_to(0)
    for first in range(0, 8, 2):
        log.append([b"new %d" % number for number in range(first, first + 2)])
    log.roll()
    log.append([b"behind %d" % number for number in range(8, 11)])
    log.close()
    segment.write_bytes(older)
    with pytest.raises(DamagedLogError):
        Log.open(tmp_path / "t-0", check_all=True)
    with Log.open(tmp_path / "t-0", damage="hole", check_all=True) as log:
        assert [record.value for record in log.records(skip_holes=True)] == [b"behind 8", b"behind 9", b"behind 10"]
        assert [offset for hole in log.holes for offset in range(hole.start_offset, hole.end_offset)] == [*range(8)]
        aside = b"".join((tmp_path / "t-0" / dropped.set_aside).read_bytes() for dropped in log.report.dropped)
        assert all(b"old %d" % number in aside for number in range(12))
