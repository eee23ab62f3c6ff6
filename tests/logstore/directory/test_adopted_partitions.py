"""A log directory takes over what the checkpoint files say of partitions that stood alone."""

from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, OffsetCheckpoint
from logstore.files.own_checkpoints import OWN_CHECKPOINTS
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition
from tests.logstore.directories import assert_sound

ALONE = TopicPartition("queue", 0)
CONFIG = LogConfig(segment_bytes=300)


@pytest.fixture
def alone(tmp_path: Path) -> Log:
    """A log of several segments that stands alone, in a root that was closed in order."""
    LogDirectory.open(tmp_path / "root").close()
    log = Log.open(tmp_path / "root" / str(ALONE), CONFIG)
    for number in range(10):
        log.append([Record.of(b"%d" % number)])
    log.update_high_watermark(8)
    log.delete_records(3)
    log.flush()
    return log


def offsets_of(log: Log) -> tuple[int, int, int]:
    return log.log_start_offset, log.high_watermark, log.log_end_offset


def own_files(log: Log) -> set[str]:
    return OWN_CHECKPOINTS & {path.name for path in log.directory.iterdir()}


def test_a_partition_that_was_closed_in_order_begins_and_ends_where_it_did(alone: Log) -> None:
    alone.close()
    root = alone.directory.parent
    for _ in range(2):
        with LogDirectory.open(root, CONFIG, replicated=True) as directory:
            log = directory.log(ALONE)
            assert (offsets_of(log), log.report.recovered_segments) == ((3, 8, 10), 0)
            assert own_files(log) == set()
    assert_sound(alone.directory, 3)


def test_what_it_said_is_the_roots_before_it_is_removed(alone: Log) -> None:
    alone.close()
    root = alone.directory.parent
    LogDirectory.open(root, CONFIG, replicated=True).abandon()
    assert OffsetCheckpoint.read(root / HIGH_WATERMARK_CHECKPOINT) == {ALONE: 8}
    assert OffsetCheckpoint.read(root / RECOVERY_POINT_CHECKPOINT) == {ALONE: 10}
    with LogDirectory.open(root, CONFIG, replicated=True) as directory:
        assert offsets_of(directory.log(ALONE)) == (3, 8, 10)


def test_a_partition_that_was_not_closed_is_recovered_from_its_own_recovery_point(alone: Log) -> None:
    segments = len(alone.segments)
    for number in range(10, 14):
        alone.append([Record.of(b"%d" % number)])
    alone.abandon()
    with LogDirectory.open(alone.directory.parent, CONFIG, replicated=True) as directory:
        log = directory.log(ALONE)
        assert offsets_of(log) == (3, 8, 14)
        assert 0 < log.report.recovered_segments <= len(log.segments) - segments + 1


def test_a_partition_that_the_root_mentions_is_as_the_root_says(alone: Log) -> None:
    alone.close()
    root = alone.directory.parent
    OffsetCheckpoint({ALONE: 5}).write(root / HIGH_WATERMARK_CHECKPOINT)
    with LogDirectory.open(root, CONFIG, replicated=True) as directory:
        assert directory.log(ALONE).high_watermark == 5
        assert own_files(alone)


def test_what_a_partition_says_that_cannot_be_opened_is_kept(alone: Log) -> None:
    root = alone.directory.parent
    there = own_files(alone)
    with LogDirectory.open(root, CONFIG, replicated=True) as directory:
        assert list(directory.unreadable) == [ALONE]
    assert own_files(alone) == there
    alone.close()
    with LogDirectory.open(root, CONFIG, replicated=True) as directory:
        assert offsets_of(directory.log(ALONE)) == (3, 8, 10)
