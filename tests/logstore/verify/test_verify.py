"""What verify says of logs that the shipped replicas do not have."""

from pathlib import Path
from types import SimpleNamespace

import cramjam
import pytest

from logstore.offline import tail_rereader
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, Severity, verify_partition, verify_root
from tests.logstore.batches import GZIP, batch, record
from tests.replication.partitions import ABatch, write_partition

TWO_EPOCHS = [(0, 0), (1, 20)]
BATCHES = [ABatch(0, 10, 0), ABatch(10, 10, 0), ABatch(20, 10, 1)]


def kinds(directory: Path, *, records: bool = False) -> list[str]:
    return [finding.kind for finding in findings(directory, records=records)]


def findings(directory: Path, *, records: bool = False) -> list[Finding]:
    found = list(verify_partition(PartitionDirectory.open(directory), records=records))
    # These logs are written without indexes, which Kafka would always have.
    return [finding for finding in found if finding.kind != "index-missing"]


def append(directory: Path, data: bytes) -> None:
    log = max(directory.glob("*.log"))
    log.write_bytes(log.read_bytes() + data)


def test_a_sound_log_has_no_findings(tmp_path: Path) -> None:
    assert kinds(write_partition(tmp_path, BATCHES, TWO_EPOCHS), records=True) == []


def test_what_a_group_coordinator_writes_is_sound() -> None:
    offsets = Path(__file__).parents[2] / "data/consumer-offsets/__consumer_offsets-0"
    assert list(verify_partition(PartitionDirectory.open(offsets), records=True)) == []


def test_an_empty_log_has_no_findings(tmp_path: Path) -> None:
    assert kinds(write_partition(tmp_path, [], [], start=40)) == []


def test_all_damage_is_found_not_only_the_first(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, BATCHES, TWO_EPOCHS)
    log = next(directory.glob("*.log"))
    data = bytearray(log.read_bytes())
    size = len(BATCHES[0].encoded())
    data[size - 1] ^= 1  # inside the first batch
    data[size + 8 : size + 12] = bytes(4)  # the second one's length
    log.write_bytes(data)
    assert [(each.kind, each.position, each.offset) for each in findings(directory)] == [
        ("corrupt-batch", 0, 0),
        ("unreadable-bytes", size, 10),
    ]


def test_a_tail_that_is_still_being_written_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = write_partition(tmp_path, BATCHES, TWO_EPOCHS)
    log = next(directory.glob("*.log"))
    more = ABatch(30, 10, 1).encoded()
    log.write_bytes(log.read_bytes() + more[:40])
    opened = PartitionDirectory.open(directory)

    def finish_the_write(_pause: float) -> None:
        with log.open("ab") as file:
            file.write(more[40:])

    monkeypatch.setattr(tail_rereader, "time", SimpleNamespace(sleep=finish_the_write))
    assert [finding.kind for finding in verify_partition(opened) if finding.kind != "index-missing"] == []
    assert log.stat().st_size == 4 * len(more)


def test_a_tail_that_stays_torn_is_damage(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, BATCHES, TWO_EPOCHS)
    append(directory, ABatch(30, 10, 1).encoded()[:40])
    assert kinds(directory) == ["torn-batch"]


def test_bytes_after_the_log_that_are_zero_are_told_from_garbage(tmp_path: Path) -> None:
    zeros = write_partition(tmp_path / "zeros", BATCHES, TWO_EPOCHS)
    append(zeros, bytes(500))
    garbage = write_partition(tmp_path / "garbage", BATCHES, TWO_EPOCHS)
    append(garbage, b"\x55" * 500)
    assert [(each.kind, each.severity) for each in findings(zeros)] == [("zero-tail", Severity.INFO)]
    assert [(each.kind, each.severity) for each in findings(garbage)] == [("unreadable-bytes", Severity.ERROR)]


def test_holes_are_normal_in_a_compacted_log_only(tmp_path: Path) -> None:
    batches = [ABatch(0, 10, 0), ABatch(25, 10, 0)]
    topic = write_partition(tmp_path, batches, [(0, 0)])
    offsets = write_partition(tmp_path, batches, [(0, 0)], name="__consumer_offsets-3")
    assert kinds(topic) == ["offset-gap"]
    assert kinds(offsets) == []


def test_a_log_that_shows_traces_of_the_cleaner_counts_as_compacted(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, [ABatch(0, 10, 0), ABatch(25, 10, 0)], [(0, 0)])
    thinned = batch(base_offset=35, records=[record(offset_delta=4)], last_offset_delta=9)
    append(directory, thinned)
    assert kinds(directory, records=True) == []


def test_records_are_checked_where_asked(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, BATCHES, TWO_EPOCHS)
    append(directory, batch(base_offset=30, leader_epoch=1, records=[record(length=50)]))
    assert kinds(directory) == []
    assert kinds(directory, records=True) == ["record-unreadable"]


def test_a_decompression_bomb_is_no_record(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, BATCHES, TWO_EPOCHS)
    bomb = bytes(cramjam.gzip.compress(bytes(600 << 20), level=9))
    append(
        directory,
        batch(base_offset=30, leader_epoch=1, section=bomb, attributes=GZIP, record_count=1, last_offset_delta=0),
    )
    assert kinds(directory, records=True) == ["record-unreadable"]


def test_links_that_leave_the_root_are_reported_and_not_followed(tmp_path: Path) -> None:
    outside = write_partition(tmp_path / "outside", BATCHES, TWO_EPOCHS)
    root = tmp_path / "root"
    inside = write_partition(root, BATCHES, TWO_EPOCHS)
    (root / "stolen-0").symlink_to(outside)
    (inside / "00000000000000000099.log").symlink_to(next(outside.glob("*.log")))
    found = [each for each in verify_root(OfflineLogDirectory.open(root)) if each.kind != "index-missing"]
    assert [(each.kind, each.file) for each in found] == [
        ("link-leaves-root", "stolen-0"),
        ("link-leaves-root", "00000000000000000099.log"),
    ]


def test_a_doubtful_clean_shutdown_marker_is_reported(tmp_path: Path) -> None:
    write_partition(tmp_path, BATCHES, TWO_EPOCHS)
    (tmp_path / ".kafka_cleanshutdown").write_text('{"version":0,"brokerEpoch":7}')
    (tmp_path / "recovery-point-offset-checkpoint").write_text("0\n1\nt 0 10\n")
    found = [each for each in verify_root(OfflineLogDirectory.open(tmp_path)) if each.kind != "index-missing"]
    assert [(each.kind, each.offset) for each in found] == [("clean-shutdown-doubtful", 10)]


def test_left_over_directories_are_named(tmp_path: Path) -> None:
    write_partition(tmp_path, BATCHES, TWO_EPOCHS)
    (tmp_path / "t-1.0123456789abcdef0123456789abcdef-delete").mkdir()
    found = [each for each in verify_root(OfflineLogDirectory.open(tmp_path)) if each.kind != "index-missing"]
    assert [(each.kind, each.topic, each.partition) for each in found] == [("left-over-directory", "t", 1)]


def test_batches_below_their_segment_are_reported(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, BATCHES, TWO_EPOCHS, segment_batches=2)
    second = directory / "00000000000000000020.log"
    second.rename(directory / "00000000000000000025.log")
    assert "batch-below-segment" in kinds(directory)


def test_epoch_starts_are_compared_with_the_batches(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, BATCHES, [(0, 0), (1, 19)])
    assert kinds(directory) == ["epoch-start-differs"]


def test_epochs_that_no_batch_carries_are_reported(tmp_path: Path) -> None:
    directory = write_partition(tmp_path, [*BATCHES, ABatch(30, 5, 3)], [(0, 0), (1, 20), (2, 25), (3, 30)])
    assert kinds(directory) == ["epoch-without-batches"]
