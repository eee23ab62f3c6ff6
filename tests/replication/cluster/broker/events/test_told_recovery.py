"""What recovery does to logs is told as they are opened; after a stop in order there is nothing to tell."""

import logging
from pathlib import Path

import pytest

from logstore import LogObserver, Record, RecoveryReport, TopicPartition
from logstore.directory.log_directories import LogDirectories
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
from replication.cluster.broker.events.event_counts import EventCounts
from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME
from replication.cluster.broker.events.told_recovery import tell_recovery, with_recovery

SOUND, CUT = TopicPartition("sound", 0), TopicPartition("cut", 1)
RECORDS = 3


class Reports(LogObserver):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.directories: list[str] = []

    def recovered(self, directory: Path, report: RecoveryReport, /) -> None:
        del report
        self.directories.append(directory.name)


def left(root: Path, *, high_watermark: int = 0) -> LogDirectories:
    """Two logs of three batches each, as they were opened."""
    directories = LogDirectories.open([root], replicated=True, damage="hold")
    for partition in (SOUND, CUT):
        log = directories.create(partition)
        for number in range(RECORDS):
            log.append([Record.of(b"%d" % number)], leader_epoch=0)
        log.update_high_watermark(high_watermark)
    directories.roots[0].checkpoint_high_watermarks()
    return directories


def last_byte_flipped(root: Path) -> None:
    path = root / str(CUT) / f"{0:020d}.log"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def told(
    caplog: pytest.LogCaptureFixture, root: Path, counts: EventCounts, observer: LogObserver | None = None
) -> list[dict[str, object]]:
    """Open the root as a broker does, and return what that says."""
    caplog.clear()
    with (
        caplog.at_level(logging.INFO, LOGGER_NAME),
        LogDirectories.open(
            [root], replicated=True, damage="hold", observer=with_recovery(observer, counts)
        ) as directories,
    ):
        tell_recovery(directories)
    return [getattr(record, FIELDS) for record in caplog.records if record.name == LOGGER_NAME]


@pytest.mark.parametrize(("high_watermark", "below"), [(0, None), (RECORDS - 1, None), (RECORDS, True)])
def test_a_log_that_is_cut_and_the_directory(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, high_watermark: int, below: bool | None
) -> None:
    left(tmp_path, high_watermark=high_watermark).abandon()
    last_byte_flipped(tmp_path)
    counts = EventCounts()
    cut, directory = told(caplog, tmp_path, counts)
    assert (cut["event"], cut["topic"], cut["partition"]) == ("recovery-truncation", *CUT)
    assert (cut["directory"], cut["file"]) == (str(tmp_path / "cut-1"), f"{0:020d}.log")
    assert (cut["from"], cut["to"], cut["records"]) == (RECORDS, RECORDS - 1, 1)
    assert (cut["high_watermark"], cut["below_high_watermark"]) == (high_watermark, below)
    assert cut["why"] == "a batch's checksum does not match"
    assert (directory["event"], directory["logs"], directory["truncated_logs"]) == ("recovery", 2, 1)
    assert (counts.recovery_truncations, counts.records_truncated_by_recovery) == (1, 1)
    assert counts.recovery_truncations_below_high_watermark == bool(below)


def test_a_log_that_ends_below_its_high_watermark(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    left(tmp_path, high_watermark=RECORDS).abandon()
    (tmp_path / str(CUT) / f"{0:020d}.log").write_bytes(b"")
    cut, _ = told(caplog, tmp_path, EventCounts())
    assert (cut["topic"], cut["file"], cut["to"], cut["below_high_watermark"]) == ("cut", None, 0, True)


def test_an_unclean_stop_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    left(tmp_path).abandon()
    (directory,) = told(caplog, tmp_path, EventCounts())
    size = sum(path.stat().st_size for path in tmp_path.rglob("*.log"))
    assert (directory["directory"], directory["segments"], directory["bytes"]) == (str(tmp_path), 2, size)


def test_after_a_stop_in_order_and_at_the_first_start_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert told(caplog, tmp_path, EventCounts()) == []
    left(tmp_path).close()
    assert told(caplog, tmp_path, EventCounts()) == []


def test_a_log_that_is_torn_though_it_was_closed_in_order(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    left(tmp_path).close()
    with (tmp_path / str(CUT) / f"{0:020d}.log").open("ab") as log:
        log.write(b"torn")
    (cut,) = told(caplog, tmp_path, EventCounts())
    assert (cut["event"], cut["records"], cut["bytes"], cut["from"], cut["to"]) == (
        "recovery-truncation",
        0,
        4,
        None,
        RECORDS,
    )


def test_a_copy_that_is_being_moved_is_not_told_as_its_original_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    observer = with_recovery(None, EventCounts())
    with caplog.at_level(logging.INFO, LOGGER_NAME):
        observer.recovered(
            tmp_path / "cut-1.7a6f01d4c1d84a1fa1a1f6a3c60b8c07-future", RecoveryReport(high_watermark_before=3)
        )
        assert caplog.records == []
        observer.recovered(tmp_path / "cut-1", RecoveryReport(high_watermark_before=3))
    assert len(caplog.records) == 1


def test_another_observer_is_told_too(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    left(tmp_path).abandon()
    others = Reports()
    told(caplog, tmp_path, EventCounts(), others)
    assert sorted(others.directories) == ["cut-1", "sound-0"]


def test_without_a_checkpoint_the_high_watermark_is_unknown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    left(tmp_path, high_watermark=RECORDS).abandon()
    (tmp_path / HIGH_WATERMARK_CHECKPOINT).unlink()
    last_byte_flipped(tmp_path)
    cut, _ = told(caplog, tmp_path, EventCounts())
    assert (cut["high_watermark"], cut["below_high_watermark"]) == (None, None)
