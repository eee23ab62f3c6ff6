"""A log that stands alone may be in a directory of any name."""

from pathlib import Path

import pytest

from logstore import (
    InvalidDirectoryNameError,
    Log,
    LogConfig,
    LogDirectory,
    NotALogDirectoryError,
    PartitionDirectory,
    TopicPartition,
    open_offline,
)
from logstore.log.frozen_log import FrozenLog
from logstore.log.log_opening import LogOpening
from logstore.log.segment_roller import SegmentRoller
from logstore.segment.live_segment import LiveSegment
from logstore.verify.verify import verify

NAMES = ("events", "my events", "événements", "a\nb", "events.abc-delete", "-0", "..hidden", "x" * 246)


def filled(directory: Path) -> Path:
    with Log.open(directory) as log:
        log.append([b"one", b"two", b"three"])
        log.flush()
        log.delete_records(1)
        log.cursor("worker").commit(2)
    return directory


@pytest.mark.parametrize("name", NAMES)
def test_it_is_opened_again_without_recovery_and_has_what_it_had(tmp_path: Path, name: str) -> None:
    with Log.open(filled(tmp_path / name)) as log:
        assert log.report.recovered_segments == 0
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (1, 3, 3)
        assert log.cursor("worker").position == 2
        assert [record.value for record in log.records()] == [b"two", b"three"]


@pytest.mark.parametrize("name", NAMES)
def test_it_is_recovered_with_what_was_promised(tmp_path: Path, name: str) -> None:
    filled(tmp_path / name)
    log = Log.open(tmp_path / name)
    log.append([b"four"], durable=True).result()
    log.abandon()
    with Log.open(tmp_path / name) as log:
        assert log.report.recovered_segments == 1
        assert (log.log_start_offset, log.log_end_offset) == (1, 4)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_read_by_others_verified_and_backed_up(tmp_path: Path, name: str) -> None:
    directory = filled(tmp_path / name)
    with Log.reader(directory) as reader, FrozenLog.open(directory) as frozen:
        assert [record.value for record in reader.records()] == [b"two", b"three"]
        assert [record.value for record in frozen.records()] == [b"two", b"three"]
    opened = open_offline(directory)
    assert isinstance(opened, PartitionDirectory)
    assert opened.checkpoints.log_start_offset == 1
    assert list(verify(opened)) == []
    with Log.open(directory) as log:
        log.backup(tmp_path / "backup" / name)
    with Log.open(tmp_path / "backup" / name) as copy:
        assert copy.report.recovered_segments == 0
        assert copy.log_start_offset == 1


def test_the_topic_is_called_as_the_directory_and_the_partition_is_0(tmp_path: Path) -> None:
    for name, topic in [("events", "events"), ("my events", "my_events"), ("événements", "_v_nements")]:
        with Log.open(tmp_path / name) as log:
            assert log.topic_partition == TopicPartition(topic, 0)
            assert (tmp_path / name / "recovery-point-offset-checkpoint").exists() is False
        assert (tmp_path / name / "recovery-point-offset-checkpoint").read_text() == f"0\n1\n{topic} 0 0\n"
    with Log.open(tmp_path / "events-3") as log:
        assert log.topic_partition == TopicPartition("events", 3)


def test_it_does_not_read_what_a_roots_files_say_of_the_topics_first_partition(tmp_path: Path) -> None:
    with LogDirectory.open(tmp_path) as root:
        root.create(TopicPartition("events", 0)).append([b"v"] * 9)
    filled(tmp_path / "events")
    assert PartitionDirectory.open(tmp_path / "events").checkpoints.recovery_point == 3
    with LogDirectory.open(tmp_path) as root:
        assert list(root.partitions) == [TopicPartition("events", 0)]
    for path in (tmp_path / "events").glob("*checkpoint"):
        path.unlink()
    (tmp_path / "events/.kafka_cleanshutdown").unlink()
    (tmp_path / "events/.reserve").unlink()
    assert PartitionDirectory.open(tmp_path / "events").checkpoints.recovery_point is None


@pytest.mark.parametrize("made", [True, False], ids=["with its checkpoint files", "as it was left by a crash"])
def test_a_root_of_logs_is_not_taken_for_a_log(tmp_path: Path, *, made: bool) -> None:
    with LogDirectory.open(tmp_path / "data") as root:
        root.create(TopicPartition("events", 0)).append([b"v"])
    if not made:
        for path in (tmp_path / "data").glob("*checkpoint"):
            path.unlink()
    before = sorted((tmp_path / "data").iterdir())
    with pytest.raises(NotALogDirectoryError, match=r"it holds events-0; open it with LogDirectory\.open"):
        Log.open(tmp_path / "data")
    assert sorted((tmp_path / "data").iterdir()) == before


def test_a_root_that_was_formatted_for_a_broker_is_not_taken_for_a_log(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/meta.properties").write_text("version=1\n")
    with pytest.raises(NotALogDirectoryError, match=r"it holds meta\.properties"):
        Log.open(tmp_path / "data")


def test_a_logs_directory_of_any_name_is_no_root(tmp_path: Path) -> None:
    with pytest.raises(NotALogDirectoryError, match=r"open it with Log\.open"):
        LogDirectory.open(filled(tmp_path / "events"))


def test_what_names_no_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(InvalidDirectoryNameError, match="pass a path that ends in its name, such as data/events"):
        Log.open("..")
    with Log.open(".") as log:
        assert log.topic_partition.topic == "here"


def test_readers_are_told_where_no_log_is(tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    with pytest.raises(NotALogDirectoryError, match="it holds no segments"):
        Log.reader(tmp_path / "events")


def test_in_a_root_it_has_to_be_a_partitions(tmp_path: Path) -> None:
    with Log.open(tmp_path / "events") as log, pytest.raises(InvalidDirectoryNameError):
        LogOpening(log._environment, log.give_up())


def test_a_reader_stays_with_a_log_that_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[int] = []
    create = SegmentRoller.create
    with (
        Log.open(tmp_path / "my events", LogConfig(file_delete_delay_ms=0)) as log,
        Log.reader(log.directory) as reader,
    ):

        def created(roller: SegmentRoller, base_offset: int) -> LiveSegment:
            assert not list(log.directory.glob("*.log*"))
            ends.append(reader.log_end_offset)
            return create(roller, base_offset)

        monkeypatch.setattr(SegmentRoller, "create", created)
        log.append([b"one", b"two"])
        log.truncate_fully_and_start_at(100)
        assert (ends, reader.log_end_offset) == ([0], 100)
