"""A truncation of a replica that a crash cut off, as an only copy: refused, and open as it was left.

The checkpoint is written behind the truncation. Nothing tells such a log from one that lost its end.
"""

import errno
import os
from pathlib import Path

import pytest

from logstore.directory.log_directory import LogDirectory
from logstore.errors import DamagedLogError
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition
from tests.disk import FailingDisk, Failure

CONFIG = LogConfig(segment_bytes=1_000, index_interval_bytes=100, retention_ms=-1)
RECORDS = 65


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
    log.truncate_to(end)
    root.abandon()
    with LogDirectory.open(tmp_path, CONFIG) as again:
        assert f"ends at offset {end}, before its recovery point {RECORDS}" in str(again.unreadable[partition])
        log = again.open_unreadable(partition, damage="raise" if replicated else "cut", replicated=replicated)
        assert offsets(log) == list(range(end))
        assert all(tail.bytes == 0 for tail in log.report.dropped)
    with LogDirectory.open(tmp_path, CONFIG) as again:
        assert not again.unreadable
        assert offsets(again.log(partition)) == list(range(end))


@pytest.mark.parametrize("replicated", [False, True])
def test_in_a_log_that_stands_alone(tmp_path: Path, *, replicated: bool) -> None:
    """Its segments go one after the other: wherever that breaks off, it ends at one of them."""
    disk = FailingDisk(0, Failure.BROKEN)
    log = Log.open(tmp_path / "t-0", CONFIG, replicated=True, filesystem=disk)
    fill(log)
    end = log.segments[-1].base_offset
    disk.steps_left = 2
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        log.truncate_to(5)
    log.abandon()
    with pytest.raises(DamagedLogError, match=f"ends at offset {end}, before its recovery point {RECORDS}"):
        Log.open(log.directory, CONFIG)
    with Log.open(log.directory, CONFIG, damage="raise" if replicated else "cut", replicated=replicated) as again:
        assert offsets(again) == list(range(end))
        assert all(tail.bytes == 0 for tail in again.report.dropped)
    with Log.open(log.directory, CONFIG) as again:
        assert offsets(again) == list(range(end))
