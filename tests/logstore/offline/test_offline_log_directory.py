"""Which directories are partitions, which are roots, and which are neither."""

from pathlib import Path

import pytest

from logstore import Log, NotALogDirectoryError, Record, TopicPartition
from logstore.offline.offline_log_directory import OfflineLogDirectory, open_offline
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import verify

SEGMENT = f"{0:020}.log"
OF_A_STANDALONE_LOG = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
    ".kafka_cleanshutdown",
    ".lock",
)
OF_A_ROOT = ("meta.properties", "bootstrap.checkpoint")


def make(directory: Path, *names: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name in names:
        (directory / name).write_bytes(b"")
    return directory


def test_a_directory_of_logs_that_stand_alone_is_a_root_of_partitions(tmp_path: Path) -> None:
    for number in range(2):
        with Log.open(tmp_path / f"queue-{number}") as log:
            log.append([Record(0, 0, b"k", b"v")] * (number + 1), leader_epoch=0)
            log.update_high_watermark(1)

    root = open_offline(tmp_path)

    assert isinstance(root, OfflineLogDirectory)
    partitions = {each.topic_partition: each.checkpoints.high_watermark for each in root.partitions()}
    assert partitions == {TopicPartition("queue", 0): 1, TopicPartition("queue", 1): 1}
    assert [each for each in verify(root, records=True) if each.severity.needs_attention] == []


@pytest.mark.parametrize("beside", OF_A_STANDALONE_LOG)
def test_a_partition_is_one_whatever_a_log_that_stands_alone_keeps_beside_it(beside: str, tmp_path: Path) -> None:
    directory = make(tmp_path / "queue-0", SEGMENT, beside)

    assert isinstance(open_offline(directory), PartitionDirectory)
    assert isinstance(open_offline(tmp_path), OfflineLogDirectory)


@pytest.mark.parametrize("beside", OF_A_ROOT)
def test_a_root_is_one_though_it_be_called_like_a_partition_and_a_segment_have_strayed_into_it(
    beside: str, tmp_path: Path
) -> None:
    assert isinstance(open_offline(make(tmp_path / "broker-1", SEGMENT, beside)), OfflineLogDirectory)
    with pytest.raises(NotALogDirectoryError, match=r"neither a log\.dirs root"):
        open_offline(tmp_path)


@pytest.mark.parametrize("names", [(), (".lock",), ("notes.txt",), ("x.tmp",)])
def test_what_holds_nothing_of_kafkas_is_refused_whatever_it_is_called(names: tuple[str, ...], tmp_path: Path) -> None:
    for directory in (make(tmp_path / "queue-0", *names), tmp_path, make(tmp_path / "other", *names)):
        with pytest.raises(NotALogDirectoryError, match=r"neither a log\.dirs root"):
            open_offline(directory)
