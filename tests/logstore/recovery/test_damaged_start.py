"""A checkpoint file says that an only copy starts later than its own word does, where it still has those records.

No checksum covers that file: one flipped bit must not take records away, and what was deleted must not be back.
"""

from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest

from logstore.directory.log_directory import LogDirectory
from logstore.errors import DamagedLogError
from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT
from logstore.files.only_copy.promised_offsets import PROMISED_OFFSETS_NAME
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.recovery.damage_policy import Damage
from logstore.topic_partition import TopicPartition
from tests.disk import FailingDisk, Failure

PARTITION = TopicPartition("t", 0)


def fill(log: Log) -> None:
    for offset in range(10):
        log.append([b"record %06d" % offset])
    log.flush()


def offsets(log: Log) -> list[int]:
    assert not log.holes
    return [record.offset for record in log.records()]


def flip(path: Path) -> None:
    """Make 8 of 0, by one bit."""
    written = path.read_bytes()
    assert b"t 0 0\n" in written
    path.write_bytes(written.replace(b"t 0 0\n", b"t 0 8\n"))


@pytest.mark.parametrize("damage", ["hole", "cut"])
@pytest.mark.parametrize("stop", ["close", "abandon"])
def test_one_flipped_bit_takes_no_records_away(tmp_path: Path, stop: str, damage: Damage) -> None:
    log = Log.open(tmp_path / "t-0")
    fill(log)
    log.close() if stop == "close" else log.abandon()
    flip(log.directory / LOG_START_OFFSET_CHECKPOINT)
    before = {path.name: path.read_bytes() for path in log.directory.iterdir()}
    for _ in range(2):
        with pytest.raises(DamagedLogError, match=r"starts at offset 8, and by promised-offsets at 0 or") as refused:
            Log.open(log.directory)
        assert (refused.value.offset, refused.value.end_offset) == (0, 8)
        with Log.reader(log.directory) as reader, pytest.raises(DamagedLogError, match="at offset 8, and"):
            list(reader.records())
        assert {path.name: path.read_bytes() for path in log.directory.iterdir()} == before
    with Log.open(log.directory, damage=damage) as again:
        assert offsets(again) == list(range(10))
    with Log.open(log.directory) as again:
        assert offsets(again) == list(range(10))


def test_nor_does_it_in_a_root(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path) as root:
        log = root.create(PARTITION)
        fill(log)
        log.delete_records(1)
        root.checkpoint()
    path = tmp_path / LOG_START_OFFSET_CHECKPOINT
    path.write_bytes(path.read_bytes().replace(b"t 0 1\n", b"t 0 9\n"))
    with LogDirectory.open(tmp_path) as root:
        assert "starts at offset 9, and by promised-offsets at 1 or" in str(root.unreadable[PARTITION])
        assert offsets(root.open_unreadable(PARTITION, damage="cut")) == list(range(1, 10))
    with LogDirectory.open(tmp_path) as root:
        assert offsets(root.log(PARTITION)) == list(range(1, 10))


def test_what_the_epochs_say_too_is_believed(tmp_path: Path) -> None:
    """So the log starts where it did, if its own word was put back as it was before."""
    log = Log.open(tmp_path / "t-0")
    fill(log)
    earlier = (log.directory / PROMISED_OFFSETS_NAME).read_bytes()
    log.delete_records(8)
    log.close()
    (log.directory / PROMISED_OFFSETS_NAME).write_bytes(earlier)
    with Log.open(log.directory) as again:
        assert offsets(again) == [8, 9]


def test_no_crash_within_a_deletion_leaves_them_so(tmp_path: Path) -> None:
    for step in count(1):
        disk = FailingDisk(0, Failure.BROKEN)
        log = Log.open(tmp_path / f"t-{step}", filesystem=disk)
        fill(log)
        disk.steps_left = step
        with suppress(OSError):
            log.delete_records(8)
        has_failed = not disk.steps_left
        log.abandon()
        with Log.open(log.directory) as again:
            assert offsets(again) in ([8, 9], list(range(0 if has_failed else 8, 10)))
        if not has_failed:
            break
    assert step > 1


def test_what_a_truncation_is_deleting_does_not_tell_that_the_first_segment_was_deleted(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=1_000)
    root = LogDirectory.open(tmp_path, config)
    log = root.create(PARTITION)
    for _ in range(3):
        fill(log)
    log.truncate_to(2)
    log.append([b"record"] * 20)
    log.roll()
    log.append([b"record"])
    log.flush()
    root.abandon()
    assert any(0 < int(path.name[:20]) < 22 for path in log.directory.glob("*.log.deleted"))
    (log.directory / f"{0:020}.log").unlink()
    with LogDirectory.open(tmp_path, config) as again:
        assert "the first segment is missing" in str(again.unreadable[PARTITION])


def test_where_every_file_that_says_where_a_log_starts_is_emptied_deleted_records_do_not_come_back_in_silence(
    tmp_path: Path,
) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"%d" % number for number in range(100)])
        log.flush()
        log.delete_records(50)
    for path in (tmp_path / "t-0").iterdir():
        if path.name == PROMISED_OFFSETS_NAME or "checkpoint" in path.name:
            path.write_bytes(b"")
    with pytest.raises(DamagedLogError, match="where the log starts is not known") as caught:
        Log.open(tmp_path / "t-0")
    assert caught.value.file == str(tmp_path / "t-0" / LOG_START_OFFSET_CHECKPOINT)
    with Log.open(tmp_path / "t-0", damage="hole") as log:
        assert log.log_start_offset == 0
