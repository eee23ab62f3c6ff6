"""A backup of a root holds each of its logs as it was at a moment, and is a root that was closed in order."""

import shutil
from contextlib import suppress
from pathlib import Path
from uuid import UUID

import pytest

from epoch.filesystem import FileSystem
from logstore.directory.log_directory import LogDirectory
from logstore.errors import DirectoryLockedError, LogPoisonedError
from logstore.log_config import LogConfig
from logstore.offline.offline_log_directory import open_offline
from logstore.topic_partition import TopicPartition
from logstore.verify.verify import verify
from tests.campaign import run_seed
from tests.disk import FailingDisk
from tests.logstore.log.test_backup import settle

CONFIG = LogConfig(segment_bytes=500, file_delete_delay_ms=0)
TOPIC = UUID(int=7)
FIRST, SECOND, THIRD = (TopicPartition("orders", number) for number in range(3))


def filled(root: Path, filesystem: FileSystem | None = None) -> LogDirectory:
    directory = LogDirectory.open(root, CONFIG, filesystem=filesystem or FileSystem())
    for partition in (FIRST, SECOND, THIRD):
        log = directory.create(partition, topic_id=TOPIC)
        for number in range(20):
            log.append([b"value %d" % number] * 2)
        log.update_high_watermark(30)
        log.delete_records(partition.partition * 5)
    return directory


def held(directory: LogDirectory) -> dict[TopicPartition, tuple[int, ...]]:
    return {
        each: (log.log_start_offset, log.log_end_offset, log.high_watermark)
        for each, log in directory.partitions.items()
    }


def assert_sound_root(root: Path) -> None:
    attention = [finding for finding in verify(open_offline(root)) if finding.severity.needs_attention]
    assert attention == []


def test_a_backup_opens_without_recovery_and_holds_all(tmp_path: Path) -> None:
    with filled(tmp_path / "root") as directory:
        (tmp_path / "root" / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=MkU3OEVBNTcwNTJENDM2Qg\n")
        made = directory.backup(tmp_path / "backup")
        assert {each: backup.directory for each, backup in made.items()} == {
            each: tmp_path / "backup" / str(each) for each in (FIRST, SECOND, THIRD)
        }
        expected = held(directory)
    assert_sound_root(tmp_path / "backup")
    with LogDirectory.open(tmp_path / "backup", CONFIG, replicated=True) as copy:
        assert held(copy) == expected
        assert [log.report.recovered_segments for log in copy.partitions.values()] == [0, 0, 0]
    assert (tmp_path / "backup" / "meta.properties").read_text().startswith("version=1")


def test_a_backup_is_brought_up_to_date(tmp_path: Path) -> None:
    with filled(tmp_path / "root") as directory:
        directory.backup(tmp_path / "backup")
        directory.delete(SECOND)
        directory.create(TopicPartition("new", 0)).append([b"value"])
        directory.log(FIRST).append([b"more"])
        directory.backup(tmp_path / "backup")
        expected = held(directory)
    with LogDirectory.open(tmp_path / "backup", CONFIG, replicated=True) as copy:
        assert held(copy) == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup", "root"]


def test_a_backup_that_is_broken_off_anywhere_leaves_the_earlier_one_or_the_new_one_and_goes_on(tmp_path: Path) -> None:
    disk, stride, times = FailingDisk(1 << 30), 23, list[int]()
    with filled(tmp_path / "root", disk) as directory:
        for number in range(1 + run_seed() % stride, 2_000, stride):
            backup = tmp_path / str(number) / "backup"
            for log in directory.partitions.values():
                settle(log, times)
            directory.backup(backup)
            earlier = held(directory)
            directory.log(FIRST).append([b"more"])
            directory.log(SECOND).truncate_to(30 - number % 4 * 2)
            later = held(directory)
            disk.steps_left, disk.failed = number, ""
            with suppress(OSError):
                directory.backup(backup)
            broken_off = bool(disk.failed)
            disk.steps_left = 1 << 30
            if backup.exists():
                assert_sound_root(backup)
                looked_at = tmp_path / "looked-at" / str(number)
                shutil.copytree(backup, looked_at)
                with LogDirectory.open(looked_at, CONFIG, replicated=True) as copy:
                    assert held(copy) in (earlier, later)
            else:  # between the two renames both are whole
                assert {path.name for path in backup.parent.iterdir()} == {"backup.partial", "backup.replaced"}
            directory.backup(backup)
            with LogDirectory.open(backup, CONFIG, replicated=True) as copy:
                assert held(copy) == later
                assert [log.report.recovered_segments for log in copy.partitions.values()] == [0, 0, 0]
            assert [path.name for path in backup.parent.iterdir()] == ["backup"]
            if not broken_off:
                break
        assert earlier != later
        assert 100 < number < 1_900


def test_a_partition_that_is_deleted_meanwhile_is_left_out(tmp_path: Path) -> None:
    class Deleting(FileSystem):
        def copy(self, source: Path, target: Path) -> None:
            if source.parent.name == str(SECOND) and SECOND in directory.partitions:
                directory.delete(SECOND)
            super().copy(source, target)

    with filled(tmp_path / "root", Deleting()) as directory:
        assert directory.backup(tmp_path / "backup").keys() == {FIRST, THIRD}
    assert_sound_root(tmp_path / "backup")


def test_a_log_that_is_recovered_meanwhile_is_copied_as_it_is_then(tmp_path: Path) -> None:
    class Recovering(FileSystem):
        done = False

        def copy(self, source: Path, target: Path) -> None:
            if not self.done and source.parent.name == str(SECOND):
                self.done = True
                directory.recover(SECOND).append([b"after"])
            super().copy(source, target)

    with filled(tmp_path / "root", Recovering()) as directory:
        assert directory.backup(tmp_path / "backup")[SECOND].log_end_offset == 41


def test_a_poisoned_log_is_recovered_first(tmp_path: Path) -> None:
    with filled(tmp_path / "root") as directory:
        directory.log(SECOND)._guard.poison(OSError(5, "broken"))
        with pytest.raises(LogPoisonedError, match=r"directory\.recover"):
            directory.backup(tmp_path / "backup")
        directory.recover(SECOND)
        directory.backup(tmp_path / "backup")


def test_a_closed_directory_has_no_backup(tmp_path: Path) -> None:
    directory = filled(tmp_path / "root")
    directory.close()
    with pytest.raises(DirectoryLockedError):
        directory.backup(tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_a_partition_that_was_made_in_a_backup_is_not_removed(tmp_path: Path) -> None:
    with filled(tmp_path / "logs") as directory:
        directory.backup(tmp_path / "copies")
        with LogDirectory.open(tmp_path / "copies", CONFIG) as copied:
            copied.create(TopicPartition("others", 0)).append([b"value"])
        with pytest.raises(FileExistsError, match=r"others-0 is no part of the backup"):
            directory.backup(tmp_path / "copies")
