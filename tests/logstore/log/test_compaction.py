"""What compaction promises beside other uses of a log; what it keeps is compared with Kafka's own cleaner elsewhere."""

import errno
import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from epoch.filesystem import FileSystem
from logstore.batch.record import Record
from logstore.compaction.batch_cleaner import BatchCleaner
from logstore.compaction.dirty_section import DirtySection
from logstore.directory.log_directory import LogDirectory
from logstore.errors import (
    CompactionAbortedError,
    CorruptBatchError,
    DamagedLogError,
    LogClosedError,
    MissingKeyError,
    ReentrantCallError,
    UnsupportedFormatError,
)
from logstore.files.offset_checkpoint import CLEANER_OFFSET_CHECKPOINT, OffsetCheckpoint
from logstore.files.only_copy.offset_gaps import OFFSET_GAPS_NAME
from logstore.files.root_checkpoints import RootCheckpoints
from logstore.log.log import Log
from logstore.log.log_closing import LogClosing
from logstore.log_config import DAY_MS, LogConfig
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from logstore.verify.verify import verify_partition
from tests.logstore.directories import assert_sound
from tests.logstore.log.test_flush import wait_until

CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=500, file_delete_delay_ms=0)
PARTITION = TopicPartition("t", 0)
KEYS = 5


class SlowDisk(FileSystem):
    """A disk that calls back, once, as the first bytes of a cleaned segment are written."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] | None = None
        self._cleaned: set[int] = set()

    def open(self, path: Path, *, truncate: bool = False) -> int:
        descriptor = super().open(path, truncate=truncate)
        (self._cleaned.add if path.name.endswith(".log.cleaned") else self._cleaned.discard)(descriptor)
        return descriptor

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        if descriptor in self._cleaned and self.meanwhile is not None:
            meanwhile, self.meanwhile = self.meanwhile, None
            meanwhile()
        super().write(descriptor, data)


@pytest.fixture
def disk() -> SlowDisk:
    return SlowDisk()


@pytest.fixture
def log(tmp_path: Path, disk: SlowDisk) -> Iterator[Log]:
    """A log with several values of each key in each of several segments."""
    with Log.open(tmp_path / "t-0", CONFIG, filesystem=disk) as log:
        fill(log)
        yield log


def fill(log: Log, batches: int = 40) -> None:
    for number in range(batches):
        log.append([Record.of(b"value %d" % number, b"key %d" % ((number + i) % KEYS)) for i in range(2)])
    log.update_high_watermark(log.log_end_offset)


def values(log: Log) -> dict[bytes | None, bytes | None]:
    """What a reader has after reading all."""
    return {record.key: record.value for record in records(log)}


def records(log: Log) -> list[Record]:
    found: list[Record] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        view = log.read(offset, 1 << 20)
        found += view.records()
        assert view.next_offset > offset
        offset = view.next_offset
    return found


def left_overs(log: Log) -> list[str]:
    return [path.name for path in log.directory.iterdir() if path.name.endswith((".cleaned", ".swap"))]


def test_each_key_has_one_record_in_closed_segments(log: Log) -> None:
    before, size = values(log), log.size
    report = log.compact()
    assert values(log) == before
    closed = [record.key for record in records(log) if record.offset < log.segments[-1].base_offset]
    assert len(closed) == len(set(closed)) == KEYS
    assert report.end_offset == log.cleaner_offset == log.segments[-1].base_offset
    assert report.bytes_before - report.bytes_after == size - log.size > 0


def test_the_active_segment_and_its_records_stay(log: Log) -> None:
    active = log.segments[-1]
    content = active.path.read_bytes()
    log.compact()
    assert log.segments[-1] is active
    assert active.path.read_bytes() == content


def test_what_the_high_watermark_has_not_passed_stays(tmp_path: Path) -> None:
    with Log.open(tmp_path / "t-0", CONFIG, replicated=True) as log:
        for number in range(40):
            log.append([Record.of(b"value %d" % number, b"key")], leader_epoch=0)
        assert len(log.segments) > 2
        assert not log.cleanable_ratio
        assert not log.compact().segments_before


def test_there_is_nothing_to_do_a_second_time(log: Log) -> None:
    before = log.cleanable_ratio, log.is_compaction_due
    log.compact()
    after = log.cleanable_ratio, log.is_compaction_due
    assert (before, after) == ((1, True), (0, False))
    again = log.compact()
    assert (again.start_offset, again.segments_before) == (again.end_offset, 0)


def test_how_far_it_got_is_known_after_a_restart(log: Log) -> None:
    end = log.compact().end_offset
    log.close()
    with Log.open(log.directory, CONFIG) as again:
        assert again.cleaner_offset == end
        assert not again.cleanable_ratio


def test_a_log_that_is_not_to_be_compacted_is_left_alone(log: Log) -> None:
    log.config = LogConfig()
    with pytest.raises(ValueError, match="cleanup_policy"):
        log.compact()
    assert not log.is_compaction_due


def test_small_segments_become_few(log: Log) -> None:
    log.compact()
    fill(log)
    report = log.compact()
    assert report.segments_after < report.segments_before
    assert len({record.key for record in records(log)}) == KEYS


def test_with_little_memory_it_takes_several_calls(log: Log) -> None:
    before, calls = values(log), 0
    while log.cleanable_ratio:
        report = log.compact(400)
        assert report.start_offset < report.end_offset
        calls += 1
    assert calls > 2
    assert values(log) == before


def test_appends_go_on_meanwhile(log: Log, disk: SlowDisk) -> None:
    disk.meanwhile = lambda: log.append([Record.of(b"latest", b"key 0")])
    log.compact()
    assert values(log)[b"key 0"] == b"latest"


def test_views_that_were_read_before_stay(log: Log) -> None:
    view = log.read(0, 1 << 20)
    before = list(view.records())
    log.compact()
    assert list(view.records()) == before


def test_readers_beside_it_miss_nothing(log: Log) -> None:
    expected, failures, done = values(log), list[str](), threading.Event()

    def read() -> None:
        while not done.is_set():
            if values(log) != expected:
                failures.append("other values")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(5):
        log.roll()
        log._contents.cleaner_offset = None
        log.compact()
    done.set()
    for reader in readers:
        reader.join()
    assert not failures


@pytest.mark.parametrize(
    "meanwhile",
    [
        lambda log: log.truncate_to(log.log_end_offset - 2),
        lambda log: log.truncate_fully_and_start_at(3),
        lambda log: log.delete_records(30) and log.delete_old_segments(),
    ],
    ids=["truncation", "starting over", "retention"],
)
def test_it_gives_up_where_records_are_taken_away(log: Log, disk: SlowDisk, meanwhile: Callable[[Log], object]) -> None:
    disk.meanwhile = lambda: meanwhile(log)
    with pytest.raises(CompactionAbortedError, match="compact it again"):
        log.compact()
    assert not left_overs(log)
    assert log.failure is None
    assert log.cleaner_offset is None
    before = values(log)
    log.compact()
    assert values(log) == before


def test_a_truncation_takes_back_how_far_it_got(log: Log) -> None:
    log.compact()
    log.truncate_to(30)
    assert log.cleaner_offset == 30
    log.close()
    with Log.open(log.directory, CONFIG) as again:
        assert again.cleaner_offset == min(30, again.segments[-1].base_offset)


def test_it_gives_up_where_the_log_is_closed(log: Log, disk: SlowDisk) -> None:
    disk.meanwhile = log.close
    with pytest.raises(LogClosedError):
        log.compact()
    assert not left_overs(log)


@pytest.mark.parametrize("end", [Log.close, Log.abandon])
def test_who_closes_the_log_in_another_thread_waits_until_it_has_given_up(
    log: Log, end: Callable[[Log], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    closing = threading.Thread(target=lambda: (end(log), order.append("closed")))
    clean = BatchCleaner.clean

    def closed_meanwhile(self: BatchCleaner, *what: Any) -> object:
        if closing.ident is None:
            closing.start()
            wait_until(lambda: log._compaction_turn.closings > 0 or "closed" in order)
        order.append("a batch")
        return clean(self, *what)

    monkeypatch.setattr(BatchCleaner, "clean", closed_meanwhile)
    with pytest.raises(CompactionAbortedError, match="is being closed"):
        log.compact()
    closing.join()
    assert order == ["a batch", "closed"]
    assert not left_overs(log)


def test_a_log_is_compacted_after_it_could_not_be_closed(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: LogClosing) -> None:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patched:
        patched.setattr(LogClosing, "close", fail)
        with pytest.raises(OSError, match="no space"):
            log.close()
    assert log.compact().end_offset > 0


def test_where_the_new_segment_is_gone_the_old_ones_stay(log: Log, disk: SlowDisk) -> None:
    before, taken = records(log), list[Path]()

    def take_away() -> None:
        taken.extend(log.directory.glob("*.log.cleaned"))
        taken[0].unlink()

    disk.meanwhile = take_away
    with pytest.raises(FileNotFoundError):
        log.compact()
    log.abandon()
    with Log.open(log.directory, CONFIG) as again:
        first = int(taken[0].name.partition(".")[0])
        assert records(again) == [each for each in before if each.offset >= first]


def test_within_one_no_other_is_begun(log: Log, disk: SlowDisk) -> None:
    refused = []

    def again() -> None:
        with pytest.raises(ReentrantCallError) as error:
            log.compact()
        refused.append(error)

    disk.meanwhile = again
    log.compact()
    assert refused


def test_another_thread_waits_until_it_is_done(log: Log, disk: SlowDisk) -> None:
    reports = []
    other = threading.Thread(target=lambda: reports.append(log.compact()))
    disk.meanwhile = other.start
    end = log.compact().end_offset
    other.join()
    assert [(each.start_offset, each.end_offset) for each in reports] == [(end, end)]


def test_a_full_disk_ends_it_and_the_log_goes_on(log: Log, disk: SlowDisk) -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, "no space")

    before = values(log)
    disk.meanwhile = fail
    with pytest.raises(OSError, match="no space"):
        log.compact()
    assert values(log) == before
    assert log.cleaner_offset is None
    assert not left_overs(log)
    assert log.failure is None
    fill(log, 1)
    log.compact()


def test_damage_is_not_written_anew(log: Log) -> None:
    path = log.segments[1].path
    log.close()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with Log.open(log.directory, CONFIG) as damaged:
        damaged.update_high_watermark(damaged.log_end_offset)
        with pytest.raises(CorruptBatchError):
            damaged.compact()
        assert path.read_bytes() == data
        assert not left_overs(damaged)


def test_messages_of_before_kafka_0_11_are_refused(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    directory.mkdir()
    body = struct.pack(">bb", 0, 0) + struct.pack(">i", 1) + b"k" + struct.pack(">i", 1) + b"v"
    message = struct.pack(">I", zlib.crc32(body)) + body
    (directory / f"{0:020d}.log").write_bytes(struct.pack(">qi", 0, len(message)) + message)
    with Log.open(directory, CONFIG) as log:
        log.append([Record.of(b"v", b"k")])
        log.roll()
        log.update_high_watermark(log.log_end_offset)
        with pytest.raises(UnsupportedFormatError, match="magic 0"):
            log.compact()
        assert not left_overs(log)


def test_a_tombstone_goes_after_its_time(tmp_path: Path) -> None:
    now = 10 * DAY_MS
    with Log.open(tmp_path / "t-0", CONFIG, clock=lambda: now) as log:

        def go_on() -> list[bytes | None]:
            log.append([Record.of(b"", b"other", timestamp=now)])
            log.roll()
            log.update_high_watermark(log.log_end_offset)
            log.compact()
            return [record.key for record in records(log)]

        log.append([Record.of(b"value", b"key", timestamp=now)])
        log.append([Record.of(None, b"key", timestamp=now)])
        assert go_on() == [b"key", b"other"]
        now += DAY_MS - 1
        assert go_on() == [b"key", b"other"]
        now += 1
        assert go_on() == [b"other"]


def test_young_segments_are_left_alone(tmp_path: Path) -> None:
    now = 10 * DAY_MS
    config = LogConfig(
        cleanup_policy=frozenset({"compact"}),
        min_compaction_lag_ms=1_000,
        max_compaction_lag_ms=5_000,
        min_cleanable_dirty_ratio=1,
    )
    with Log.open(tmp_path / "t-0", config, clock=lambda: now) as log:
        for _ in range(3):
            log.append([Record.of(b"value", b"key", timestamp=now)])
            log.roll()
        log.update_high_watermark(log.log_end_offset)
        assert log.cleanable_ratio == 0
        now += 1_000
        assert log.cleanable_ratio == 1
        assert not log.is_compaction_due
        now += 4_001
        assert log.is_compaction_due, "a segment is older than max_compaction_lag_ms"


def test_a_segment_is_rolled_in_time_to_be_compacted(tmp_path: Path) -> None:
    config = LogConfig(cleanup_policy=frozenset({"compact"}), max_compaction_lag_ms=5_000)
    with Log.open(tmp_path / "t-0", config) as log:
        log.append([Record.of(b"value", b"key", timestamp=1_000)])
        log.append([Record.of(b"value", b"key", timestamp=6_001)])
        assert len(log.segments) == 2


def test_retention_applies_only_where_records_are_to_be_deleted(tmp_path: Path) -> None:
    for number, policy in enumerate(({"compact"}, {"compact", "delete"})):
        config = LogConfig(cleanup_policy=frozenset(policy), segment_bytes=500, retention_bytes=600)
        with Log.open(tmp_path / f"t-{number}", config) as log:
            fill(log)
            log.compact()
            fill(log)
            assert bool(log.delete_old_segments()) == ("delete" in policy)


def test_verify_has_nothing_to_say(log: Log) -> None:
    log.compact()
    fill(log)
    log.compact()
    log.close()
    checkpoints = RootCheckpoints({CLEANER_OFFSET_CHECKPOINT: OffsetCheckpoint({PARTITION: 100})}, clean_shutdown=True)
    found = verify_partition(PartitionDirectory.open(log.directory, checkpoints=checkpoints), records=True)
    assert not [each for each in found if each.severity.needs_attention]
    assert_sound(log.directory, expected={"offset-gap", "missing-segment"})


# --- in a directory


def test_a_directory_compacts_the_logs_that_are_due_and_writes_how_far(tmp_path: Path) -> None:
    root, other = tmp_path / "root", TopicPartition("deleted", 0)
    with LogDirectory.open(root, lambda each: CONFIG if each == PARTITION else LogConfig(segment_bytes=500)) as logs:
        for partition in (PARTITION, other):
            fill(logs.create(partition))
        done = logs.compact()
        assert set(done) == {PARTITION}
        assert OffsetCheckpoint.read(root / CLEANER_OFFSET_CHECKPOINT) == {PARTITION: done[PARTITION].end_offset}
        assert not logs.compact()
        logs.log(PARTITION).truncate_to(20)
        logs.checkpoint()
        assert OffsetCheckpoint.read(root / CLEANER_OFFSET_CHECKPOINT) == {PARTITION: 20}


def test_a_directory_is_not_closed_in_the_middle_of_a_compaction_of_the_same_thread(
    tmp_path: Path, disk: SlowDisk
) -> None:
    refused = []

    def close() -> None:
        with pytest.raises(ReentrantCallError) as error:
            logs.close()
        refused.append(error)

    with LogDirectory.open(tmp_path / "root", CONFIG, filesystem=disk) as logs:
        fill(logs.create(PARTITION))
        disk.meanwhile = close
        assert set(logs.compact()) == {PARTITION}
    assert refused


def test_a_directory_compacts_by_the_configuration_that_a_log_was_found_due_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LogDirectory.open(tmp_path / "root", CONFIG) as logs:
        log = logs.create(PARTITION)
        fill(log)

        def ratio(section: DirtySection) -> float:
            log.config = LogConfig(segment_bytes=500)
            return 1.0 if section else 0.0

        monkeypatch.setattr(DirtySection, "ratio", property(ratio))
        assert set(logs.compact()) == {PARTITION}
        assert not logs.compact()


def test_a_damaged_log_does_not_hold_up_the_others(tmp_path: Path) -> None:
    partitions = [TopicPartition("t", number) for number in range(3)]
    with LogDirectory.open(tmp_path / "root", CONFIG) as logs:
        for partition in partitions:
            fill(logs.create(partition))
        path = logs.log(partitions[1]).segments[1].path
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with LogDirectory.open(tmp_path / "root", CONFIG) as logs:
        for partition in partitions:
            logs.log(partition).update_high_watermark(logs.log(partition).log_end_offset)
        with pytest.raises(CorruptBatchError):
            logs.compact()
        assert set(OffsetCheckpoint.read(tmp_path / "root" / CLEANER_OFFSET_CHECKPOINT)) == {
            partitions[0],
            partitions[2],
        }


def test_a_directory_adopts_how_far_a_log_was_compacted(log: Log) -> None:
    end = log.compact().end_offset
    log.close()
    with LogDirectory.open(log.directory.parent, CONFIG) as logs:
        assert logs.log(PARTITION).cleaner_offset == end
    assert OffsetCheckpoint.read(log.directory.parent / CLEANER_OFFSET_CHECKPOINT) == {PARTITION: end}


class TestGaps:
    """Compaction takes the last records of a segment: as an only copy the log knows that from a lost segment."""

    PLAIN = LogConfig(segment_bytes=500, file_delete_delay_ms=0)

    @staticmethod
    def compacted(directory: Path, *, replicated: bool, root: bool = False) -> list[Record]:
        """Each segment but the last has a record that stays, and one behind it that goes; return what stays."""
        if root:
            with LogDirectory.open(directory.parent, CONFIG, replicated=replicated) as logs:
                return TestGaps.compact(logs.create(PARTITION))
        with Log.open(directory, CONFIG, replicated=replicated) as log:
            return TestGaps.compact(log)

    @staticmethod
    def compact(log: Log) -> list[Record]:
        for number in range(6):
            for key in (b"%d" % number, b"always"):
                log.append([Record.of(bytes(150), key)], leader_epoch=0)
            log.roll()
        log.update_high_watermark(log.log_end_offset)
        log.compact()
        kept = list(log.records())
        assert [record.offset for record in kept] == [0, 2, 4, 6, 8, 10, 11]
        assert [segment.base_offset for segment in log.segments] == [0, 2, 4, 6, 8, 10, 12]
        return kept

    @pytest.mark.parametrize("config", [PLAIN, CONFIG], ids=["plain", "compacting"])
    @pytest.mark.parametrize("replicated", [False, True], ids=["only copy", "replica"])
    def test_they_are_no_damage(self, tmp_path: Path, config: LogConfig, *, replicated: bool) -> None:
        kept = self.compacted(tmp_path / "t-0", replicated=replicated)
        for epoch in (7, 8):
            with Log.open(tmp_path / "t-0", config) as log:
                assert list(log.records()) == kept
                log.append([Record.of(b"more", b"key")], leader_epoch=epoch)
                log.truncate_to(12)

    @pytest.mark.parametrize("replicated", [False, True], ids=["only copy", "replica"])
    def test_nor_are_they_in_a_root(self, tmp_path: Path, *, replicated: bool) -> None:
        kept = self.compacted(tmp_path / "t-0", replicated=replicated, root=True)
        with LogDirectory.open(tmp_path, self.PLAIN) as logs:
            assert not logs.unreadable
            assert list(logs.log(PARTITION).records()) == kept

    @pytest.mark.parametrize("config", [PLAIN, CONFIG], ids=["plain", "compacting"])
    @pytest.mark.parametrize("replicated", [False, True], ids=["only copy", "replica"])
    def test_a_lost_segment_is_damage_all_the_same(
        self, tmp_path: Path, config: LogConfig, *, replicated: bool
    ) -> None:
        self.compacted(tmp_path / "t-0", replicated=replicated)
        Log.open(tmp_path / "t-0", config).close()
        (tmp_path / "t-0" / "00000000000000000004.log").unlink()
        # The batch before may be one of them as well, under a wrong offset, which no checksum covers.
        with pytest.raises(DamagedLogError, match="offsets 2 to 5 may be damaged or lost"):
            Log.open(tmp_path / "t-0", config)

    @pytest.mark.parametrize("is_whole", [True, False])
    def test_a_list_that_is_lost_is_known_again_by_its_checksum_as_long_as_no_segment_is_lost(
        self, tmp_path: Path, *, is_whole: bool
    ) -> None:
        kept = self.compacted(tmp_path / "t-0", replicated=False)
        with Log.open(tmp_path / "t-0", self.PLAIN) as log:
            for _ in range(3):
                log.append([bytes(400)])
        (tmp_path / "t-0" / OFFSET_GAPS_NAME).unlink()
        if is_whole:
            with Log.open(tmp_path / "t-0", self.PLAIN) as log:
                assert list(log.records())[: len(kept)] == kept
        else:
            (tmp_path / "t-0" / "00000000000000000013.log").unlink()
            with pytest.raises(DamagedLogError, match=f"or was compacted, which is unknown without {OFFSET_GAPS_NAME}"):
                Log.open(tmp_path / "t-0", CONFIG)

    def test_a_backup_knows_them(self, tmp_path: Path) -> None:
        kept = self.compacted(tmp_path / "t-0", replicated=False)
        with Log.open(tmp_path / "t-0", self.PLAIN) as log:
            log.backup(tmp_path / "backup" / "t-0")
        with Log.open(tmp_path / "backup" / "t-0", self.PLAIN) as log:
            assert list(log.records()) == kept


class TestRecordsWithoutKeys:
    """A log that was not compacted so far may have them; as the only copy it keeps them."""

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        with Log.open(tmp_path / "t-0", LogConfig(segment_bytes=500)) as log:
            for number in range(40):
                log.append([Record.of(b"v%d" % number, None if number == 7 else b"k")])
        return tmp_path / "t-0"

    def test_the_only_copy_is_not_compacted(self, directory: Path) -> None:
        with Log.open(directory, CONFIG) as log:
            before = list(log.records())
            with pytest.raises(MissingKeyError, match=r"no key.*offset 7; nothing was compacted") as caught:
                log.compact()
            assert caught.value.offset == 7
            with pytest.raises(MissingKeyError):
                log.compact_if_due()
            assert list(log.records()) == before

    def test_it_is_once_they_are_deleted(self, directory: Path) -> None:
        with Log.open(directory, CONFIG) as log:
            log.delete_records(8)
            log.compact()
            assert sum(1 for _ in log.records()) < 32

    def test_of_replicas_they_go_as_in_kafka(self, directory: Path) -> None:
        with Log.open(directory, CONFIG, replicated=True) as log:
            log.update_high_watermark(log.log_end_offset)
            log.compact()
            assert b"v7" not in [record.value for record in log.records()]
