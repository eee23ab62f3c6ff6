"""A replicated root that has less than its checkpoint files have said knows it, until somebody settles it."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.directory.log_directories import LogDirectories
from logstore.directory.log_directory import LogDirectory
from logstore.directory.shortfalls.shortfall import Shortfall
from logstore.errors import CorruptMetadataError
from logstore.files.broker.checked_json import encode_checked
from logstore.files.broker.kept_claims import KEPT_CLAIMS_NAME, Claims, keep_claims, read_claims
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, RECOVERY_POINT_CHECKPOINT, OffsetCheckpoint
from logstore.log_config import LogConfig
from logstore.topic_partition import TopicPartition

Damage = Callable[[Path], None]
ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("orders", 1)
BATCHES, RECORDS = 9, 10
CONFIG = LogConfig(segment_bytes=1_200, remote_storage_enable=False)
OFFSETS = st.integers(0, 1 << 62)
CLAIMS = st.builds(Claims, recovery_point=OFFSETS, high_watermark=OFFSETS, log_start_offset=st.none() | OFFSETS)
PARTITIONS = st.builds(TopicPartition, st.sampled_from("ab-"), st.integers(0, 9))


def first_segment(root: Path) -> Path:
    return min((root / "orders-0").glob("*.log"))


def last_segment(root: Path) -> Path:
    return max((root / "orders-0").glob("*.log"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two logs of 90 records in three segments, all of them committed, closed in order."""
    root = tmp_path / "kafka-logs"
    with opened(root) as directory:
        for partition in (ORDERS, OTHERS):
            log = directory.create(partition)
            for _ in range(BATCHES):
                log.append([b"v" * 20] * RECORDS, leader_epoch=0)
            log.update_high_watermark(log.log_end_offset)
    assert not kept(root)
    return root


def opened(root: Path) -> LogDirectory:
    return LogDirectory.open(root, CONFIG, replicated=True)


def kept(root: Path) -> bool:
    return (root / KEPT_CLAIMS_NAME).exists()


def lose_directory(root: Path) -> None:
    shutil.rmtree(root / "orders-0")


def cut_bytes(root: Path) -> None:
    os.truncate(last_segment(root), last_segment(root).stat().st_size - 100)


def empty(root: Path) -> None:
    for path in (root / "orders-0").glob("*.log"):
        os.truncate(path, 0)


def lose_last_segment(root: Path) -> None:
    for path in (root / "orders-0").glob(f"{last_segment(root).stem}.*"):
        path.unlink()


DAMAGE = [lose_directory, cut_bytes, empty, lose_last_segment]


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_lost_is_known_at_each_start_until_it_is_settled(root: Path, damage: Damage) -> None:
    damage(root)
    for _ in range(2):
        with opened(root) as directory:
            assert directory.shortfalls.keys() == {ORDERS}
            short = directory.shortfalls[ORDERS]
            assert short.claims == Claims(recovery_point=90, high_watermark=90)
            assert short.lacks_flushed
            assert "the recovery point 90 and the high watermark 90" in str(short)
    with opened(root) as directory:
        directory.settle(ORDERS)
        assert not directory.shortfalls
    assert not kept(root)
    with opened(root) as directory:
        assert not directory.shortfalls


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_put_back_is_not_missing(root: Path, damage: Damage) -> None:
    shutil.copytree(root / "orders-0", root.parent / "copy")
    damage(root)
    with opened(root) as directory:
        assert ORDERS in directory.shortfalls
    shutil.rmtree(root / "orders-0", ignore_errors=True)
    shutil.copytree(root.parent / "copy", root / "orders-0")
    with opened(root) as directory:
        assert not directory.shortfalls
        assert directory.log(ORDERS).log_end_offset == 90
    assert not kept(root)


@pytest.mark.parametrize("damage", DAMAGE)
def test_it_is_known_after_a_crash_too(root: Path, damage: Damage) -> None:
    damage(root)
    directory = opened(root)
    directory.checkpoint()
    directory.checkpoint_high_watermarks()
    directory.abandon()
    assert OffsetCheckpoint.read(root / RECOVERY_POINT_CHECKPOINT).get(ORDERS, 0) < 90
    with opened(root) as directory:
        assert directory.shortfalls[ORDERS].claims.recovery_point == 90


def test_an_older_copy_is_short(root: Path) -> None:
    shutil.copytree(root / "orders-0", root.parent / "copy")
    with opened(root) as directory:
        directory.log(ORDERS).append([b"later"], leader_epoch=0)
    shutil.rmtree(root / "orders-0")
    shutil.copytree(root.parent / "copy", root / "orders-0")
    with opened(root) as directory:
        assert directory.shortfalls[ORDERS].log_end_offset == 90
        assert directory.shortfalls[ORDERS].claims.end == 91


def test_what_was_committed_and_never_flushed_is_missing_yet_not_flushed(root: Path) -> None:
    """A loss of power may take it."""
    (root / CLEAN_SHUTDOWN_NAME).unlink()
    OffsetCheckpoint({ORDERS: 95, OTHERS: 90}).write(root / HIGH_WATERMARK_CHECKPOINT)
    with opened(root) as directory:
        assert directory.shortfalls.keys() == {ORDERS}
        assert not directory.shortfalls[ORDERS].lacks_flushed


@pytest.mark.parametrize("is_clean", [True, False])
def test_lost_first_segments_are_missing_where_retention_cannot_have_taken_them(root: Path, *, is_clean: bool) -> None:
    with opened(root) as directory:
        directory.log(ORDERS).delete_records(5)
    for path in (root / "orders-0").glob(f"{first_segment(root).stem}.*"):
        path.unlink()
    if not is_clean:
        (root / CLEAN_SHUTDOWN_NAME).unlink()
    with opened(root) as directory:
        assert (ORDERS in directory.shortfalls) is is_clean
        if is_clean:
            assert "begins at offset" in str(directory.shortfalls[ORDERS])
    with opened(root) as directory:
        assert (ORDERS in directory.shortfalls) is is_clean


def test_what_was_deleted_set_aside_or_made_anew_is_not_missing(root: Path) -> None:
    lose_directory(root)
    with opened(root) as directory:
        assert ORDERS in directory.shortfalls
        directory.create(ORDERS)
        directory.set_aside_stray(OTHERS)
        assert not directory.shortfalls
    with opened(root) as directory:
        directory.delete(ORDERS)
    with opened(root) as directory:
        assert not directory.shortfalls


def test_the_directory_of_one_that_was_being_deleted_is_not_gone(root: Path) -> None:
    """A crash came before the checkpoint files were written."""
    (root / "orders-0").rename(root / f"orders-0.{'7a' * 16}-delete")
    with opened(root) as directory:
        assert not directory.shortfalls


def test_what_another_root_has_is_not_gone(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (root / "orders-0").rename(other / "orders-0")
    with LogDirectories.open([root, other], CONFIG, replicated=True) as directories:
        assert not directories.shortfalls


def test_what_cannot_be_opened_is_not_forgotten(root: Path) -> None:
    cut_bytes(root)
    with opened(root):
        pass
    (root / "orders-0").rename(root.parent / "orders-0")
    (root / "orders-0").symlink_to(root.parent / "orders-0")
    with opened(root) as directory:
        assert not directory.shortfalls
    (root / "orders-0").unlink()
    (root.parent / "orders-0").rename(root / "orders-0")
    with opened(root) as directory:
        assert directory.shortfalls[ORDERS].claims.recovery_point == 90


def test_a_root_of_the_only_copies_keeps_none(root: Path) -> None:
    lose_directory(root)
    with LogDirectory.open(root, CONFIG) as directory:
        assert not directory.shortfalls
    assert not kept(root)


@given(st.dictionaries(PARTITIONS, CLAIMS))
def test_claims_are_read_as_they_were_kept(
    tmp_path_factory: pytest.TempPathFactory, claims: dict[TopicPartition, Claims]
) -> None:
    root = tmp_path_factory.mktemp("root")
    keep_claims(root, claims)
    assert read_claims(root) == claims
    keep_claims(root, {})
    assert not kept(root)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"version": 1, "partitions": {}}',
        encode_checked({"version": 1}),
        encode_checked({"version": 7, "partitions": {}}),
        encode_checked({"version": 1, "partitions": {"orders-0": {"recovery_point": -1}}}),
        encode_checked({"version": 1, "partitions": {"orders-0": {"end": 1}}}),
        encode_checked({"version": 1, "partitions": {"orders": {}}}),
    ],
)
def test_what_are_no_claims_is_refused(root: Path, content: bytes) -> None:
    """Whoever passed over them would lead with what is left."""
    (root / KEPT_CLAIMS_NAME).write_bytes(content)
    with pytest.raises(CorruptMetadataError, match=f"{KEPT_CLAIMS_NAME}: .*; it names logs that have less"):
        opened(root)


@given(OFFSETS, OFFSETS, OFFSETS)
def test_one_that_is_gone_is_short_of_all_that_was_said(recovery_point: int, high_watermark: int, start: int) -> None:
    claims = Claims(recovery_point=recovery_point, high_watermark=high_watermark, log_start_offset=start)
    short = Shortfall.of_gone(Path("orders-0"), claims)
    assert (short is None) is (claims.end == 0)
    assert short is None or (short.is_gone and short.lacks_flushed is (max(recovery_point, start) > 0))
