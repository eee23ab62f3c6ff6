"""Opening a log: what is recovered, what is reported, and that a crash meanwhile changes nothing of the outcome."""

import errno
import os
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from epoch.checkpoint import LeaderEpochCheckpoint
from epoch.entry import EpochEntry
from epoch.filesystem import REAL, FileSystem
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.batch.batches import read_batches
from logstore.batch.columns import BatchColumns
from logstore.batch.record import Record
from logstore.errors import SegmentTooLargeError
from logstore.indexes.offset_index import OffsetIndex
from logstore.indexes.time_index import TimeIndex
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline import header_scan
from logstore.offline.header_scan import scan_headers
from logstore.recovery.loaded_log import LoadedLog
from logstore.recovery.log_loader import load_log
from logstore.segment.open_files import OpenFiles
from tests.disk import NamingDisk
from tests.logstore.batches import batch, record, simple_batch
from tests.open_files import open_files

CONFIG = LogConfig(index_interval_bytes=200, segment_index_bytes=4_096)
RECORDS = 3


def file(directory: Path, base_offset: int, suffix: str = "log") -> Path:
    return directory / f"{base_offset:020d}.{suffix}"


def batches(first: int, count: int, *, epoch: int) -> bytes:
    return b"".join(simple_batch(first + RECORDS * i, [b"v" * 20] * RECORDS, leader_epoch=epoch) for i in range(count))


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two segments: offsets 0 to 29 of epoch 1, and 30 to 59, the later half of them of epoch 4. Only `.log` files."""
    path = tmp_path / "t-0"
    path.mkdir()
    file(path, 0).write_bytes(batches(0, 10, epoch=1))
    file(path, 30).write_bytes(batches(30, 5, epoch=1) + batches(45, 5, epoch=4))
    return path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Five segments of one batch each, at offsets 0, 3, 6, 9 and 12."""
    path = tmp_path / "t-1"
    path.mkdir()
    for base_offset in range(0, 15, RECORDS):
        file(path, base_offset).write_bytes(batches(base_offset, 1, epoch=1))
    return path


def load(directory: Path, filesystem: FileSystem = REAL, **options: int) -> LoadedLog:
    return load_log(directory, CONFIG, filesystem=filesystem, **options)


def files(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def offsets_of(directory: Path, suffix: str) -> list[int]:
    return sorted(int(path.stem) for path in directory.glob(f"*.{suffix}"))


def append_of_producer(directory: Path) -> None:
    """Write offset 60, by producer 7."""
    now = time.time_ns() // 1_000_000  # older ones are forgotten after a day
    written = batch(
        base_offset=60,
        max_timestamp=now,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        records=[record(value=b"v")],
        leader_epoch=4,
    )
    with file(directory, 30).open("ab") as log:
        log.write(written)


class WithoutSnapshots(FileSystem):
    """Takes no snapshot of producers."""

    def open(self, path: Path, *, truncate: bool = False) -> int:
        if "snapshot" in path.name:
            raise OSError(errno.EIO, "the disk fails", str(path))
        return super().open(path, truncate=truncate)


class TestAfterACrash:
    def test_indexes_and_epochs_are_rebuilt_from_the_batches(self, directory: Path) -> None:
        loaded = load(directory)
        assert (loaded.log_start_offset, loaded.log_end_offset, loaded.recovery_point) == (0, 60, 0)
        assert loaded.epochs.entries == [EpochEntry(1, 0), EpochEntry(4, 45)]
        assert (directory / "leader-epoch-checkpoint").read_text() == "0\n2\n1 0\n4 45\n"
        index = OffsetIndex.read(file(directory, 30, "index"), 30)
        assert len(index) > 2
        assert index.zero_slots == 0
        assert TimeIndex.read(file(directory, 30, "timeindex"), 30).entries[-1].timestamp == 1_000
        assert loaded.report.recovered_batches == 20
        assert loaded.report.recovered_bytes == sum(file(directory, base).stat().st_size for base in (0, 30))
        assert not loaded.report.dropped

    def test_a_torn_tail_is_cut_and_reported(self, directory: Path) -> None:
        whole = file(directory, 30).read_bytes()
        file(directory, 30).write_bytes(whole + batches(60, 1, epoch=4)[:-5])
        loaded = load(directory)
        assert loaded.log_end_offset == 60
        assert file(directory, 30).read_bytes() == whole
        (tail,) = loaded.report.dropped
        assert (tail.file, tail.position) == (file(directory, 30).name, len(whole))
        assert tail.reason == "the file ends inside a batch"
        assert loaded.report.dropped_bytes == len(batches(60, 1, epoch=4)) - 5
        assert loaded.report.changed

    def test_the_log_ends_at_the_first_damage_and_later_segments_go(self, directory: Path) -> None:
        data = bytearray(file(directory, 0).read_bytes())
        data[len(data) // 2 + 70] ^= 1
        file(directory, 0).write_bytes(data)
        loaded = load(directory)
        assert loaded.log_end_offset == 15
        assert [segment.base_offset for segment in loaded.segments] == [0]
        assert [tail.reason for tail in loaded.report.dropped] == [
            "a batch's checksum does not match",
            "it follows a damaged segment",
        ]
        assert not file(directory, 30).exists()
        assert loaded.epochs.entries == [EpochEntry(1, 0)]

    def test_what_is_dropped_is_reported_in_the_order_of_the_log(self, directory: Path) -> None:
        for base_offset in (60, 63):
            file(directory, base_offset).write_bytes(batches(base_offset, 1, epoch=4))
        damaged = bytearray(file(directory, 30).read_bytes())
        damaged[-1] ^= 1
        file(directory, 30).write_bytes(damaged)
        report = load(directory).report
        assert [tail.file for tail in report.dropped] == [file(directory, base).name for base in (30, 60, 63)]
        assert report.dropped[1].position == 0
        assert report.dropped_bytes == 3 * len(batches(60, 1, epoch=4))

    def test_what_lies_below_the_recovery_point_is_not_read(self, directory: Path) -> None:
        load(directory)
        data = bytearray(file(directory, 0).read_bytes())
        data[100] ^= 1
        file(directory, 0).write_bytes(data)
        loaded = load(directory, recovery_point=40)
        assert (loaded.log_end_offset, loaded.recovery_point) == (60, 40)
        assert loaded.report.recovered_segments == 1

    def test_an_entry_that_the_batches_contradict_goes(self, directory: Path) -> None:
        (directory / "leader-epoch-checkpoint").write_text("0\n3\n1 0\n2 9\n9 70\n")
        loaded = load(directory)
        assert loaded.epochs.entries == [EpochEntry(1, 0), EpochEntry(4, 45)]
        assert loaded.report.epochs_before == [EpochEntry(1, 0), EpochEntry(2, 9), EpochEntry(9, 70)]

    def test_a_checkpoint_that_cannot_be_read_is_rebuilt_from_all_batches(self, directory: Path) -> None:
        (directory / "leader-epoch-checkpoint").write_text("no checkpoint")
        loaded = load(directory, recovery_point=60)
        assert loaded.epochs.entries == [EpochEntry(1, 0), EpochEntry(4, 45)]
        assert "leader-epoch-checkpoint" in loaded.report.damaged_epoch_checkpoint

    @pytest.mark.parametrize("text", ["0\n1\n9 0\n", "0\n2\n1 0\n9 20\n", "0\n3\n1 0\n4 45\n7 50\n"])
    def test_later_epochs_than_the_batches_have_go_from_a_log_that_was_closed_in_order(
        self, directory: Path, text: str
    ) -> None:
        load(directory)
        (directory / "leader-epoch-checkpoint").write_text(text)
        loaded = load(directory, recovery_point=60, clean_shutdown=True)
        assert loaded.epochs.entries == [EpochEntry(1, 0), EpochEntry(4, 45)]
        assert "and the batch there has epoch 4" in loaded.report.damaged_epoch_checkpoint
        assert (directory / "leader-epoch-checkpoint").read_text() == "0\n2\n1 0\n4 45\n"
        again = load(directory, recovery_point=60, clean_shutdown=True)
        assert again.report.damaged_epoch_checkpoint == ""

    def test_a_last_batch_whose_epoch_was_altered_changes_no_history(self, directory: Path) -> None:
        load(directory)
        data = bytearray(file(directory, 30).read_bytes())
        last = list(read_batches(memoryview(data)))[-1]
        for epoch in (0, 1, 5):
            data[last.position + 12 : last.position + 16] = epoch.to_bytes(4)
            file(directory, 30).write_bytes(data)
            loaded = load(directory, recovery_point=60, clean_shutdown=True)
            assert loaded.epochs.entries == [EpochEntry(1, 0), EpochEntry(4, 45)]
            assert loaded.report.damaged_epoch_checkpoint == ""

    def test_an_epoch_that_has_written_nothing_yet_stays(self, directory: Path) -> None:
        load(directory)
        (directory / "leader-epoch-checkpoint").write_text("0\n3\n0 0\n1 0\n4 45\n")
        loaded = load(directory, recovery_point=60, clean_shutdown=True)
        assert loaded.epochs.entries[-2:] == [EpochEntry(1, 0), EpochEntry(4, 45)]

    def test_it_is_rebuilt_from_batches_that_recovery_would_not_look_at(self, directory: Path) -> None:
        load(directory)
        (directory / "leader-epoch-checkpoint").write_text("no checkpoint")
        damaged = bytearray(file(directory, 0).read_bytes())
        damaged[100] ^= 1
        file(directory, 0).write_bytes(damaged)
        loaded = load(directory, recovery_point=60)
        assert loaded.epochs.entries == [EpochEntry(1, 0), EpochEntry(4, 45)]
        assert loaded.report.recovered_segments == 1

    def test_a_log_whose_files_are_lost_begins_at_its_checkpointed_start(self, directory: Path) -> None:
        loaded = load(directory, log_start_offset=100)
        assert (loaded.log_start_offset, loaded.log_end_offset) == (100, 100)
        assert loaded.epochs.entries == []
        assert sorted(path.name for path in directory.glob("*.log")) == [file(directory, 100).name]
        assert "ends before its checkpointed start" in loaded.report.dropped[0].reason
        assert [tail.position for tail in loaded.report.dropped] == [0, 0]

    @pytest.mark.parametrize("clean_shutdown", [False, True])
    def test_what_was_known_of_a_log_that_begins_anew_is_forgotten(
        self, directory: Path, *, clean_shutdown: bool
    ) -> None:
        load(directory)
        assert offsets_of(directory, "snapshot") == [30, 60]
        loaded = load(directory, log_start_offset=100, recovery_point=7, clean_shutdown=clean_shutdown)
        assert (loaded.epochs.entries, loaded.recovery_point) == ([], 7)
        assert set(offsets_of(directory, "snapshot")) <= {100}

    def test_a_log_that_ends_at_its_checkpointed_start_keeps_its_files(self, directory: Path) -> None:
        loaded = load(directory, log_start_offset=60)
        assert (loaded.log_start_offset, loaded.log_end_offset) == (60, 60)
        assert not loaded.report.dropped
        assert offsets_of(directory, "log") == [0, 30]

    def test_an_empty_directory_becomes_an_empty_log(self, tmp_path: Path) -> None:
        (tmp_path / "t-0").mkdir()
        loaded = load(tmp_path / "t-0")
        assert (loaded.log_start_offset, loaded.log_end_offset, len(loaded.segments)) == (0, 0, 1)

    def test_the_epochs_begin_where_the_log_does(self, directory: Path) -> None:
        loaded = load(directory, log_start_offset=50)
        assert loaded.log_start_offset == 50
        assert loaded.epochs.entries == [EpochEntry(4, 50)]

    def test_a_segment_that_no_index_could_point_into_is_refused(
        self, directory: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("logstore.recovery.segment_recovery.MAX_SEGMENT_BYTES", 500)
        with pytest.raises(SegmentTooLargeError, match="more than the 500"):
            load(directory)
        assert not open_files(directory)

    def test_a_segment_without_room_for_its_offsets_gets_another_name(self, tmp_path: Path) -> None:
        path = tmp_path / "t-0"
        path.mkdir()
        far = 2**31 + 5
        file(path, 0).write_bytes(batches(far, 2, epoch=1))
        loaded = load(path)
        assert [segment.base_offset for segment in loaded.segments] == offsets_of(path, "log") == [far]
        assert loaded.report.split_segments == [file(path, 0).name]

    def test_each_segment_that_was_read_gets_a_snapshot_of_its_producers(self, many: Path) -> None:
        load(many)
        assert offsets_of(many, "snapshot") == [3, 6, 9, 12, 15]

    def test_later_segments_are_gone_for_good_before_the_damage_is_cut(self, directory: Path) -> None:
        load(directory)
        damaged = bytearray(file(directory, 0).read_bytes())
        damaged[-1] ^= 1
        file(directory, 0).write_bytes(damaged)
        disk = NamingDisk()
        load(directory, disk)
        removed, cut = (
            disk.steps.index(f"unlink {file(directory, 30).name}"),
            disk.steps.index(f"cut {file(directory, 0).name}"),
        )
        assert "sync t-0" in disk.steps[removed:cut]

    @pytest.mark.parametrize("clean_shutdown", [False, True])
    def test_the_largest_timestamp_is_known_and_looked_for_again_where_a_truncation_takes_it(
        self, tmp_path: Path, *, clean_shutdown: bool
    ) -> None:
        path = tmp_path / "t-0"
        path.mkdir()
        times = {0: 5_000, 1: 9_000, 2: 7_000}
        written = [batch(base_offset=at, max_timestamp=time, records=[record()]) for at, time in times.items()]
        file(path, 0).write_bytes(b"".join(written))
        load(path)
        (segment,) = load(path, clean_shutdown=clean_shutdown).segments
        assert segment.largest == (9_000, 1)
        segment.truncate_to(1)
        assert segment.largest == (5_000, 0)

    def test_it_is_known_how_long_it_took(self, directory: Path) -> None:
        begun = time.perf_counter()
        report = load(directory).report
        assert 0 < report.seconds <= time.perf_counter() - begun

    def test_an_opening_leaves_open_only_what_the_log_consists_of(self, directory: Path) -> None:
        load(directory)
        for snapshot in directory.glob("*.snapshot"):
            snapshot.unlink()
        opened = OpenFiles(100)
        for segment in load_log(directory, CONFIG, recovery_point=40, open_files=opened).segments:
            segment.abandon()
        assert len(opened) == 0

    def test_a_failed_opening_leaves_nothing_open(self, directory: Path) -> None:
        append_of_producer(directory)
        load(directory)
        file(directory, 61, "snapshot").unlink()
        opened = OpenFiles(100)
        with pytest.raises(OSError, match="snapshot"):
            load_log(directory, CONFIG, clean_shutdown=True, open_files=opened, filesystem=WithoutSnapshots())
        assert len(opened) == 0


class TestLeftOvers:
    def test_files_that_await_deletion_and_indexes_without_a_log_are_removed(self, directory: Path) -> None:
        load(directory)
        deleted, orphan = file(directory, 3, "log.deleted"), file(directory, 7, "index")
        for path in (deleted, orphan):
            path.touch()
        disk = NamingDisk()
        report = load(directory, disk, clean_shutdown=True).report
        assert report.removed_files == [deleted.name, orphan.name]
        assert disk.steps == [f"unlink {deleted.name}", f"unlink {orphan.name}", "sync t-0"]
        assert not deleted.exists()
        assert not orphan.exists()

    def test_a_completed_compaction_takes_the_place_of_what_it_covers(self, directory: Path) -> None:
        """It ends at offset 60, after which another segment follows."""
        file(directory, 59).write_bytes(simple_batch(59, leader_epoch=4))
        file(directory, 60).write_bytes(batches(60, 1, epoch=4))
        compacted = batches(0, 1, epoch=1) + simple_batch(59, leader_epoch=4)
        file(directory, 0, "log.swap").write_bytes(compacted)
        loaded = load(directory)
        assert [segment.base_offset for segment in loaded.segments] == [0, 60]
        assert loaded.log_end_offset == 63
        assert file(directory, 0).read_bytes() == compacted
        assert loaded.report.renamed_files == [file(directory, 0, "log.swap").name]
        assert set(loaded.report.removed_files) == {file(directory, base).name for base in (0, 30, 59)}
        assert not file(directory, 0, "log.swap").exists()

    def test_a_compaction_of_which_nothing_is_left_covers_up_to_where_it_begins(self, directory: Path) -> None:
        file(directory, 0, "log.swap").write_bytes(batches(0, 1, epoch=1))
        file(directory, 45, "log.swap").touch()
        loaded = load(directory)
        assert offsets_of(directory, "log") == [0, 45]
        assert set(loaded.report.removed_files) == {file(directory, base).name for base in (0, 30)}

    def test_an_empty_segment_at_the_front_covers_only_the_files_of_its_name(self, directory: Path) -> None:
        file(directory, 0).write_bytes(b"")
        file(directory, 0, "log.swap").touch()
        assert load(directory).report.removed_files == [file(directory, 0).name]
        assert offsets_of(directory, "log") == [0, 30]

    def test_links_are_none_of_its_files(self, directory: Path, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").write_bytes(batches(60, 1, epoch=4))
        file(directory, 60).symlink_to(tmp_path / "elsewhere")
        assert load(directory).log_end_offset == 60


class TestAfterACleanStop:
    def test_nothing_is_checked(self, directory: Path) -> None:
        load(directory)
        before = files(directory)
        loaded = load(directory, clean_shutdown=True)
        assert (loaded.log_end_offset, loaded.recovery_point) == (60, 60)
        assert not loaded.report.changed
        assert loaded.report.recovered_segments == 0
        assert files(directory) == before

    @pytest.mark.parametrize(
        "spoil",
        [
            lambda path: path.unlink(),
            lambda path: path.write_bytes(path.read_bytes() + b"odd"),
            lambda path: path.write_bytes(b"\xff" * path.stat().st_size),
        ],
        ids=["missing", "odd size", "nonsense"],
    )
    def test_a_bad_index_is_rebuilt_alone(self, directory: Path, spoil: Callable[[Path], object]) -> None:
        load(directory)
        right = file(directory, 0, "index").read_bytes()
        spoil(file(directory, 0, "index"))
        loaded = load(directory, clean_shutdown=True)
        assert file(directory, 0, "index").read_bytes() == right
        assert loaded.report.rebuilt_indexes == [file(directory, 0).name]
        assert loaded.report.recovered_segments == 1
        assert loaded.log_end_offset == 60

    def test_a_time_index_of_odd_size_is_rebuilt(self, directory: Path) -> None:
        load(directory)
        index = file(directory, 0, "timeindex")
        right = index.read_bytes()
        index.write_bytes(right + b"odd")
        assert load(directory, clean_shutdown=True).report.rebuilt_indexes == [file(directory, 0).name]
        assert index.read_bytes() == right

    @pytest.mark.parametrize(
        "content",
        [b"odd", struct.pack(">hqqqq", 1, 5, 0, 3, 4), struct.pack(">hqqqq", 0, 5, 0, 3, 4)],
        ids=["odd size", "another version", "an end before the segment"],
    )
    def test_a_bad_transaction_index_is_rebuilt(self, directory: Path, content: bytes) -> None:
        load(directory)
        file(directory, 30, "txnindex").write_bytes(content)
        assert load(directory, clean_shutdown=True).report.rebuilt_indexes == [file(directory, 30).name]
        assert file(directory, 30, "txnindex").read_bytes() == b""

    def test_zeros_behind_the_entries_are_no_entries(self, directory: Path) -> None:
        load(directory)
        index = file(directory, 30, "index")
        index.write_bytes(index.read_bytes() + bytes(800))
        loaded = load(directory, clean_shutdown=True)
        assert loaded.log_end_offset == 60
        assert not loaded.report.rebuilt_indexes
        assert 0 not in [entry.position for entry in loaded.segments[-1].offset_index.entries]

    def test_a_torn_tail_that_counts_as_clean_is_cut_all_the_same(self, directory: Path) -> None:
        load(directory)
        whole = file(directory, 30).read_bytes()
        file(directory, 30).write_bytes(whole + b"torn")
        assert load(directory, clean_shutdown=True).log_end_offset == 60
        assert file(directory, 30).read_bytes() == whole

    def test_without_snapshots_the_log_is_not_read_for_producers(self, many: Path) -> None:
        load(many)
        for path in many.glob("*.snapshot"):
            path.unlink()
        load(many, clean_shutdown=True)
        assert offsets_of(many, "snapshot") == [9, 12, 15]

    def test_producers_are_those_of_the_last_snapshot(self, directory: Path) -> None:
        append_of_producer(directory)
        assert set(load(directory).producers.producers) == {7}
        assert set(load(directory, clean_shutdown=True).producers.producers) == {7}

    @pytest.mark.parametrize("start", [0, 40])
    def test_producers_are_not_forgotten_for_an_index_that_is_made_anew(self, start: int, directory: Path) -> None:
        append_of_producer(directory)
        load(directory, log_start_offset=start)
        snapshots = {path: path.read_bytes() for path in directory.glob("*.snapshot")}
        file(directory, 0, "index").unlink()
        loaded = load(directory, clean_shutdown=True, log_start_offset=start)
        assert loaded.report.rebuilt_indexes == [file(directory, 0).name]
        assert set(loaded.producers.producers) == {7}
        assert {path: path.read_bytes() for path in directory.glob("*.snapshot")} == snapshots

    def test_snapshots_of_no_segment_are_removed(self, directory: Path) -> None:
        load(directory)
        shutil.copy(file(directory, 30, "snapshot"), file(directory, 17, "snapshot"))
        load(directory, clean_shutdown=True)
        assert offsets_of(directory, "snapshot") == [30, 60]

    def test_a_lost_epoch_checkpoint_stays_empty_as_in_kafka(self, directory: Path) -> None:
        load(directory)
        (directory / "leader-epoch-checkpoint").unlink()
        assert load(directory, clean_shutdown=True).epochs.entries == []


class DyingDisk(FileSystem):
    """Fails its n-th change, and all after it."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    def _step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def open(self, path: Path, *, truncate: bool = False) -> int:
        self._step()
        return super().open(path, truncate=truncate)

    def write(self, descriptor: int, data: bytes | memoryview) -> None:
        self._step()
        super().write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self._step()
        super().fsync(descriptor)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        super().rename(source, target)

    def truncate(self, path: Path, size: int) -> None:
        self._step()
        super().truncate(path, size)

    def unlink(self, path: Path) -> None:
        self._step()
        super().unlink(path)


def test_a_crash_at_any_step_of_recovery_changes_nothing_of_its_outcome(directory: Path, tmp_path: Path) -> None:
    """Damage in the first segment, a torn one behind it, left-overs, a stale epoch: every kind of change is needed."""
    data = bytearray(file(directory, 0).read_bytes())
    data[-1] ^= 1
    file(directory, 0).write_bytes(data)
    file(directory, 7, "index").write_bytes(b"")
    file(directory, 3, "log.deleted").write_bytes(b"")
    (directory / "leader-epoch-checkpoint").write_text("0\n2\n1 0\n9 28\n")
    right = tmp_path / "right/t-0"
    shutil.copytree(directory, right)
    load(right)
    for steps in range(1_000):
        crashed = tmp_path / f"{steps}/t-0"
        shutil.copytree(directory, crashed)
        try:
            load(crashed, DyingDisk(steps))
        except OSError:
            load(crashed)
            assert {name: content for name, content in files(crashed).items() if not name.endswith(".tmp")} == files(
                right
            ), f"after {steps} steps"
        else:
            assert steps > 15
            return
    pytest.fail("recovery takes no end of steps")


def test_whether_epochs_went_back_is_told_by_the_batch_where_the_latest_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each start in order asks: reading all batches would take as long as the log is."""
    config = LogConfig(segment_bytes=150)
    with Log.open(tmp_path / "t-0", config, replicated=True) as log:
        for offset, epoch in enumerate([1] * 3 + [5] * 3 + [3] * 20):
            template = BatchTemplate(base_offset=offset, leader_epoch=epoch)
            log.append_batches(bytes(encode_batch([Record.of(bytes(60))], template)))
    known = [EpochEntry(1, 0), EpochEntry(5, 3)]
    LeaderEpochCheckpoint(log.directory).write(known)
    scanned: list[str] = []

    def scan(path: Path) -> Iterator[BatchColumns]:
        scanned.append(path.name)
        return scan_headers(path)

    monkeypatch.setattr(header_scan, "scan_headers", scan)
    with Log.open(log.directory, config, replicated=True) as log:
        assert list(log.epochs.entries) == known
        assert not log.report.damaged_epoch_checkpoint
    assert scanned == ["00000000000000000003.log"]
