"""A disk on which files cannot be closed: all that is held is let go of all the same."""

import errno
import os
from pathlib import Path

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import LogClosedError
from logstore.topic_partition import TopicPartition


class DiskThatCannotClose(FileSystem):
    """Closes each file, and says that it could not."""

    fails = False

    def close(self, descriptor: int) -> None:
        super().close(descriptor)
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


@pytest.mark.parametrize("end", [LogDirectory.close, LogDirectory.abandon])
def test_all_logs_are_closed_and_the_root_is_free(tmp_path: Path, end: object) -> None:
    assert callable(end)
    disk = DiskThatCannotClose()
    directory = LogDirectory.open(tmp_path, filesystem=disk)
    logs = [directory.create(TopicPartition("orders", number)) for number in range(3)]
    for log in logs:
        log.append([Record.of(b"v")])
    disk.fails = True
    with pytest.raises(OSError):
        end(directory)
    end(directory)
    assert not directory.partitions
    for log in logs:
        with pytest.raises(LogClosedError):
            log.append([Record.of(b"later")])
    with LogDirectory.open(tmp_path) as again:
        assert [log.log_end_offset for log in again.partitions.values()] == [1, 1, 1]
