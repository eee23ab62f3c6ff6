"""A backup of a log in use is the log as it was at one moment, whole or not there at all."""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.errors import DirectoryLockedError, InvalidDirectoryNameError, LogClosedError
from logstore.files.partition_metadata import PARTITION_METADATA_NAME
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.segment.segment_file import SegmentFile
from tests.campaign import Campaign
from tests.disk import FailingDisk
from tests.logstore.directories import GAPS, assert_sound

CONFIG = LogConfig(segment_bytes=700, index_interval_bytes=150, file_delete_delay_ms=0, retention_ms=-1)
LIVES = Campaign("backups of a log", full=5_000, share=8)


def batches(log: Log) -> list[tuple[int, int, list[bytes | None]]]:
    """All that can be read from a log."""
    found, offset = [], log.log_start_offset
    while offset < log.log_end_offset:
        for batch in log.read(offset, 1 << 20).batches():
            records = [record.value for record in batch.records()]
            found.append((batch.base_offset, batch.leader_epoch, records))
            offset = batch.last_offset + 1
    return found


def state(log: Log) -> tuple[object, ...]:
    """All that a log keeps when it is closed and opened again: not what wrote nothing, and nothing of an empty log."""
    ends = log.log_start_offset, log.log_end_offset, log.high_watermark
    epochs = [entry for entry in log.epochs.entries if entry.start_offset < log.log_end_offset]
    producers = log._contents.producers.snapshot() if log.log_start_offset < log.log_end_offset else None
    return (*ends, epochs, batches(log), producers)


def assert_holds(backup: Path, expected: tuple[object, ...]) -> None:
    """A backup is a log that was closed in order, and holds what is expected; it stays as it is."""
    before = {path.name: path.read_bytes() for path in backup.iterdir()}
    assert_sound(backup, expected[0], expected=GAPS)  # type: ignore[arg-type]  the log's start
    with Log.open(backup, CONFIG, replicated=True) as log:
        assert (log.report.recovered_segments, log.report.dropped, log.report.rebuilt_indexes) == (0, [], [])
        assert state(log) == expected
        log.abandon()
    for path in backup.iterdir():
        path.unlink()
    for name, data in before.items():
        (backup / name).write_bytes(data)


def settle(log: Log, times: list[int]) -> None:
    """Let time pass: every file that has changed since was last changed at a time of its own, long ago."""
    for segment in log.segments:
        if segment.path.stat().st_mtime_ns > 10**18:
            times.append(10**17 + len(times))
            os.utime(segment.path, ns=(times[-1], times[-1]))


def next_epoch(log: Log, epoch: int) -> int:
    """Return `epoch`, or the lowest above it that the log takes: a cut ends those whose records are gone."""
    latest, reserved = log.epochs.latest_epoch or 0, log.epochs.reserved
    return max(epoch, latest, reserved.epoch if reserved else 0)


def change(log: Log, random: Random, epoch: int) -> None:
    """Do one of the things that happen to logs."""
    epoch = next_epoch(log, epoch)
    values = [random.choice([b"same", random.randbytes(random.randrange(80))]) for _ in range(random.randint(1, 4))]
    match random.randrange(10):
        case 0 | 1 | 2 | 3:
            log.append(values, leader_epoch=epoch)
        case 4:
            known = log._contents.producers.producers.get(7)
            sequence = known.last_sequence + 1 if known else 0
            template = BatchTemplate(producer_id=7, producer_epoch=0, base_sequence=sequence, is_transactional=True)
            log.append(values, template=template, leader_epoch=epoch)
        case 5:
            log.append_end_transaction(7, 0, commit=random.random() < 0.5, leader_epoch=epoch)
        case 6:
            log.roll()
        case 7:
            ends = [log.log_end_offset, *(base for base, *_ in batches(log)[-8:] if base >= log.log_start_offset)]
            log.truncate_to(random.choice(ends))
        case 8:
            log.update_high_watermark(random.randint(log.high_watermark, log.log_end_offset))
        case _:
            log.delete_records(random.randint(log.log_start_offset, max(log.log_start_offset, log.high_watermark)))
            log.delete_old_segments()


@pytest.mark.parametrize("seed", range(LIVES.seed, LIVES.seed + LIVES.count))
def test_every_backup_is_the_log_as_it_was(seed: int, tmp_path: Path) -> None:
    random, times, epoch = Random(seed), list[int](), 0
    backup = tmp_path / "backups" / "t-0"
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        for _ in range(8):
            for _ in range(random.randrange(12)):
                change(log, random, epoch := epoch + random.choice([0, 0, 0, 1]))
            if random.random() < 0.7:
                settle(log, times)
            made = log.backup(backup)
            assert (made.log_start_offset, made.log_end_offset) == (log.log_start_offset, log.log_end_offset)
            settled = {path.name: path.stat().st_mtime_ns for path in backup.iterdir()}
            assert_holds(backup, state(log))
            for name, modified in settled.items():  # as nobody has written to it
                os.utime(backup / name, ns=(modified, modified))
    if seed == LIVES.seed + LIVES.count - 1:
        LIVES.report(LIVES.count)


class ChangingDisk(FileSystem):
    """Whenever a file is copied, or written as another, something happens to the log first."""

    def __init__(self) -> None:
        self.happens: Callable[[], object] = lambda: None

    def copy(self, source: Path, target: Path) -> None:
        self.happens()
        super().copy(source, target)
        self.happens()

    def rename(self, source: Path, target: Path) -> None:
        super().rename(source, target)
        if source.suffix == ".tmp":
            self.happens()


@pytest.mark.parametrize("seed", range(LIVES.seed, LIVES.seed + LIVES.count))
def test_what_happens_meanwhile_is_in_the_backup_as_a_whole_or_not_at_all(seed: int, tmp_path: Path) -> None:
    random, disk = Random(seed), ChangingDisk()
    backup = tmp_path / "backups" / "t-0"
    with Log.open(tmp_path / "t-0", CONFIG, filesystem=disk) as log:
        for number in range(40):
            change(log, random, number // 9)
        left = [60]

        def happens() -> None:
            if left[0] and random.random() < 0.5:
                left[0] -= 1
                disk.happens = lambda: None
                change(log, random, 5)
                seen.append(state(log))
                disk.happens = happens

        for _ in range(3):
            seen = [state(log)]
            disk.happens = happens
            made = log.backup(backup)
            disk.happens = lambda: None
            found = [
                each for each in seen if each[:3] == (made.log_start_offset, made.log_end_offset, made.high_watermark)
            ]
            assert found
            with Log.open(backup, CONFIG, replicated=True) as copy:
                assert copy.report.recovered_segments == 0
                assert state(copy) in found
                copy.abandon()


def prepared(tmp_path: Path, disk: FileSystem) -> Log:
    log = Log.open(tmp_path / "t-0", CONFIG, filesystem=disk)
    for number in range(20):
        log.append([b"value %d" % number] * 3, leader_epoch=number // 5)
    settle(log, [])
    return log


def test_a_backup_that_is_broken_off_anywhere_is_not_taken_for_a_whole_one_and_goes_on(tmp_path: Path) -> None:
    disk = FailingDisk(1 << 30)
    with prepared(tmp_path, disk) as log:
        before = state(log)
        for number in range(1 + LIVES.seed % 3, 1_000, 3):
            backup = tmp_path / str(number) / "t-0"
            disk.steps_left = number
            with suppress(OSError):
                log.backup(backup)
            broken_off = bool(disk.failed)
            if backup.exists():  # all was done, but maybe what makes it durable
                assert_sound(backup)
            disk.steps_left, disk.failed = 1 << 30, ""
            log.backup(backup)
            with Log.open(backup, CONFIG, replicated=True) as copy:
                assert state(copy) == before
            assert [path.name for path in backup.parent.iterdir()] == ["t-0"]
            if not broken_off:
                break
        assert 20 < number < 900


def test_an_update_that_is_broken_off_anywhere_leaves_the_earlier_backup_or_the_new_one(tmp_path: Path) -> None:
    disk = FailingDisk(1 << 30)
    with prepared(tmp_path, disk) as log:
        end = log.log_end_offset
        for number in range(1 + LIVES.seed % 3, 1_000, 3):
            backup = tmp_path / str(number) / "t-0"
            disk.steps_left, disk.failed = 1 << 30, ""
            log.truncate_to(end)
            log.backup(backup)
            earlier = state(log)
            log.append([b"more"] * 3)
            log.truncate_to(log.log_end_offset - 3)
            log.append([b"other"] * (1 + number % 5))
            later = state(log)
            disk.steps_left, disk.failed = number, ""
            with suppress(OSError):
                log.backup(backup)
            broken_off = bool(disk.failed)
            disk.steps_left, disk.failed = 1 << 30, ""
            if backup.exists():
                with Log.open(backup, CONFIG, replicated=True) as copy:
                    assert (copy.report.recovered_segments, state(copy) in (earlier, later)) == (0, True)
            else:  # between the two renames both are whole
                names = sorted(path.name for path in backup.parent.iterdir())
                assert names == ["t-0.partial", "t-0.replaced"]
            log.backup(backup)
            with Log.open(backup, CONFIG, replicated=True) as copy:
                assert state(copy) == later
            assert [path.name for path in backup.parent.iterdir()] == ["t-0"]
            if not broken_off:
                break
        assert earlier != later
        assert 20 < number < 900


def test_what_has_not_changed_is_kept(tmp_path: Path) -> None:
    backup = tmp_path / "backups" / "t-0"
    with prepared(tmp_path, FileSystem()) as log:
        first = log.backup(backup)
        assert (first.kept_bytes, first.copied_bytes > 1500) == (0, True)
        inodes = {path.name: path.stat().st_ino for path in backup.glob("*.log")}
        log.append([b"more"])
        second = log.backup(backup)
        assert second.copied_bytes < log.segments[-1].size + 1000
        assert second.kept_bytes == sum(segment.size for segment in log.segments[:-1])
        kept = {path.name for path in backup.glob("*.log") if path.stat().st_ino == inodes[path.name]}
        assert kept == {segment.path.name for segment in log.segments[:-1]}
        assert {path.stat().st_nlink for path in backup.iterdir()} == {1}


def test_a_backup_shares_no_file_with_its_log(tmp_path: Path) -> None:
    backup = tmp_path / "backups" / "t-0"
    with prepared(tmp_path, FileSystem()) as log:
        log.backup(backup)
        before = {path.name: path.read_bytes() for path in backup.iterdir()}
        log.truncate_to(5)
        log.append([b"after"] * 9)
        assert {path.name: path.read_bytes() for path in backup.iterdir()} == before


def test_a_backup_follows_a_log_that_was_truncated(tmp_path: Path) -> None:
    backup = tmp_path / "backups" / "t-0"
    with prepared(tmp_path, FileSystem()) as log:
        log.backup(backup)
        log.truncate_to(50)
        log.append([b"another history"], leader_epoch=9)
        log.backup(backup)
        assert_holds(backup, state(log))


def test_the_topic_id_comes_along(tmp_path: Path) -> None:
    with prepared(tmp_path, FileSystem()) as log:
        (log.directory / PARTITION_METADATA_NAME).write_bytes(b"version: 0\ntopic_id: Br8snZJcSrSaMIBVoJX3aw")
        backup = log.backup(tmp_path / "b" / "t-0").directory
        assert (backup / PARTITION_METADATA_NAME).read_bytes().endswith(b"Br8snZJcSrSaMIBVoJX3aw")


def test_appends_and_reads_go_on_while_files_are_copied(tmp_path: Path) -> None:
    started, go_on = threading.Event(), threading.Event()

    class Held(FileSystem):
        def copy(self, source: Path, target: Path) -> None:
            started.set()
            assert go_on.wait(60)
            super().copy(source, target)

    with prepared(tmp_path, Held()) as log:
        end = log.log_end_offset
        thread = threading.Thread(target=log.backup, args=[tmp_path / "b" / "t-0"])
        thread.start()
        assert started.wait(60)
        log.append([b"meanwhile"])
        assert log.read(end, 1000).records().__next__().value == b"meanwhile"
        with pytest.raises(DirectoryLockedError):
            log.backup(tmp_path / "b" / "t-0")
        go_on.set()
        thread.join()
        with Log.open(tmp_path / "b" / "t-0", CONFIG, replicated=True) as copy:
            assert copy.log_end_offset == end


def test_nothing_but_an_earlier_backup_of_the_same_log_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with prepared(tmp_path, FileSystem()) as log, Log.open(tmp_path / "other" / "t-0") as other:
        with pytest.raises(FileExistsError, match="is no backup: name a directory that does not exist yet"):
            log.backup(other.directory)
        other.backup(tmp_path / "b" / "t-0")
        with pytest.raises(FileExistsError, match=r"is a backup of .*other/t-0 and not of"):
            log.backup(tmp_path / "b" / "t-0")
        with pytest.raises(InvalidDirectoryNameError, match=r"name it .*/b/t-0"):
            log.backup(tmp_path / "b")
        with pytest.raises(ValueError, match="overlap"):
            log.backup(log.directory / "t-0")
        (tmp_path / "file").mkdir()
        (tmp_path / "file" / "t-0").write_bytes(b"")
        with pytest.raises(FileExistsError, match="is no directory"):
            log.backup(tmp_path / "file" / "t-0")


def test_a_backup_that_was_written_to_is_a_log_of_its_own(tmp_path: Path) -> None:
    backup = tmp_path / "b" / "t-0"
    with prepared(tmp_path, FileSystem()) as log:
        log.backup(backup)
        with Log.open(backup, CONFIG, replicated=True) as copy:
            with pytest.raises(DirectoryLockedError):
                log.backup(backup)
            copy.append([b"of its own"], leader_epoch=copy.epochs.latest_epoch)
        with pytest.raises(FileExistsError, match="was written to since it was made"):
            log.backup(backup)
        with Log.open(backup, CONFIG, replicated=True) as copy:
            assert copy.log_end_offset == log.log_end_offset + 1


def test_a_closed_log_has_no_backup(tmp_path: Path) -> None:
    log = prepared(tmp_path, FileSystem())
    log.close()
    with pytest.raises(LogClosedError):
        log.backup(tmp_path / "b" / "t-0")
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("write", ["truncate and append", "delete records", "commit a cursor"])
def test_a_backup_that_was_written_to_is_not_replaced(tmp_path: Path, write: str) -> None:
    backup = tmp_path / "copies" / "t-0"
    backup.parent.mkdir()
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"first"])
        log.append([b"second"])
        log.update_high_watermark(2)
        log.backup(backup)
        with Log.open(backup, CONFIG, replicated=True) as copied:
            if write == "truncate and append":
                copied.truncate_to(1)
                copied.append([b"others"], leader_epoch=0)
            elif write == "delete records":
                copied.delete_records(1)
            else:
                copied.cursor("c").commit(1)
        with pytest.raises(FileExistsError, match="was written to since it was made"):
            log.backup(backup)


def test_a_backup_that_was_only_looked_at_is_brought_up_to_date(tmp_path: Path) -> None:
    backup = tmp_path / "copies" / "t-0"
    backup.parent.mkdir()
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"first"])
        log.backup(backup)
        Log.open(backup, CONFIG).close()
        log.append([b"second"])
        assert log.backup(backup).log_end_offset == 2


def test_a_truncation_between_two_steps_of_a_backup_begins_it_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = SegmentFile.data

    def truncate_behind(file: SegmentFile) -> memoryview:
        view = look(file)
        if not done:
            done.append(True)
            log.truncate_to(1)
        return view

    backup = tmp_path / "copies" / "t-0"
    backup.parent.mkdir()
    done: list[bool] = []
    with Log.open(tmp_path / "t-0", CONFIG) as log:
        log.append([b"first"])
        log.append([b"second"])
        _ = log.segments[-1].file.data()
        monkeypatch.setattr(SegmentFile, "data", truncate_behind)
        assert log.backup(backup).log_end_offset == 1
        assert done


def test_a_backup_knows_how_far_the_log_was_compacted(tmp_path: Path) -> None:
    config = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=300)
    backup = tmp_path / "copies" / "t-0"
    backup.parent.mkdir()
    with Log.open(tmp_path / "t-0", config) as log:
        for number in range(20):
            log.append([Record.of(b"%d" % number, "key")])
        log.update_high_watermark(20)
        log.compact()
        log.backup(backup)
        with Log.open(backup, config, replicated=True) as copied:
            assert copied.cleaner_offset == log.cleaner_offset
            assert log.cleaner_offset is not None
