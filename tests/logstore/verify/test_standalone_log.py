"""What verify says of the directory of a log that stands alone, which keeps its own checkpoints."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.offline_log_directory import open_offline
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import verify_partition

OFFSETS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint")


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    """A log of ten records that was closed in order, and begins at its third."""
    with Log.open(tmp_path / "queue-0") as log:
        log.append([Record(0, offset, b"k", b"v") for offset in range(10)], leader_epoch=0)
        log.update_high_watermark(10)
        log.delete_records(3)
    return tmp_path / "queue-0"


def found(directory: Path) -> list[tuple[str, str | None]]:
    return [(each.kind, each.file) for each in verify_partition(PartitionDirectory.open(directory), records=True)]


def test_its_files_are_known(queue: Path) -> None:
    names = {file.name for file in queue.iterdir()}
    assert {*OFFSETS, ".kafka_cleanshutdown"} < names
    assert found(queue) == []
    opened = open_offline(queue)
    assert isinstance(opened, PartitionDirectory)
    assert opened.log_start_offset == 3


def test_its_files_are_not_known_in_a_broker_s_partition(queue: Path) -> None:
    (queue.parent / OFFSETS[0]).write_text("0\n1\nqueue 0 10\n")
    assert {kind for kind, _ in found(queue)} >= {"unknown-file"}


@pytest.mark.parametrize(
    ("name", "kind"), list(zip(OFFSETS, ("recovery-point", "high-watermark", "log-start"), strict=True))
)
def test_its_checkpoints_may_not_claim_more_than_the_log_has(name: str, kind: str, queue: Path) -> None:
    (queue / name).write_text("0\n1\nqueue 0 11\n")
    assert (f"{kind}-beyond-log-end", name) in found(queue)


@pytest.mark.parametrize("name", OFFSETS)
def test_its_checkpoints_can_be_parsed_and_are_its_own(name: str, queue: Path) -> None:
    (queue / name).write_text("0\n2\nqueue 0 3\n")
    assert ("checkpoint-unparsable", name) in found(queue)
    (queue / name).write_text("0\n1\nother 1 3\n")
    assert ("checkpoint-of-another-log", name) in found(queue)


@pytest.mark.parametrize("name", [*OFFSETS, ".kafka_cleanshutdown"])
def test_its_checkpoints_are_files(name: str, queue: Path) -> None:
    (queue / name).unlink()
    os.mkfifo(queue / name)
    assert [each for each in found(queue) if each[1] == name] == [("not-a-file", name)]


def test_its_clean_shutdown_file_can_be_parsed(queue: Path) -> None:
    (queue / ".kafka_cleanshutdown").write_text("{")
    assert found(queue) == [("clean-shutdown-unparsable", ".kafka_cleanshutdown")]


@pytest.mark.parametrize("end", [Log.close, Log.abandon])
def test_all_that_the_only_copy_writes_is_known(queue: Path, end: Callable[[Log], None]) -> None:
    log = Log.open(queue)
    log.cursor("reader").commit()
    log.append_batches(encode_batch([Record(0, 0, b"k", b"v")], BatchTemplate(base_offset=10, leader_epoch=1)))
    log.backup(queue.parent / "backup" / "queue-0")
    end(log)
    assert {".reserve", "promised-offsets", ".epochlog-followed"} < {file.name for file in queue.iterdir()}
    assert found(queue) == []
    assert found(queue.parent / "backup" / "queue-0") == []


@pytest.mark.parametrize("fault", ["a segment is gone", "a segment is short", "the end is gone"])
def test_a_hole_that_is_known_is_named_and_is_no_missing_segment(tmp_path: Path, fault: str) -> None:
    directory = tmp_path / "queue-0"
    with Log.open(directory, LogConfig(segment_bytes=200)) as log:
        for number in range(12):
            log.append([b"%d" % number * 20])
    segments = sorted(directory.glob("*.log"))
    if fault == "a segment is gone":
        segments[1].unlink()
        assert ("missing-segment", segments[1].name) in found(directory)
    elif fault == "the end is gone":
        segments[-1].unlink()
    else:
        os.truncate(segments[1], 40)
    Log.open(directory, damage="hole").close()
    findings = list(verify_partition(PartitionDirectory.open(directory), records=True))
    (hole,) = (each for each in findings if each.kind == "known-hole")
    assert hole.offset == int(segments[-1 if fault == "the end is gone" else 1].stem)
    assert {each.kind for each in findings if each.severity.is_damage} == {"known-hole"}
    assert {each.file for each in findings if each.kind == "set-aside"} == {
        file.name for file in directory.glob("*.set-aside")
    }
    assert not [each for each in findings if each.kind == "unknown-file"]
