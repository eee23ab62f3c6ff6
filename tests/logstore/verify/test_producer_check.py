"""Which producer snapshots contradict the log."""

from pathlib import Path

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.producer_snapshot import ProducerSnapshot, ProducerStateEntry
from logstore.indexes.transaction_index import AbortedTransaction
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.verify import Severity, verify_root
from tests.logstore.batches import batch, record, simple_batch
from tests.logstore.verify.logs import COMPACTED, findings, kinds, marker, thinned, transactional, write_log

LOG = [transactional(7, 0, 5), transactional(8, 5, 5), transactional(7, 10, 5), marker(8, 15), transactional(8, 16, 4)]


def write(root: Path, snapshots: dict[int, dict[int, int]], log: list[bytes] = LOG, *, name: str = "t-0") -> Path:
    """Snapshots, by offset, of each producer's last offset."""
    directory = write_log(root, {0: log}, name=name)
    # The transaction that the log aborts, so that there is nothing to say of its index.
    (directory / f"{0:020d}.txnindex").write_bytes(AbortedTransaction(8, 5, 15, 0).encode())
    for offset, last_offsets in snapshots.items():
        write_snapshot(directory, offset, last_offsets)
    return directory


def entry(producer: int, last_offset: int, offset: int) -> ProducerStateEntry:
    """What a snapshot at `offset` says of a producer in LOG that wrote last at `last_offset`."""
    delta = 3 if last_offset == 19 else 0 if last_offset > 19 else 4
    begun = {7: min(offset // 20 * 20, last_offset), 8: 16 if offset > 16 else -1 if offset == 16 else 5}.get(
        producer, -1
    )
    return ProducerStateEntry(producer, 0, -1, last_offset, delta, 1_000, 0, begun)


def write_snapshot(directory: Path, offset: int, last_offsets: dict[int, int]) -> None:
    entries = tuple(entry(producer, last, offset) for producer, last in last_offsets.items())
    (directory / f"{offset:020d}.snapshot").write_bytes(ProducerSnapshot(entries).encode())


@pytest.mark.parametrize(
    ("offset", "last_offsets"),
    [(0, {}), (5, {7: 4}), (10, {7: 4, 8: 9}), (15, {7: 14, 8: 9}), (16, {7: 14, 8: 9}), (20, {7: 14, 8: 19})],
)
def test_a_snapshot_is_of_the_producers_before_its_offset(
    tmp_path: Path, offset: int, last_offsets: dict[int, int]
) -> None:
    assert findings(write(tmp_path, {offset: last_offsets})) == []


def test_all_snapshots_are_compared_each_with_its_own_offset(tmp_path: Path) -> None:
    directory = write(tmp_path, {5: {7: 4}, 10: {7: 3}, 15: {7: 14, 8: 9}, 20: {7: 14, 8: 9}})
    assert [(each.kind, each.file, each.offset) for each in findings(directory)] == [
        ("snapshot-differs", f"{10:020d}.snapshot", 3),
        ("snapshot-differs", f"{20:020d}.snapshot", 9),
    ]


def test_producers_that_a_snapshot_lacks_have_expired(tmp_path: Path) -> None:
    assert findings(write(tmp_path, {20: {8: 19}})) == []


def test_a_producer_that_the_log_does_not_know(tmp_path: Path) -> None:
    assert kinds(write(tmp_path, {20: {7: 14, 8: 19, 9: 3}})) == ["snapshot-differs"]


def test_a_producer_that_wrote_before_the_log_starts(tmp_path: Path) -> None:
    directory = write_log(tmp_path, {20: [transactional(7, 20)]})
    write_snapshot(directory, 21, {7: 20, 9: 19})
    assert findings(directory) == []
    write_snapshot(directory, 21, {7: 20, 9: 20})
    assert kinds(directory) == ["snapshot-differs"]


def test_a_snapshot_beyond_the_end_is_removed_by_kafka(tmp_path: Path) -> None:
    found = findings(write(tmp_path, {21: {9: 20}}))
    assert [(each.kind, each.severity, each.offset) for each in found] == [
        ("snapshot-beyond-log-end", Severity.WARNING, 21)
    ]


def test_a_snapshot_that_cannot_be_read(tmp_path: Path) -> None:
    directory = write(tmp_path, {10: {7: 4, 8: 9}})
    path = directory / f"{10:020d}.snapshot"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    assert [(each.kind, each.position) for each in findings(directory)] == [("snapshot-unreadable", 2)]


def test_after_damage_nothing_is_compared(tmp_path: Path) -> None:
    damaged = batch(records=[record()], base_offset=20, crc=0)
    assert kinds(write(tmp_path, {10: {7: 3}}, [*LOG, damaged])) == ["corrupt-batch"]
    (tmp_path / "torn").mkdir()
    assert kinds(write(tmp_path / "torn", {10: {7: 3}}, [*LOG, LOG[0][:30]])) == ["torn-batch"]


def test_nothing_is_compared_where_the_topic_is_compacted(tmp_path: Path) -> None:
    assert kinds(write(tmp_path, {10: {7: 3}}, name=COMPACTED)) == []


def test_nothing_is_compared_where_batches_show_the_cleaner(tmp_path: Path) -> None:
    assert kinds(write(tmp_path, {10: {7: 3}}, [*LOG, thinned(20)])) == []


@pytest.mark.parametrize(("coordinator_epoch", "expected"), [(0, []), (-1, []), (1, ["snapshot-differs"])])
def test_a_producer_that_was_forgotten_and_wrote_again_has_met_no_coordinator(
    tmp_path: Path, coordinator_epoch: int, expected: list[str]
) -> None:
    directory = write(tmp_path, {})
    known = entry(8, 19, 20)._replace(coordinator_epoch=coordinator_epoch)
    (directory / f"{20:020d}.snapshot").write_bytes(ProducerSnapshot((known,)).encode())
    assert kinds(directory) == expected


def test_a_producer_whose_marker_came_last_has_met_its_coordinator(tmp_path: Path) -> None:
    directory = write(tmp_path, {})
    forgotten = entry(8, 9, 16)._replace(coordinator_epoch=-1)
    (directory / f"{16:020d}.snapshot").write_bytes(ProducerSnapshot((forgotten,)).encode())
    assert kinds(directory) == ["snapshot-differs"]


def test_a_transaction_that_began_before_the_log_start_may_be_forgotten(tmp_path: Path) -> None:
    for log_start, expected in ((0, ["snapshot-differs"]), (6, [])):
        root = tmp_path / str(log_start)
        root.mkdir()
        (root / "log-start-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, log_start)]))
        plain = batch(records=[record()], base_offset=6, producer_id=7, producer_epoch=0, base_sequence=0)
        other = batch(records=[record()], base_offset=5)
        directory = write_log(root, {0: [transactional(7, 0, 5), other, plain]})
        known = ProducerStateEntry(7, 0, 0, 6, 0, 1_000, -1, -1)
        (directory / f"{7:020d}.snapshot").write_bytes(ProducerSnapshot((known,)).encode())
        found = [each.kind for each in verify_root(OfflineLogDirectory.open(root)) if each.kind.startswith("snapshot")]
        assert found == expected


class TestSnapshotsThatAreAllMissing:
    def test_a_broker_that_stopped_in_order_has_left_one(self, tmp_path: Path) -> None:
        directory = write(tmp_path, {})
        (tmp_path / CLEAN_SHUTDOWN_NAME).touch()
        assert [(each.kind, each.severity, each.file) for each in findings(directory)] == [
            ("producer-snapshots-missing", Severity.ERROR, f"{20:020d}.snapshot")
        ]

    def test_one_that_was_killed_reads_the_log(self, tmp_path: Path) -> None:
        assert kinds(write(tmp_path, {})) == []

    def test_a_log_without_producers_has_nothing_to_forget(self, tmp_path: Path) -> None:
        directory = write(tmp_path, {}, [simple_batch(0, [b"v"] * 5)])
        (directory / f"{0:020d}.txnindex").unlink()
        (tmp_path / CLEAN_SHUTDOWN_NAME).touch()
        assert kinds(directory) == []
