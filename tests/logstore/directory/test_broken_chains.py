"""A replicated log whose segments do not follow one another is held back, and is cut there once that is settled."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logstore.batch.record import Record
from logstore.directory.log_directory import LogDirectory
from logstore.errors import DamagedLogError
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import (
    CLEANER_OFFSET_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition

Fault = Callable[[list[Path], int, int], None]
ORDERS, TABLE = TopicPartition("orders", 0), TopicPartition("table", 0)
BATCHES, RECORDS = 18, 10
START, END = 35, BATCHES * RECORDS
SEGMENTS = BATCHES // 3 - 1
CONFIG = LogConfig(segment_bytes=1_200)
SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)


def opened(root: Path, config: LogConfig | Callable[[TopicPartition], LogConfig] = CONFIG) -> LogDirectory:
    return LogDirectory.open(root, config, replicated=True, damage="hold")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of records 35 to 179, in five segments of thirty, closed in order."""
    root = tmp_path_factory.mktemp("sound") / "kafka-logs"
    with opened(root) as directory:
        log = directory.create(ORDERS)
        for number in range(BATCHES):
            log.append([b"%02d" % number * 10] * RECORDS, leader_epoch=number // 4)
        log.update_high_watermark(log.log_end_offset)
        log.delete_records(START)
        log.delete_old_segments()
    return root


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    return put_back(sound, tmp_path)


def put_back(sound: Path, tmp_path: Path) -> Path:
    root = tmp_path / "kafka-logs"
    shutil.rmtree(root, ignore_errors=True)
    return Path(shutil.copytree(sound, root))


def logs(root: Path) -> list[Path]:
    return sorted((root / "orders-0").glob("*.log"))


def files_of(log: Path) -> list[Path]:
    return sorted(log.parent.glob(f"{log.stem}.*"))


def records(log: Log) -> dict[int, bytes | None]:
    return {record.offset: record.value for record in log.records(log.log_start_offset)}


def lose(segments: list[Path], at: int, _: int) -> None:
    for path in files_of(segments[at]):
        path.unlink()


def lose_log(segments: list[Path], at: int, _: int) -> None:
    segments[at].unlink()


def empty(segments: list[Path], at: int, _: int) -> None:
    os.truncate(segments[at], 0)


def shorten(segments: list[Path], at: int, other: int) -> None:
    """As of an older copy: all its batches are whole."""
    size = segments[at].stat().st_size
    os.truncate(segments[at], size // 3 * (1 + other % 2))
    for path in files_of(segments[at]):
        if path.suffix.endswith("index"):
            os.truncate(path, 0)


def tear(segments: list[Path], at: int, other: int) -> None:
    os.truncate(segments[at], segments[at].stat().st_size - 1 - other)


def swap(segments: list[Path], at: int, other: int) -> None:
    if at == other:
        other = at - 1
    aside = segments[at].with_suffix(".aside")
    segments[at].rename(aside)
    segments[other].rename(segments[at])
    aside.rename(segments[other])


def rename(segments: list[Path], at: int, other: int) -> None:
    base = int(segments[at].stem) + 1 + other
    for path in files_of(segments[at]):
        path.rename(path.with_name(f"{base:020}{path.suffix}"))


FAULTS: list[Fault] = [lose, lose_log, empty, shorten, tear, swap, rename]


@SETTINGS
@given(
    fault=st.sampled_from(FAULTS),
    at=st.integers(0, SEGMENTS - 2),
    other=st.integers(0, SEGMENTS - 1),
    is_clean=st.booleans(),
)
def test_no_log_is_served_with_a_hole(
    sound: Path, tmp_path: Path, fault: Fault, at: int, other: int, *, is_clean: bool
) -> None:
    root = put_back(sound, tmp_path)
    with opened(root) as directory:
        before = records(directory.log(ORDERS))
    fault(logs(root), at, other)
    if not is_clean:
        (root / CLEAN_SHUTDOWN_NAME).unlink()
    held = {path: path.read_bytes() for path in (root / "orders-0").glob("*.log")}
    for _ in range(2):
        with opened(root) as directory:
            assert isinstance(directory.unreadable[ORDERS], DamagedLogError)
            short = directory.shortfalls[ORDERS]
            assert short.claims.recovery_point == END
            assert short.lacks_flushed
            assert short.log_end_offset is not None
            assert "is damaged from offset" in str(short)
        assert {path: path.read_bytes() for path in (root / "orders-0").glob("*.log")} == held
    with opened(root) as directory:
        directory.settle(ORDERS)
        log = directory.log(ORDERS)
        assert log.log_end_offset == short.log_end_offset
        assert records(log) == {offset: value for offset, value in before.items() if offset < log.log_end_offset}
        kept = sum(path.stat().st_size for path in (root / "orders-0").glob("*.set-aside"))
        assert kept + log.size == sum(map(len, held.values()))
    with opened(root) as directory:
        assert not directory.shortfalls
        assert not directory.unreadable


def test_what_is_left_behind_lost_first_segments_is_kept_where_the_loss_is_accepted(root: Path) -> None:
    lose(logs(root), 0, 0)
    with opened(root) as directory:
        assert directory.shortfalls[ORDERS].log_end_offset == START
        directory.settle(ORDERS, is_accepted=True)
        log = directory.log(ORDERS)
        assert (log.log_start_offset, log.log_end_offset) == (60, END)
        assert sorted(records(log)) == list(range(60, END))
    with opened(root) as directory:
        assert not directory.unreadable


@pytest.mark.parametrize("is_closed", [True, False])
def test_a_log_of_which_a_crash_came_between_its_deletion_and_the_writing_of_its_epochs_is_whole(
    root: Path, *, is_closed: bool
) -> None:
    for path in files_of(logs(root)[0]):
        path.rename(path.with_name(f"{path.name}.deleted"))
    if not is_closed:
        (root / CLEAN_SHUTDOWN_NAME).unlink()
    with opened(root) as directory:
        assert (ORDERS in directory.unreadable) is is_closed


def test_a_break_above_what_was_flushed_is_cut_and_set_aside(root: Path) -> None:
    """Nobody was promised what lies behind it, which Kafka would serve."""
    (root / CLEAN_SHUTDOWN_NAME).unlink()
    OffsetCheckpoint({ORDERS: 70}).write(root / RECOVERY_POINT_CHECKPOINT)
    OffsetCheckpoint({ORDERS: 90}).write(root / HIGH_WATERMARK_CHECKPOINT)
    lose(logs(root), 2, 0)
    with opened(root) as directory:
        log = directory.log(ORDERS)
        assert log.log_end_offset == 90
        assert not directory.shortfalls
        assert [dropped.set_aside for dropped in log.report.dropped] == [
            f"{base:020}.log.set-aside" for base in (120, 150)
        ]


def compacted(root: Path) -> None:
    """Let the log lack offsets between its segments, as compaction leaves it, and nothing in the checkpoints say so."""
    config = LogConfig(segment_bytes=1_200, cleanup_policy=frozenset({"compact"}), min_cleanable_dirty_ratio=0)
    with opened(root, lambda partition: config if partition == TABLE else CONFIG) as directory:
        log = directory.create(TABLE)
        for number in range(BATCHES):
            log.append([Record.of(b"%d" % number, key=b"%d" % (each % 3)) for each in range(RECORDS)], leader_epoch=0)
        log.update_high_watermark(log.log_end_offset)
        directory.compact()


@pytest.mark.parametrize("is_clean", [True, False])
@pytest.mark.parametrize("is_known", [True, False])
def test_a_log_that_was_compacted_is_whole(root: Path, *, is_clean: bool, is_known: bool) -> None:
    compacted(root)
    if not is_known:
        (root / CLEANER_OFFSET_CHECKPOINT).unlink()
    if not is_clean:
        (root / CLEAN_SHUTDOWN_NAME).unlink()
    with opened(root) as directory:
        assert not directory.unreadable
        assert not directory.shortfalls
        assert len(directory.log(TABLE).segments) > 1


STEPS = ["append", "append", "append", "roll", "truncate", "delete", "restart", "crash", "anew"]
HISTORY = st.lists(st.sampled_from(STEPS), max_size=30)


@SETTINGS
@given(history=HISTORY, seed=st.integers(0, 1 << 32))
def test_no_history_of_a_sound_log_is_taken_for_a_break(tmp_path: Path, history: list[str], seed: int) -> None:
    chance = random.Random(seed)
    root = tmp_path / "kafka-logs"
    shutil.rmtree(root, ignore_errors=True)
    directory = opened(root)
    directory.create(ORDERS)
    ends: list[int] = []
    """Of batches: leaders and followers agree on these."""
    for number, step in enumerate(history):
        log = directory.log(ORDERS)
        if step == "append":
            log.append([b"v" * chance.randrange(100)] * chance.randrange(1, 9), leader_epoch=number)
            ends.append(log.log_end_offset)
        elif step == "roll":
            log.roll()
        elif step == "truncate":
            between = [each for each in ends if log.log_start_offset <= each <= log.log_end_offset]
            log.truncate_to(chance.choice([*between, log.log_end_offset]))
        elif step == "anew":
            log.truncate_fully_and_start_at(log.log_end_offset + chance.randrange(50))
        elif step == "delete":
            log.update_high_watermark(log.log_end_offset)
            log.delete_records(chance.randrange(log.log_start_offset, log.log_end_offset + 1))
            log.delete_old_segments()
        else:
            directory.close() if step == "restart" else directory.abandon()
            directory = opened(root)
            assert not directory.unreadable
    directory.close()
    with opened(root) as directory:
        assert not directory.unreadable
