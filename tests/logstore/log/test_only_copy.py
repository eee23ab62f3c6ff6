"""Random histories of an only copy that dies or loses power, and whose files then have one fault, anywhere.

No record below the recovery point is lost or changed in silence: the log is refused and nothing changed, or the record
is read as it was written, or its reader is told. What is cut is in the report.
"""

import random
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from logstore.batch.batch_template import BatchTemplate
from logstore.batch.compression.codec import Codec
from logstore.batch.record import Record
from logstore.errors import DamagedLogError, LogStoreError, OffsetOutOfRangeError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from tests.campaign import Campaign

CAMPAIGN = Campaign("faults of an only copy", full=20_000, share=80)
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
    ends: list[int] = field(default_factory=list)
    """Of batches."""
    promised: int = 0
    start: int = 0
    synced: dict[str, int] = field(default_factory=dict)
    """Bytes of segments that a power loss leaves."""

    def live(self) -> str:
        """Use the log, and end in one of three ways; return which."""
        log = Log.open(self.directory, self.config)
        for _ in range(self.rng.randrange(3, 30)):
            log = self._step(log)
        end = self.rng.choice(["closed", "killed", "cut off"])
        if end == "closed":
            log.close()
            self.promised = log.log_end_offset
        else:
            log.abandon()
        if end == "cut off":
            self._lose_power()
        return end

    def _step(self, log: Log) -> Log:
        action = self.rng.random()
        if action < 0.7:
            self._append(log)
        elif action < 0.82:
            self._flush(log)
        elif action < 0.86:
            log.roll()
            self._note(log)
        elif action < 0.89:
            at = self.rng.choice([end for end in self.ends if end <= log.log_end_offset] or [0])
            if at > log.log_start_offset:
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
            log.close()
            self.promised = log.log_end_offset
            log = Log.open(self.directory, self.config)
            self._note(log)
        elif action < 0.98:
            log.abandon()
            log = Log.open(self.directory, self.config)
            last = max((offset for offset in self.written if offset < self.promised), default=-1)
            assert log.log_end_offset > last
            self.promised = min(self.promised, log.log_end_offset)  # compaction had left no record in between
            self.written = {offset: value for offset, value in self.written.items() if offset < log.log_end_offset}
        else:
            log = self._compact(log)
        return log

    def _compact(self, log: Log) -> Log:
        """Compact it, as the only copy or as a replica; then it is the only copy, with or without compaction."""
        log.close()
        self.promised = log.log_end_offset
        compacting = replace(self.config, cleanup_policy=frozenset({"compact"}))
        log = Log.open(self.directory, compacting, replicated=self.rng.random() < 0.5)
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
        info = log.append([Record.of(*each) for each in zip(values, keys, strict=True)], template=template)
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


def check(history: History, log: Log, *, may_cut: bool) -> int:
    """Look for all that was promised; return of how much of it the reader was told that it is not there."""
    told = 0
    for offset in range(history.start, history.promised):
        if offset not in history.written:
            continue
        try:
            record = next(log.records(offset), None)
        except OffsetOutOfRangeError:
            assert may_cut, f"offset {offset} is not in the log any more"
            assert log.report.dropped, f"offset {offset} was cut, and is not in the report"
            told += 1
        except LogStoreError:
            told += 1
        else:
            if record is None:
                assert may_cut, f"offset {offset} is not in the log any more"
                assert log.report.dropped, f"offset {offset} was cut, and is not in the report"
                told += 1
                continue
            assert (record.offset, record.value) == (offset, history.written[offset])
    return told


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
            try:
                with Log.open(history.directory, history.config) as log:
                    told += check(history, log, may_cut=False)
            except DamagedLogError:
                refused += 1
                assert "no fault" not in fault, "a sound log was refused"
                assert contents(history.directory) == before
                for damage in ("hole", "cut"):
                    copy = place / damage / "t-0"
                    copy.parent.mkdir()
                    shutil.copytree(history.directory, copy)
                    with Log.open(copy, history.config, damage=damage) as log:
                        told += check(history, log, may_cut=damage == "cut")
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
