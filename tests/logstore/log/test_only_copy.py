"""Random histories of an only copy that dies or loses power, and whose files then have one fault, anywhere.

No record below the recovery point is lost or changed in silence: the log is refused and nothing changed, or the record
is read as it was written, or its reader is told. What is cut is in the report. The same where a small file is lost or
is one of before, and the first segment or the last is lost with it; nor are records back that were deleted, nor goes an
epoch on whose records are gone.
"""

import random
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from epoch.checkpoint import LEADER_EPOCH_CHECKPOINT
from epoch.entry import EpochEntry
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import DamagedLogError
from logstore.files.followed_mark import FOLLOWED_MARK
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
)
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME, PromisedOffsets
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.recovery.damage_policy import Damage
from logstore.topic_partition import TopicPartition
from tests.campaign import Campaign
from tests.logstore.log.told_losses import check

SMALL = {
    *(PROMISED_OFFSETS_NAME, OFFSET_GAPS_NAME, FOLLOWED_MARK, LEADER_EPOCH_CHECKPOINT),
    *(HIGH_WATERMARK_CHECKPOINT, LOG_START_OFFSET_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, CLEANER_OFFSET_CHECKPOINT),
}
CAMPAIGN = Campaign("faults of an only copy", full=20_000, share=80)
SMALL_FILES = Campaign("small files of an only copy", full=20_000, share=80)
BLOCK = 512
KEYS = 6


@dataclass
class History:
    """A log, what was written to it, and what of that was promised."""

    directory: Path
    config: LogConfig
    rng: random.Random
    written: dict[int, bytes] = field(default_factory=dict)
    keys: dict[int, bytes] = field(default_factory=dict)
    epochs: dict[int, int] = field(default_factory=dict)
    """Of all that was ever written: readers may have seen it."""
    earlier: dict[str, list[bytes]] = field(default_factory=dict)
    """What small files were at some time, by their paths in the root."""
    was_cut: bool = False
    ends: list[int] = field(default_factory=list)
    """Of batches."""
    promised: int = 0
    start: int = 0
    synced: dict[str, int] = field(default_factory=dict)
    """Bytes of segments that a power loss leaves."""

    def live(self) -> str:
        """Use the log, and end in one of three ways; return which."""
        log = self.open()
        for _ in range(self.rng.randrange(3, 30)):
            log = self._step(log)
            if self.rng.random() < 0.2:
                self._keep_small_files()
        end = self.rng.choice(["closed", "killed", "cut off"])
        if end == "closed":
            self.close(log)
            self.promised = log.log_end_offset
        else:
            self.abandon(log)
        if end == "cut off":
            self._lose_power()
        return end

    def open(self) -> Log:
        return Log.open(self.directory, self.config)

    def close(self, log: Log) -> None:
        log.close()

    def abandon(self, log: Log) -> None:
        log.abandon()

    def checkpoint(self, log: Log) -> None:
        """Write the root's checkpoint files, where it has a root."""

    def leave(self) -> None:
        """Let go of what did not open."""

    @contextmanager
    def damaged(self, root: Path, damage: Damage) -> Iterator[Log]:
        """Open a copy of it that is damaged."""
        with Log.open(root / self.directory.name, self.config, damage=damage) as log:
            yield log

    def _keep_small_files(self) -> None:
        """Keep what they are now: one of them may be put back."""
        root = self.directory.parent
        for path in (*root.iterdir(), *self.directory.iterdir()):
            if path.name in SMALL:
                self.earlier.setdefault(str(path.relative_to(root)), []).append(path.read_bytes())

    def check_epoch(self, log: Log) -> None:
        """See that the log goes on in no epoch of which records are gone."""
        end = log.log_end_offset
        gone = [epoch for offset, epoch in self.epochs.items() if offset >= end]
        log.append([b"more"])
        assert (log.epochs.latest_epoch or 0) > max(gone, default=-1), "an epoch goes on whose records are gone"

    def _step(self, log: Log) -> Log:
        action = self.rng.random()
        if action < 0.66:
            self._append(log)
        elif action < 0.7:
            self.checkpoint(log)
        elif action < 0.82:
            self._flush(log)
        elif action < 0.86:
            log.roll()
            self._note(log)
        elif action < 0.89:
            at = self.rng.choice([end for end in self.ends if end <= log.log_end_offset] or [0])
            if at > log.log_start_offset:
                self.was_cut = True
                log.truncate_to(at)
                self.written = {offset: value for offset, value in self.written.items() if offset < at}
                self.ends = [end for end in self.ends if end <= at]
                self.promised = min(self.promised, log.recovery_point, at)
                self._note(log)
        elif action < 0.92:
            self._flush(log)
            log.update_high_watermark(log.log_end_offset)
            log.delete_records(self.rng.randrange(log.log_start_offset, log.log_end_offset + 1))
            log.delete_old_segments()
            self.start = log.log_start_offset
            self._note(log)
        elif action < 0.96:
            self.close(log)
            self.promised = log.log_end_offset
            log = self._opened_again()
            self._note(log)
        elif action < 0.98:
            self.abandon(log)
            log = self._opened_again()
            self.written = {offset: value for offset, value in self.written.items() if offset < log.log_end_offset}
        else:
            log = self.compact(log)
        return log

    def _opened_again(self) -> Log:
        log = self.open()
        last = max((offset for offset in self.written if offset < self.promised), default=-1)
        assert log.log_end_offset > last
        self.promised = min(self.promised, log.log_end_offset)  # compaction had left no record in between
        return log

    def compact(self, log: Log) -> Log:
        """Compact it, as the only copy or as a replica; then it is the only copy, with or without compaction."""
        log.close()
        self.promised = log.log_end_offset
        compacting = replace(self.config, cleanup_policy=frozenset({"compact"}))
        is_replicated = self.rng.random() < 0.5
        log = Log.open(self.directory, compacting, replicated=is_replicated)
        if is_replicated:  # who elects its leader knows which epochs are over; the log does not keep them
            self.epochs = {offset: epoch for offset, epoch in self.epochs.items() if offset < log.log_end_offset}
        log.update_high_watermark(log.log_end_offset)
        log.compact()
        kept = {record.offset: record.value for record in log.records()}
        latest = {self.keys[offset]: offset for offset in sorted(self.written) if offset >= log.log_start_offset}
        assert {offset: self.written.get(offset) for offset in kept} == kept
        assert kept.keys() >= set(latest.values())
        self.written = {offset: value for offset, value in self.written.items() if offset in kept}
        if self.rng.random() < 0.5:
            log.close()
        else:
            log.abandon()
        log = Log.open(self.directory, self.rng.choice([self.config, compacting]))
        self._flush(log)
        return log

    def _append(self, log: Log) -> None:
        first, count = log.log_end_offset, self.rng.randrange(1, 4)
        values = [b"%d/%d" % (first, number) * self.rng.randrange(1, 9) for number in range(count)]
        template = BatchTemplate(codec=self.rng.choice([Codec.NONE, Codec.LZ4]))
        keys = [b"%d" % self.rng.randrange(KEYS) for _ in values]
        epoch = log.epochs.latest_epoch or 0
        if log.epochs.reserved is not None or self.rng.random() < 0.2:
            epoch = (log.epochs.reserved or EpochEntry(epoch + 1, 0)).epoch
        records = [Record.of(*each) for each in zip(values, keys, strict=True)]
        info = log.append(records, template=template, leader_epoch=epoch)
        self.epochs |= dict.fromkeys(range(first, first + count), epoch)
        self.keys |= dict(enumerate(keys, first))
        self.written |= dict(enumerate(values, first))
        self.ends.append(info.last_offset + 1)

    def _flush(self, log: Log) -> None:
        self.promised = log.flush()
        self._note(log)

    def _note(self, log: Log) -> None:
        self.promised = max(self.promised, log.recovery_point) if log.recovery_point else self.promised
        if log.recovery_point == log.log_end_offset:
            self.synced = {segment.path.name: segment.size for segment in log.segments}

    def _lose_power(self) -> None:
        """Take away some of what was not synced: the end of the last segment, or a block in it."""
        last = max(self.directory.glob("*.log"))
        size, safe = last.stat().st_size, self.synced.get(last.name, 0)
        if size <= safe:
            return
        position = self.rng.randrange(safe, size)
        data = last.read_bytes()
        end = min(size, position + BLOCK) if self.rng.random() < 0.5 else size
        zeroed = data[:position] + bytes(end - position) + data[end:]
        last.write_bytes(zeroed if self.rng.random() < 0.5 else data[:position])


def harm(directory: Path, rng: random.Random) -> str:
    """Let one fault happen to a file; return what."""
    files = sorted(path for path in directory.iterdir() if path.is_file() and path.name != ".lock")
    logs = [path for path in files if path.suffix == ".log"]
    path = rng.choice(logs if rng.random() < 0.6 else files)
    size = path.stat().st_size
    kind = rng.choice(["flip", "flip", "zero", "remove", "none"])
    if kind == "remove":
        path.unlink()
        return f"{path.name} is gone"
    if kind == "none" or not size:
        return "no fault"
    data = bytearray(path.read_bytes())
    position = rng.randrange(size)
    if kind == "flip":
        data[position] ^= 1 << rng.randrange(8)
    else:
        block = position // BLOCK * BLOCK
        data[block : block + BLOCK] = bytes(len(data[block : block + BLOCK]))
    path.write_bytes(data)
    return f"{kind} at {position} of {path.name}"


def check_whole(history: History, log: Log, *, may_cut: bool) -> int:
    """Read all of a log of which each batch was checked; return how much of what was promised its holes tell of."""
    found = {record.offset: record.value for record in log.records(skip_holes=True)}
    assert found.items() <= history.written.items()
    end = log.log_end_offset if may_cut else history.promised
    missing = {each for each in history.written if history.start <= each < min(end, history.promised)} - found.keys()
    in_holes = {offset for hole in log.holes for offset in range(hole.start_offset, hole.end_offset)}
    unexplained = {offset for offset in missing - in_holes if offset >= log.log_start_offset}
    assert not unexplained or log.report.dropped, f"offsets {unexplained} are gone, and nothing tells of it"
    return len(missing)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}


def random_config(rng: random.Random) -> LogConfig:
    return LogConfig(
        segment_bytes=rng.choice([600, 1_500, 1 << 20]),
        index_interval_bytes=rng.choice([0, 200, 4_096]),
        file_delete_delay_ms=rng.choice([0, 60_000]),
    )


def test_no_promised_record_is_lost_or_changed_in_silence(memory_dir: Path) -> None:
    refused = told = 0
    for number in range(CAMPAIGN.count):
        rng = random.Random(f"{CAMPAIGN.seed}/{number}")
        place = memory_dir / str(number)
        place.mkdir()
        history = History(place / "t-0", random_config(rng), rng)
        fault = "before the fault"
        try:
            end = history.live()
            fault = f"{end}, {harm(history.directory, rng)}"
            before = contents(history.directory)
            check_all = rng.random() < 0.5
            fault = f"{fault}{', all is checked' if check_all else ''}"
            try:
                with Log.open(history.directory, history.config, check_all=check_all) as log:
                    of_these = check(history, log, may_cut=False)
                    assert not (check_all and of_these), "readers are told of what the open has not found"
                    told += of_these
            except DamagedLogError:
                refused += 1
                assert "no fault" not in fault, "a sound log was refused"
                assert contents(history.directory) == before
                for damage in ("hole", "cut"):
                    copy = place / damage / "t-0"
                    copy.parent.mkdir()
                    shutil.copytree(history.directory, copy)
                    with Log.open(copy, history.config, damage=damage, check_all=check_all) as log:
                        told += check(history, log, may_cut=damage == "cut")
                        if check_all:
                            check_whole(history, log, may_cut=damage == "cut")
                        end_offset = log.append([b"more"]).last_offset + 1
                    with Log.open(copy, history.config) as log:
                        assert log.log_end_offset == end_offset
        except BaseException as error:
            promised = f"promised {history.start}..{history.promised}"
            error.add_note(f"number {number}, seed {CAMPAIGN.seed}, {fault}, {promised}")
            raise
        shutil.rmtree(place)
    assert refused > CAMPAIGN.count // 20
    CAMPAIGN.report(CAMPAIGN.count, f"{refused} refused, readers were told of {told} records")


PARTITION = TopicPartition("t", 0)
POLICIES: tuple[Damage, ...] = ("hole", "cut")


class InRoot(History):
    """The same in a root, which keeps the checkpoint files."""

    root: LogDirectory
    checkpointed: int = 0
    """Up to where the root's files say that the log was flushed."""

    def open(self) -> Log:
        self.root = LogDirectory.open(self.directory.parent, self.config)
        is_there = PARTITION in self.root.partitions or PARTITION in self.root.unreadable
        return self.root.log(PARTITION) if is_there else self.root.create(PARTITION)

    def close(self, log: Log) -> None:
        self.root.close()
        self.checkpointed = log.log_end_offset

    def abandon(self, log: Log) -> None:
        del log
        self.root.abandon()

    def checkpoint(self, log: Log) -> None:
        self.root.checkpoint()
        self.checkpointed = log.recovery_point

    def compact(self, log: Log) -> Log:
        return log

    def leave(self) -> None:
        self.root.close()

    @contextmanager
    def damaged(self, root: Path, damage: Damage) -> Iterator[Log]:
        with LogDirectory.open(root, self.config) as logs:
            yield logs.open_unreadable(PARTITION, damage=damage)


@dataclass(frozen=True)
class Fault:
    """A small file that is not what it was last, and a segment that is gone."""

    name: str
    """Of the small file; empty where all are what they were."""
    content: bytes | None = field(repr=False)
    """What it is now; None where it is gone."""
    segment: str
    """Which is gone: "first", "last", or empty."""

    @classmethod
    def any_of(cls, history: History, rng: random.Random) -> "Fault":
        segment = rng.choice(["", "first", "last"])
        names = sorted(history.earlier)
        if not names or rng.random() < 0.2:
            return cls("", None, segment)
        name = rng.choice(names)
        return cls(name, rng.choice([None, *history.earlier[name]]), segment)

    @property
    def is_promise(self) -> bool:
        return self.name.endswith(PROMISED_OFFSETS_NAME)

    def happen(self, directory: Path) -> bool:
        """Let it happen to a log; return whether any file is another one than before."""
        segments = sorted(directory.glob("*.log"))
        path = directory.parent / self.name
        before = path.read_bytes() if self.name and path.exists() else None
        if self.name and self.content is None:
            path.unlink(missing_ok=True)
        elif self.name and self.content is not None:
            path.write_bytes(self.content)
        if self.segment:
            segments[0 if self.segment == "first" else -1].unlink()
        return bool(self.segment) or (bool(self.name) and before != self.content)


def test_no_small_file_that_is_lost_or_older_lets_records_be_lost_in_silence(memory_dir: Path) -> None:
    refused = told = 0
    for number in range(SMALL_FILES.count):
        rng = random.Random(f"small files/{SMALL_FILES.seed}/{number}")
        place = memory_dir / str(number)
        (place / "live").mkdir(parents=True)
        kind = rng.choice([History, InRoot])
        history = kind(place / "live" / "t-0", random_config(rng), rng)
        stop, fault = "", None
        try:
            stop = history.live()
            fault = Fault.any_of(history, rng)
            is_faulty = fault.happen(history.directory)
            start = history.start
            if isinstance(history, InRoot) and fault.is_promise:
                # Of what was flushed or deleted since the root's files were written, nothing else knows; nor whether
                # what they say was cut since.
                noted = PromisedOffsets(history.directory).read()
                cut = history.was_cut and noted is not None
                known = noted.recovery_point if cut and noted is not None else history.checkpointed
                history.promised, start = min(history.promised, known), 0
            before = contents(history.directory)
            try:
                log = history.open()
            except DamagedLogError:
                refused += 1
                assert is_faulty, "a sound log was refused"
                assert contents(history.directory) == before
                history.leave()
                for damage in POLICIES:
                    shutil.copytree(history.directory.parent, place / damage)
                    with history.damaged(place / damage, damage) as log:
                        # That more was promised than the checkpoint files say is known to nobody then.
                        end = log.log_end_offset if fault.is_promise else None
                        told += check(history, log, may_cut=damage == "cut", end=end)
            else:
                told += check(history, log, may_cut=False)
                assert log.log_start_offset >= start, "deleted records are back"
                history.check_epoch(log)
                history.close(log)
        except BaseException as error:
            promised = f"promised {history.start}..{history.promised}"
            error.add_note(f"number {number}, seed {SMALL_FILES.seed}, {kind.__name__}, {stop}, {fault}, {promised}")
            raise
        shutil.rmtree(place)
    assert refused > SMALL_FILES.count // 20
    SMALL_FILES.report(SMALL_FILES.count, f"{refused} refused, readers were told of {told} records")
