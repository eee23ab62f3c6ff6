"""A broker rolls, deletes, truncates and compacts while verify reads: none of that is damage."""

import os
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from logstore.batch.record import Record
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.log_file import LogFile
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import Finding, compare_epochs, verify_partition, verify_root
from logstore.verify.directory_check import check_directory
from tests.data.replicas import replicas
from tests.logstore.batches import simple_batch
from tests.logstore.verify.logs import kinds, write_log

ORDERS = "orders-2"
LOOKS = 15


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Do the work again and again in another thread, until what is in the block is done."""
    done = threading.Event()
    failures: list[BaseException] = []

    def loop() -> None:
        try:
            while not done.wait(0.001):
                work()
        except BaseException as error:  # noqa: BLE001  it is raised where the test ends
            failures.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert not failures, failures


def damage(directory: Path) -> list[Finding]:
    found = verify_partition(PartitionDirectory.open(directory), records=True)
    return [each for each in found if each.severity.needs_attention or each.kind == "unknown-file"]


def test_rolls_and_retention(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=1_000, retention_bytes=3_000, file_delete_delay_ms=0)
    with Log.open(tmp_path / "t-0", config) as log:

        def write() -> None:
            end = log.log_end_offset
            for offset in range(end, end + 5):
                log.append([Record(0, offset, b"k", bytes(300))], leader_epoch=offset // 40)
            log.update_high_watermark(log.log_end_offset)
            log.delete_old_segments()

        write()
        with meanwhile(write):
            for _ in range(LOOKS):
                assert damage(tmp_path / "t-0") == []
                epochs = compare_epochs(PartitionDirectory.open(tmp_path / "t-0"))
                assert [each for each in epochs.findings if each.severity.needs_attention] == []


class Cleaner:
    """Exchanges the first segments for one that has all their batches, and back, in the steps of Kafka's cleaner."""

    def __init__(self, directory: Path, spare: Path) -> None:
        logs = sorted(directory.glob("*.log"))[:3]
        self._directory = directory
        self._apart, self._merged = spare / "apart", spare / "merged"
        self._apart.mkdir(parents=True)
        self._merged.mkdir()
        for log in logs:
            for file in directory.glob(f"{log.stem}.*"):
                if file.suffix != ".snapshot":
                    shutil.copy(file, self._apart)
        data = b"".join(log.read_bytes() for log in logs)
        (self._merged / logs[0].name).write_bytes(data)
        for suffix in (".index", ".timeindex"):
            (self._merged / logs[0].name).with_suffix(suffix).touch()
        self._next = (self._merged, self._apart)

    def __call__(self) -> None:
        new, old = self._next
        for file in new.iterdir():
            shutil.copy(file, self._directory / f"{file.name}.cleaned")
        for file in new.iterdir():
            (self._directory / f"{file.name}.cleaned").rename(self._directory / f"{file.name}.swap")
        for file in old.iterdir():
            (self._directory / file.name).rename(self._directory / f"{file.name}.deleted")
        for file in new.iterdir():
            (self._directory / f"{file.name}.swap").rename(self._directory / file.name)
        for file in old.iterdir():
            (self._directory / f"{file.name}.deleted").unlink()
        self._next = (old, new)


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    directory = tmp_path / "root" / ORDERS
    shutil.copytree(replicas("reconciled") / "broker-1" / ORDERS, directory)
    return directory


def test_a_cleaner_that_merges_segments(orders: Path, tmp_path: Path) -> None:
    with meanwhile(Cleaner(orders, tmp_path / "spare")):
        for _ in range(LOOKS):
            assert damage(orders) == []


def test_a_cleaner_may_pause_for_as_long_as_a_look_takes(orders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = min(orders.glob("*.index"))
    swap = index.with_name(f"{index.name}.swap")
    shutil.copy(index, swap)
    assert [each.kind for each in damage(orders)] == ["left-over-swap"]
    renames = SimpleNamespace(sleep=lambda _seconds: swap.exists() and swap.rename(index))
    monkeypatch.setattr("logstore.verify.stable_read.time", renames)
    assert damage(orders) == []


def test_a_snapshot_that_is_just_being_written_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Log.open(tmp_path / "t-0") as log:
        log.append([b"value"])
        log.roll()
        snapshot = max((tmp_path / "t-0").glob("*.snapshot"))
        whole = snapshot.read_bytes()
        snapshot.write_bytes(b"")
        assert [each.kind for each in damage(tmp_path / "t-0")] == ["snapshot-unreadable"]
        end_of_write = SimpleNamespace(sleep=lambda _seconds: snapshot.write_bytes(whole))
        monkeypatch.setattr("logstore.verify.stable_read.time", end_of_write)
        assert damage(tmp_path / "t-0") == []


def test_damage_is_found_beside_a_cleaner_at_work(orders: Path, tmp_path: Path) -> None:
    last = max(orders.glob("*.log"))
    data = bytearray(last.read_bytes())
    data[-1] ^= 1
    last.write_bytes(data)
    with meanwhile(Cleaner(orders, tmp_path / "spare")):
        for _ in range(3):
            assert [(each.kind, each.file) for each in damage(orders)] == [("corrupt-batch", last.name)]


def test_a_segment_merged_away_before_it_is_read(orders: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cleaner = Cleaner(orders, tmp_path / "spare")
    waiting = [cleaner]
    real = LogFile.open

    def clean_and_open(path: Path) -> LogFile:
        if waiting and path.stem.endswith("3264"):
            waiting.pop()()
        return real(path)

    monkeypatch.setattr(LogFile, "open", clean_and_open)
    assert damage(orders) == []
    assert waiting == []


def test_files_that_vanish_while_a_directory_is_listed_are_not_listed(
    orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving = orders / "leader-epoch-checkpoint.tmp"
    leaving.touch()
    real = os.scandir

    @contextmanager
    def list_and_remove(path: Path) -> Iterator[Iterator[os.DirEntry[str]]]:
        with real(path) as entries:
            listed = list(entries)
        leaving.unlink(missing_ok=True)
        yield iter(listed)

    monkeypatch.setattr(os, "scandir", list_and_remove)
    partition = PartitionDirectory.open(orders)
    assert list(check_directory(partition, partition.segments)) == []


def test_a_partition_made_or_deleted_after_the_root_was_listed_is_not_missing(orders: Path) -> None:
    checkpoint = orders.parent / "recovery-point-offset-checkpoint"
    checkpoint.write_text("0\n2\nmade 0 0\ndeleted 0 0\n")
    root = OfflineLogDirectory.open(orders.parent)
    (orders.parent / "made-0").mkdir()
    checkpoint.write_text("0\n1\nmade 0 0\n")
    assert "partition-missing" not in [each.kind for each in verify_root(root)]


class TestFirstCleaning:
    """The cleaner removes offsets first, and says so in its checkpoint once it is done with the log."""

    LEFT = (simple_batch(0), simple_batch(9))

    def test_a_segment_that_replaced_one_is_the_cleaner_s(self, tmp_path: Path) -> None:
        directory = write_log(tmp_path, {0: list(self.LEFT)})
        assert "offset-gap" in kinds(directory)
        (directory / f"{0:020d}.log.deleted").touch()
        assert kinds(directory) == ["left-over-deleted"]

    def test_other_deleted_segments_explain_no_gap(self, tmp_path: Path) -> None:
        directory = write_log(tmp_path, {5: [simple_batch(5), simple_batch(9)]})
        (directory / f"{0:020d}.log.deleted").touch()
        assert "offset-gap" in kinds(directory)

    def test_a_checkpoint_written_meanwhile_is_read_again(self, tmp_path: Path) -> None:
        directory = write_log(tmp_path, {0: list(self.LEFT)})
        partition = PartitionDirectory.open(directory)
        assert partition.checkpoints.cleaner_offset is None
        (tmp_path / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 5\n")
        assert "offset-gap" not in [each.kind for each in verify_partition(partition)]
