"""A log that is repaired while nobody works on it: its checkpoint files never claim more than it holds."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.directory.offline_log import OfflineLog, lower_checkpoints
from logstore.errors import CorruptCheckpointError
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    OFFSET_CHECKPOINTS,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.offline_log_directory import open_offline
from logstore.offline.partition_directory import PartitionDirectory
from logstore.offline.recovered_log import RecoveredLog
from logstore.topic_partition import TopicPartition
from logstore.verify import verify
from tests.disk import FailingDisk, Failure

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
SMALL_SEGMENTS = LogConfig(segment_bytes=600, index_interval_bytes=100)


def fill(log: Log) -> None:
    """Three epochs of three batches each, of five records each, all committed."""
    for number in range(9):
        log.append([Record(0, 1_000 + number, b"k", b"v" * 20) for _ in range(5)], leader_epoch=number // 3)
    log.update_high_watermark(log.log_end_offset)


def root_of_two(path: Path) -> Path:
    with LogDirectory.open(path, SMALL_SEGMENTS) as directory:
        for partition in (T0, T1):
            fill(directory.create(partition))
    return path


def alone(path: Path) -> Path:
    with Log.open(path / "t-0", SMALL_SEGMENTS) as log:
        fill(log)
    return path


Make = Callable[[Path], Path]


def made(make: Make, place: Path) -> Path:
    (place / "logs").mkdir()
    return make(place / "logs")


def damage(path: Path) -> list[str]:
    return [f"{each.kind} {each.message}" for each in verify(open_offline(path)) if each.severity.is_damage]


@pytest.mark.parametrize("make", [root_of_two, alone])
@pytest.mark.parametrize("offset", [0, 3, 5, 7, 12, 15, 22, 29, 44])
def test_a_log_ends_where_it_was_said_to_and_nothing_contradicts_it(make: Make, offset: int, tmp_path: Path) -> None:
    path = made(make, tmp_path)
    opened = PartitionDirectory.open(path / "t-0")
    end = RecoveredLog.load(opened).end_after_truncation(offset)
    with OfflineLog.open(opened) as offline:
        offline.truncate_to(end)

    assert end == offset - offset % 5
    again = PartitionDirectory.open(path / "t-0")
    assert RecoveredLog.load(again).log_end_offset == end
    assert again.checkpoints.high_watermark == end
    assert damage(path) == []
    if make is root_of_two:
        assert PartitionDirectory.open(path / "t-1").checkpoints.high_watermark == 45
        with LogDirectory.open(path) as directory:
            assert {partition: log.log_end_offset for partition, log in directory.partitions.items()} == {
                T0: end,
                T1: 45,
            }
    else:
        with Log.open(path / "t-0") as log:
            assert log.log_end_offset == end


@pytest.mark.parametrize("make", [root_of_two, alone])
def test_whichever_step_fails_no_checkpoint_file_claims_more_than_the_log_holds(make: Make, tmp_path: Path) -> None:
    """Whatever was begun, recovery makes a sound log of it: nothing says that it was closed in order."""
    template = made(make, tmp_path)
    for step in range(1, 200):
        path = tmp_path / str(step)
        shutil.copytree(template, path)
        disk = FailingDisk(step, Failure.BROKEN)
        try:
            with OfflineLog.open(PartitionDirectory.open(path / "t-0"), filesystem=disk) as offline:
                offline.truncate_to(20)
        except OSError:
            pass
        if not disk.failed:
            break
        opened = PartitionDirectory.open(path / "t-0")
        end = RecoveredLog.load(opened).log_end_offset
        claims = opened.checkpoints
        assert end in {20, 25, 30, 35, 40, 45}, (step, disk.failed)
        assert (claims.high_watermark or 0) <= end, (step, disk.failed)
        assert (claims.recovery_point or 0) <= end, (step, disk.failed)
    assert not disk.failed
    assert step > 10
    assert (path / ("" if make is root_of_two else "t-0") / CLEAN_SHUTDOWN_NAME).exists()


def test_what_the_broker_said_when_it_stopped_is_kept(tmp_path: Path) -> None:
    root = root_of_two(tmp_path / "root")
    CleanShutdown(17).write(root / CLEAN_SHUTDOWN_NAME)

    with OfflineLog.open(PartitionDirectory.open(root / "t-0")) as offline:
        assert not (root / CLEAN_SHUTDOWN_NAME).exists()
        offline.truncate_to(10)

    assert CleanShutdown.read(root / CLEAN_SHUTDOWN_NAME) == CleanShutdown(17)


def test_every_file_is_lowered_and_none_is_raised_or_made(tmp_path: Path) -> None:
    found = {
        RECOVERY_POINT_CHECKPOINT: {T0: 40, T1: 40},
        HIGH_WATERMARK_CHECKPOINT: {T0: 30, T1: 7},
        CLEANER_OFFSET_CHECKPOINT: {T0: 20},
        LOG_START_OFFSET_CHECKPOINT: {T1: 40},
    }
    for name, offsets in found.items():
        OffsetCheckpoint(offsets).write(tmp_path / name)
    (tmp_path / LOG_START_OFFSET_CHECKPOINT).unlink()

    lower_checkpoints(tmp_path, T0, 25)

    assert {path.name: dict(OffsetCheckpoint.read(path)) for path in tmp_path.iterdir()} == {
        RECOVERY_POINT_CHECKPOINT: {T0: 25, T1: 40},
        HIGH_WATERMARK_CHECKPOINT: {T0: 25, T1: 7},
        CLEANER_OFFSET_CHECKPOINT: {T0: 20},
    }


@pytest.mark.parametrize("name", OFFSET_CHECKPOINTS)
def test_a_checkpoint_file_that_cannot_be_parsed_is_reported_before_anything_changes(name: str, tmp_path: Path) -> None:
    root = root_of_two(tmp_path / "root")
    (root / name).write_bytes(b"nonsense\n")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}

    with pytest.raises(CorruptCheckpointError, match=name), OfflineLog.open(PartitionDirectory.open(root / "t-0")):
        pass

    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
