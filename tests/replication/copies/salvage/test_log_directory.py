"""Salvaged records as a log directory: keys, headers and times are those that they had."""

from pathlib import Path

import pytest

from logstore.batch.batch_attributes import TimestampType
from logstore.directory.log_directory import LogDirectory
from logstore.topic_partition import TopicPartition
from replication.copies.salvage.files.log_directory import log_directory
from replication.copies.salvage.salvaged_record import SalvagedRecord
from tests.logstore.verify.logs import kinds

TIMES = [[-1000, -1], [-1, 5], [5, -(2**63), 2**62], [-7], [1_700_000_000_000, -86_400_000]]


@pytest.mark.parametrize("times", TIMES)
def test_times_before_1970_are_kept(tmp_path: Path, times: list[int]) -> None:
    root = tmp_path / "salvaged"
    with log_directory(root) as add:
        for number, time in enumerate(times):
            key = b"%d" % number
            kept = time, TimestampType.CREATE_TIME, key, b"v", ()
            add(SalvagedRecord("t", 0, 0, number, *kept, -1, -1, -1, "broker-1", number))
    with LogDirectory.open(root) as directory:
        log = directory.log(TopicPartition("t", 0))
        assert [each.timestamp for each in log.records()] == times
    assert kinds(root / "t-0", records=True) == []
