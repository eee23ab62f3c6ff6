"""A truncation of a replica that a crash cut off, as an only copy: open as it was left.

Kafka's brokers write the checkpoint behind the truncation. Nothing tells such a log from one that lost its end: it is
refused. Ours is lowered before.
"""

from contextlib import suppress
from pathlib import Path

import pytest

from logstore.directory.log_directory import LogDirectory
from logstore.errors import DamagedLogError
from logstore.files.offset_checkpoint import RECOVERY_POINT_CHECKPOINT
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition
from tests.disk import FailingDisk, Failure

CONFIG = LogConfig(segment_bytes=1_000, index_interval_bytes=100, retention_ms=-1)
RECORDS = 65
STEPS = 40
"""Of the disk: more than a truncation takes."""


def fill(log: Log) -> None:
    for offset in range(RECORDS):
        log.append([b"record %06d" % offset], leader_epoch=0)
    log.flush()


def offsets(log: Log) -> list[int]:
    assert not log.holes
    return [record.offset for record in log.records()]


@pytest.mark.parametrize("end", [5, 17, RECORDS - 1])
@pytest.mark.parametrize("replicated", [False, True])
def test_in_a_root(tmp_path: Path, end: int, *, replicated: bool) -> None:
    partition = TopicPartition("t", 0)
    root = LogDirectory.open(tmp_path, CONFIG, replicated=True)
    log = root.create(partition)
    fill(log)
    root.checkpoint()
    before = (tmp_path / RECOVERY_POINT_CHECKPOINT).read_bytes()
    log.truncate_to(end)
    root.abandon()
    (tmp_path / RECOVERY_POINT_CHECKPOINT).write_bytes(before)
    with LogDirectory.open(tmp_path, CONFIG) as again:
        assert f"ends at offset {end}, before its recovery point {RECORDS}" in str(again.unreadable[partition])
        log = again.open_unreadable(partition, damage="raise" if replicated else "cut", replicated=replicated)
        assert offsets(log) == list(range(end))
        assert all(tail.bytes == 0 for tail in log.report.dropped)
    with LogDirectory.open(tmp_path, CONFIG) as again:
        assert not again.unreadable
        assert offsets(again.log(partition)) == list(range(end))


@pytest.mark.parametrize("end", [5, 17, RECORDS - 1])
def test_in_a_root_of_ours_nothing_is_missed(tmp_path: Path, end: int) -> None:
    partition = TopicPartition("t", 0)
    root = LogDirectory.open(tmp_path, CONFIG, replicated=True)
    log = root.create(partition)
    fill(log)
    root.checkpoint()
    log.truncate_to(end)
    root.abandon()
    with LogDirectory.open(tmp_path, CONFIG) as again:
        assert offsets(again.log(partition)) == list(range(end))


def cut_off(directory: Path, steps: int) -> Log:
    """Begin a truncation that breaks off after so many steps of the disk; the log is abandoned."""
    disk = FailingDisk(0, Failure.BROKEN)
    log = Log.open(directory, CONFIG, replicated=True, filesystem=disk)
    fill(log)
    disk.steps_left = steps
    with suppress(OSError):
        log.truncate_to(5)
    log.abandon()
    return log


@pytest.mark.parametrize("replicated", [False, True])
def test_in_a_log_that_stands_alone(tmp_path: Path, *, replicated: bool) -> None:
    """Its segments go one after the other: wherever that breaks off, it ends at one of them."""
    cuts = ((steps, len(whole(tmp_path / f"{steps}-0", steps))) for steps in range(1, STEPS))
    steps, end = next(cut for cut in cuts if cut[1] < RECORDS)
    log = cut_off(tmp_path / "t-0", steps)
    assert end > 5
    path = log.directory / RECOVERY_POINT_CHECKPOINT
    path.write_bytes(b"0\n1\nt 0 %d\n" % RECORDS)
    with pytest.raises(DamagedLogError, match=f"ends at offset {end}, before its recovery point {RECORDS}"):
        Log.open(log.directory, CONFIG)
    with Log.open(log.directory, CONFIG, damage="raise" if replicated else "cut", replicated=replicated) as again:
        assert offsets(again) == list(range(end))
        assert all(tail.bytes == 0 for tail in again.report.dropped)
    with Log.open(log.directory, CONFIG) as again:
        assert offsets(again) == list(range(end))


def whole(directory: Path, steps: int) -> list[int]:
    """Let a truncation break off, and return what an only copy has of the log: it is refused at no step."""
    log = cut_off(directory, steps)
    with Log.open(log.directory, CONFIG) as again:
        found = offsets(again)
    assert found == list(range(len(found)))
    return found


def test_a_log_that_stands_alone_is_refused_at_no_step(tmp_path: Path) -> None:
    ends = [len(whole(tmp_path / f"t-{steps}", steps)) for steps in range(1, STEPS)]
    assert ends[0] == RECORDS
    assert ends[-1] == 5
    assert ends == sorted(ends, reverse=True)
