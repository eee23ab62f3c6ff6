"""A full disk can be freed by the log that has filled it, and a log on it can be closed and opened."""

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from logstore import Log, LogConfig, LogDirectory, TopicPartition
from logstore.files.only_copy.space_reserve import RESERVE_BYTES, RESERVE_NAME
from logstore.files.own_checkpoints import OWN_CHECKPOINTS
from logstore.offline.partition_directory import PartitionDirectory
from logstore.segment.segment_reader import SegmentReader
from logstore.verify.verify import verify_partition
from tests.bounded_disk import BLOCK, BoundedDisk, BoundedRecordingDisk
from tests.campaign import Campaign
from tests.logstore.late_syncs import late_syncs
from tests.logstore.log.test_log_crash_states import StateOnDisk, check_promise, is_part, states_of, whole_batches
from tests.logstore.log_workloads import NOW, PARTITION, Promise, Workload

CONFIG = LogConfig(segment_bytes=16_384, file_delete_delay_ms=0)
LARGE = LogConfig(segment_bytes=1 << 20, file_delete_delay_ms=0)
SMALL = LogConfig(segment_bytes=8_192, file_delete_delay_ms=0)
NAME = "t-0"
CRASHES = Campaign("crashes on a full disk", full=20_000, share=40)
BLOCKS = 24
"""Of the disk of such a life."""


@pytest.fixture(autouse=True, params=[False, True], ids=["synced", "synced-late"])
def syncs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Segments are synced as the next ones begin, or later."""
    with late_syncs(are_late=request.param):
        yield


@pytest.fixture
def disk(tmp_path: Path) -> BoundedDisk:
    (tmp_path / "disk").mkdir()
    return BoundedDisk(tmp_path / "disk", 60)


def opened(disk: BoundedDisk, config: LogConfig = CONFIG) -> Log:
    return Log.open(disk.path / NAME, config, filesystem=disk)


def fill(log: Log) -> None:
    """Append until not even a record of a byte finds space."""
    for size in (1_000, 1):
        with suppress(OSError):
            while True:
                log.append([b"x" * size])
                log.flush()


@pytest.fixture
def full(disk: BoundedDisk) -> Iterator[Log]:
    """A log that has filled its disk to the last block."""
    log = opened(disk)
    fill(log)
    disk.fill()
    assert len(log.segments) > 3
    assert disk.free_blocks == 0
    yield log
    log.abandon()


def values(log: Log) -> list[bytes | None]:
    return [record.value for record in log.records()]


def assert_unremarkable(directory: Path) -> None:
    """Nothing is wrong with the log, and what is kept is nothing odd."""
    found = verify_partition(PartitionDirectory.open(directory))
    assert not [finding for finding in found if finding.severity.needs_attention or finding.file == RESERVE_NAME]


# --- deleting


def test_records_are_deleted_again_and_again_though_nothing_is_freed_by_that(disk: BoundedDisk, full: Log) -> None:
    for before in range(1, 9):
        assert full.delete_records(before)
    full.abandon()
    with opened(disk) as log:
        assert log.log_start_offset == 8


def test_what_is_deleted_makes_space_for_more(full: Log) -> None:
    start = full.segments[2].base_offset
    full.delete_records(start)
    assert full.delete_old_segments() == 2
    full.append([b"y" * 5_000])
    assert full.log_start_offset == start


def test_retention_makes_space_too(full: Log) -> None:
    full.config = LogConfig(segment_bytes=16_384, file_delete_delay_ms=0, retention_bytes=20_000)
    assert full.delete_old_segments() > 0
    full.append([b"y" * 5_000])


def test_all_of_it_can_go(full: Log) -> None:
    full.config = LogConfig(segment_bytes=16_384, file_delete_delay_ms=0, retention_bytes=0)
    full.delete_old_segments()
    assert (full.size, full.log_start_offset) == (0, full.log_end_offset)


def test_space_is_kept_anew_once_there_is_some(full: Log) -> None:
    reserve = full.directory / RESERVE_NAME
    full.delete_records(3)
    assert reserve.stat().st_size >= RESERVE_BYTES - 2 * BLOCK
    full.delete_records(full.segments[2].base_offset)
    full.delete_old_segments()
    assert reserve.stat().st_size == RESERVE_BYTES


# --- closing and opening


def test_it_is_closed_in_order(disk: BoundedDisk, full: Log) -> None:
    before = values(full)
    full.close()
    with opened(disk) as log:
        assert (log.report.recovered_batches, values(log)) == (0, before)


def test_it_goes_on_after_any_number_of_lives(disk: BoundedDisk, full: Log) -> None:
    """What little is freed by one thing is taken by another: the next one needs no more than that."""
    before = values(full)
    full.close()
    for number in range(6):
        log = opened(disk)
        disk.fill()
        assert values(log) == before[log.log_start_offset :]
        assert log.delete_records(number + 1)
        log.close() if number % 2 else log.abandon()
    with opened(disk) as log:
        log.delete_records(log.segments[2].base_offset)
        assert log.delete_old_segments() == 2
        log.append([b"y" * 5_000])


def test_a_log_whose_process_died_is_opened(disk: BoundedDisk, full: Log) -> None:
    before = values(full)
    full.abandon()
    for _ in range(3):
        log = opened(disk)
        assert log.report.recovered_batches > 0
        assert values(log) == before
        disk.fill()
        log.abandon()
    with opened(disk) as log:
        log.delete_records(log.segments[2].base_offset)
        log.delete_old_segments()
        log.append([b"y" * 5_000])
    assert_unremarkable(disk.path / NAME)


@pytest.fixture
def damaged(disk: BoundedDisk) -> Callable[[int], Path]:
    """A log with a record that was flushed and two that were not, damaged in one of them; its disk is full.

    What is to be set aside finds no space in what the log itself has kept free.
    """

    def damage(record: int) -> Path:
        log = opened(disk, LARGE)
        log.append([b"promised"])
        log.flush()
        log.append([b"not promised"])
        log.append([b"x" * (RESERVE_BYTES + BLOCK)])
        log.abandon()
        [path] = (disk.path / NAME).glob("*.log")
        content = bytearray(path.read_bytes())
        content[content.index([b"promised", b"not promised"][record])] ^= 1
        path.write_bytes(content)
        disk.fill()
        return path

    return damage


def test_damage_that_nobody_was_promised_does_not_keep_a_log_closed_if_there_is_no_space_to_set_it_aside(
    disk: BoundedDisk, damaged: Callable[[int], Path]
) -> None:
    damaged(1)
    with opened(disk, LARGE) as log:
        assert values(log) == [b"promised"]
        assert [dropped.set_aside for dropped in log.report.dropped] == [""]


def test_nothing_that_was_promised_is_cut_without_being_set_aside(
    disk: BoundedDisk, damaged: Callable[[int], Path]
) -> None:
    path = damaged(0)
    before = path.read_bytes()
    with pytest.raises(OSError, match="No space left"):
        Log.open(disk.path / NAME, LARGE, filesystem=disk, damage="cut")
    assert path.read_bytes() == before


def test_a_disk_that_fails_otherwise_keeps_a_log_closed_where_something_is_to_be_set_aside(
    disk: BoundedDisk, damaged: Callable[[int], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = damaged(1)
    before = path.read_bytes()

    def fail(_descriptor: int, _data: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(disk, "write", fail)
    with pytest.raises(OSError, match="Input/output error"):
        opened(disk, LARGE)
    assert path.read_bytes() == before


def test_nothing_that_is_kept_is_anybody_elses_business(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    with Log.open(tmp_path / "root" / NAME) as log:
        log.append([b"a"])
        assert (log.directory / RESERVE_NAME).exists()
    assert_unremarkable(tmp_path / "root" / NAME)
    with LogDirectory.open(tmp_path / "root") as directory:
        log = directory.log(TopicPartition("t", 0))
        assert not OWN_CHECKPOINTS & {path.name for path in log.directory.iterdir()}


# --- readers


def test_readers_go_on_while_an_append_is_taken_back(full: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """What they have mapped stays: nobody was told of what goes."""
    end = full.log_end_offset
    expected = values(full)
    locate: Callable[..., object] = SegmentReader._locate

    def after_an_append(*arguments: object) -> object:
        with pytest.raises(OSError, match="No space left"):
            full.append([b"x" * 5_000])
        return locate(*arguments)

    monkeypatch.setattr(SegmentReader, "_locate", after_an_append)
    view = full.read(end - 1, 1 << 20)
    assert [record.value for record in view.records()] == expected[-1:]


# --- crashes


def full_life(root: Path, rng: random.Random) -> Workload:
    """Fill a disk, delete something, and so on: no deletion, end or beginning fails, and each is relied on."""
    work = Workload(root, SMALL, BoundedRecordingDisk(root, BLOCKS))
    for _ in range(3):
        epoch = (work.log.epochs.latest_epoch or 0) + 1
        with suppress(OSError):
            while True:
                work.lead(1, rng.choice([300, 3_000]), epoch=epoch)
                if rng.random() < 0.3:
                    work.flush()
        choice = rng.random()
        if choice < 0.3:
            work.close_and_open()
            work.rely_on_all()
        elif choice < 0.6:
            work.die_and_open()
        work.delete_records(rng.choice(work.ends[:-1]))
        if rng.random() < 0.8:
            work.delete_old_segments()
    work.close()
    return work


def test_whatever_a_crash_leaves_is_opened_and_can_be_freed(memory_dir: Path) -> None:
    stride = 1 if CRASHES.count == CRASHES.full else 97
    number = checked = 0
    place = StateOnDisk(memory_dir / "crashed")
    rng = random.Random(CRASHES.seed)
    while checked < CRASHES.count:
        root = memory_dir / f"life-{number}"
        root.mkdir()
        work = full_life(root, rng)
        for promises, state in states_of(work):
            number += 1
            if number % stride or Path(PARTITION) not in state:
                continue
            root = place.put(state)
            try:
                check_full_disk(root, work, promises.get(PARTITION, Promise()))
            except BaseException as error:
                error.add_note(f"state {number}, {promises}, {sorted(map(str, state))}")
                raise
            checked += 1
    CRASHES.report(checked)


def check_full_disk(root: Path, work: Workload, promise: Promise) -> None:
    """Open the log in the space that there was; look at all that is in it, delete all of it, and go on."""
    disk = BoundedDisk(root, BLOCKS)
    with Log.open(root / PARTITION, SMALL, filesystem=disk, clock=lambda: NOW) as log:
        batches = whole_batches(log)
        check_promise(log, batches, work.versions[promise.version], promise)
        assert any(is_part(batches, version) for version in work.versions)
        log.update_high_watermark(log.log_end_offset)
        log.delete_records(log.log_end_offset)
        log.delete_old_segments()
        assert log.log_start_offset == log.log_end_offset
