"""What a root's checkpoint files say of partitions that are not open, and of how far each log was compacted."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.log_config import LogConfig
from logstore.topic_partition import DirectoryMark, TopicPartition

ORDERS = TopicPartition("orders", 0)
OTHERS = TopicPartition("orders", 1)
MOVED = TopicPartition("orders", 2)
STRAY = TopicPartition("orders", 3)
GONE = TopicPartition("orders", 4)
NEW = TopicPartition("orders", 5)
FUTURE_NAME = f"orders-2.{'7a' * 16}-future"
STRAY_NAME = f"orders-3.{'7b' * 16}-stray"
CLEANER = "cleaner-offset-checkpoint"
CONFIG = LogConfig(segment_bytes=400)


def fill(directory: LogDirectory, partition: TopicPartition, batches: int = 10) -> None:
    """One batch after another, each of one record: four to a segment."""
    for number in range(batches):
        directory.log(partition).append([Record(0, 0, b"%d" % number, b"v" * 20)], leader_epoch=0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two logs, a future one and a stray one; each file has an offset for each, and for one that is gone."""
    root = tmp_path / "kafka-logs"
    with LogDirectory.open(root, CONFIG) as directory:
        for partition in (ORDERS, OTHERS):
            directory.create(partition)
            fill(directory, partition)
    for name in (FUTURE_NAME, STRAY_NAME):
        shutil.copytree(root / "orders-1", root / name)
    for number, name in enumerate(OFFSET_CHECKPOINTS):
        offsets = {ORDERS: 8, OTHERS: 8} if name == CLEANER else OffsetCheckpoint.read(root / name)
        (root / name).write_bytes(OffsetCheckpoint(offsets | {MOVED: 3 + number, STRAY: 2 + number, GONE: 9}).encode())
    return root


def told(root: Path, name: str) -> dict[TopicPartition, int]:
    return OffsetCheckpoint.read(root / name)


class TestLogsThatSomebodyElseLooksAfter:
    def test_future_and_stray_logs_are_left_as_they_are_and_told(self, root: Path) -> None:
        before = {path: path.read_bytes() for name in (FUTURE_NAME, STRAY_NAME) for path in (root / name).iterdir()}
        with LogDirectory.open(root, CONFIG) as directory:
            assert directory.set_aside == {FUTURE_NAME: DirectoryMark.FUTURE, STRAY_NAME: DirectoryMark.STRAY}
            assert set(directory.partitions) == {ORDERS, OTHERS}
            fill(directory, ORDERS)
        assert {path: path.read_bytes() for path in before} == before

    def test_so_is_what_the_checkpoints_say_of_them(self, root: Path) -> None:
        with LogDirectory.open(root, CONFIG) as directory:
            directory.checkpoint_high_watermarks()
            fill(directory, ORDERS)
        for number, name in enumerate(OFFSET_CHECKPOINTS):
            assert (told(root, name)[MOVED], told(root, name)[STRAY]) == (3 + number, 2 + number)
        assert GONE not in told(root, "recovery-point-offset-checkpoint")
        assert told(root, "recovery-point-offset-checkpoint")[ORDERS] == 20

    def test_a_log_that_could_not_be_opened_keeps_its_offsets(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (root / ".kafka_cleanshutdown").unlink()
        (root / "recovery-point-offset-checkpoint").write_bytes(OffsetCheckpoint({ORDERS: 1, OTHERS: 10}).encode())
        monkeypatch.setattr("logstore.recovery.segment_recovery.MAX_SEGMENT_BYTES", 300)
        with LogDirectory.open(root, CONFIG, replicated=True) as directory:
            assert set(directory.unreadable) == {ORDERS}
        assert told(root, "recovery-point-offset-checkpoint")[ORDERS] == 1

    def test_no_stop_is_clean_that_leaves_a_log_unrecovered(self, root: Path) -> None:
        (root / ".kafka_cleanshutdown").unlink()
        LogDirectory.open(root, CONFIG).close()
        assert not (root / ".kafka_cleanshutdown").exists()
        shutil.rmtree(root / FUTURE_NAME)
        shutil.rmtree(root / STRAY_NAME)
        LogDirectory.open(root, CONFIG).close()
        assert (root / ".kafka_cleanshutdown").exists()


class TestHowFarLogsAreCompacted:
    def test_nothing_changes_as_long_as_logs_only_grow(self, root: Path) -> None:
        before = (root / CLEANER).read_bytes()
        with LogDirectory.open(root, CONFIG) as directory:
            fill(directory, ORDERS)
        assert (root / CLEANER).read_bytes() == before

    def test_what_is_written_anew_after_a_truncation_was_never_compacted(self, root: Path) -> None:
        with LogDirectory.open(root, CONFIG) as directory:
            directory.log(ORDERS).truncate_to(5)
            fill(directory, ORDERS)
            directory.log(OTHERS).truncate_to(9)
        assert (told(root, CLEANER)[ORDERS], told(root, CLEANER)[OTHERS]) == (5, 8)

    def test_a_log_that_begins_anew_further_back_was_not_compacted_there(self, root: Path) -> None:
        with LogDirectory.open(root, CONFIG) as directory:
            directory.log(ORDERS).truncate_fully_and_start_at(2)
            directory.log(OTHERS).truncate_fully_and_start_at(50)
        assert (told(root, CLEANER)[ORDERS], told(root, CLEANER)[OTHERS]) == (2, 8)

    def test_recovery_may_take_the_end_back_too(self, root: Path) -> None:
        (root / ".kafka_cleanshutdown").unlink()
        (root / "recovery-point-offset-checkpoint").unlink()
        log = root / f"orders-0/{4:020d}.log"
        log.write_bytes(log.read_bytes()[:-1])
        LogDirectory.open(root, CONFIG, replicated=True).close()
        assert told(root, CLEANER)[ORDERS] == 4

    def test_what_is_to_be_compacted_only_since_it_was_opened_is_noted_too(self, root: Path) -> None:
        with LogDirectory.open(root, CONFIG) as directory:
            log = directory.create(NEW)
            log.config = replace(CONFIG, cleanup_policy=frozenset({"compact"}))
            fill(directory, NEW)
            log.roll()
            log.update_high_watermark(log.log_end_offset)
            done = directory.compact()
            assert told(root, CLEANER)[NEW] == done[NEW].end_offset > 0

    def test_a_deleted_partition_is_forgotten(self, root: Path) -> None:
        with LogDirectory.open(root, CONFIG) as directory:
            directory.delete(ORDERS)
        assert set(told(root, CLEANER)) == {OTHERS, MOVED, STRAY, GONE}

    def test_a_file_that_cannot_be_read_stays(self, root: Path) -> None:
        (root / CLEANER).write_bytes(b"nonsense")
        with LogDirectory.open(root, CONFIG) as directory:
            directory.log(ORDERS).truncate_to(5)
        assert (root / CLEANER).read_bytes() == b"nonsense"
