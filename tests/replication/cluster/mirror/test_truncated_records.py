"""What a truncation removes is kept as it was, or the truncation cannot happen."""

import errno
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epoch.filesystem import REAL, FileSystem
from logstore import Log, LogConfig, Record, TopicPartition
from replication.cluster.fetcher.fetch_observer import Cut
from replication.cluster.fetcher.removed_records import RemovedRecords
from replication.cluster.mirror.errors import ForeignDirectoryError
from replication.cluster.mirror.truncated_records import TruncatedRecords, ensure_apart
from tests.disk import FailingDisk, Failure
from tests.replication.cli.command import epochlog

ORDERS = TopicPartition("orders", 0)
SMALL = LogConfig(segment_bytes=1_000, index_interval_bytes=100)


def filled(directory: Path, sizes: list[int]) -> Log:
    """A log with a batch of so many records each, a leader epoch for every third batch."""
    log = Log.open(directory, SMALL, replicated=True)
    for number, size in enumerate(sizes):
        records = [Record(0, 1_700_000_000_000, b"key", b"%d-%d" % (number, each)) for each in range(size)]
        log.append(records, leader_epoch=number // 3)
    return log


def keep(log: Log, offset: int, keeper: TruncatedRecords, **changes: Any) -> Path | None:
    cut = Cut(ORDERS, offset, log.log_start_offset, log.log_end_offset, log.high_watermark, 7, "", **changes)
    return keeper.keep(log, cut, RemovedRecords.of(log, cut.first_offset))


def batches_from(log: Log, offset: int) -> bytes:
    """All batches that reach `offset`, read one at a time."""
    found = b""
    offset = max(offset, log.log_start_offset)
    while offset < log.log_end_offset:
        view = log.read(offset, 1)
        found += view.data
        offset = view.next_offset
    return found


@settings(max_examples=20)
@given(sizes=st.lists(st.integers(1, 9), max_size=30), share=st.floats(0, 1.1), start=st.floats(0, 1))
def test_what_is_kept_is_exactly_what_the_truncation_removes(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], share: float, start: float
) -> None:
    directory = tmp_path_factory.mktemp("log")
    with filled(directory / str(ORDERS), sizes) as log:
        log.update_high_watermark(log.log_end_offset)
        log.delete_records(int(start * log.log_end_offset))
        log.delete_old_segments()
        offset = int(share * log.log_end_offset)
        before = batches_from(log, log.log_start_offset)
        expected = batches_from(log, offset)
        kept = keep(log, offset, TruncatedRecords(directory / "kept"))
        assert (kept.read_bytes() if kept else b"") == expected
        if offset >= log.log_start_offset:
            log.truncate_to(offset)
            assert batches_from(log, log.log_start_offset) + expected == before


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (10, RemovedRecords(10, 5, 126)),
        (12, RemovedRecords(10, 5, 126)),
        (9, RemovedRecords(5, 10, 252)),
        (15, (15, 0, 0)),
    ],
)
def test_what_goes_is_counted_in_whole_batches(tmp_path: Path, offset: int, expected: RemovedRecords) -> None:
    with filled(tmp_path / str(ORDERS), [5, 5, 5]) as log:
        assert RemovedRecords.of(log, offset) == expected


def test_a_log_that_starts_afresh_beyond_its_end_loses_everything_and_all_of_it_is_kept(tmp_path: Path) -> None:
    with filled(tmp_path / str(ORDERS), [5, 5]) as log:
        kept = keep(log, 700, TruncatedRecords(tmp_path / "kept"), starts_afresh=True)
        assert kept is not None
        assert kept.read_bytes() == batches_from(log, 0)


def test_several_cuts_at_one_offset_are_kept_side_by_side(tmp_path: Path) -> None:
    keeper = TruncatedRecords(tmp_path / "kept")
    with filled(tmp_path / str(ORDERS), [5, 5]) as log:
        kept = {keep(log, 5, keeper) for _ in range(20)}
        names = {path.name for path in (tmp_path / "kept" / "orders-0").iterdir()}
    assert len(kept) == len(names) == 20
    assert all(name.startswith("00000000000000000005-epoch7-2") and name.endswith("Z.log") for name in names)


def test_a_kept_file_is_a_segment_that_dump_reads(tmp_path: Path) -> None:
    with filled(tmp_path / str(ORDERS), [5, 5]) as log:
        kept = keep(log, 5, TruncatedRecords(tmp_path / "kept"))
    told = epochlog("dump", kept, "--records")
    assert told.status == 0, told.err
    assert [f"1-{number}" in told.out for number in range(5)] == [True] * 5
    assert "0-0" not in told.out


@pytest.mark.parametrize("step", range(1, 9))
def test_a_disk_that_fails_leaves_no_file_that_could_be_taken_for_a_whole_one(tmp_path: Path, step: int) -> None:
    disk = FailingDisk(step, Failure.SHORT)
    with filled(tmp_path / str(ORDERS), [5, 5]) as log:
        with pytest.raises(OSError, match="space") as failure:
            keep(log, 5, TruncatedRecords(tmp_path / "kept", disk))
        assert failure.value.errno == errno.ENOSPC
        assert log.log_end_offset == 10
        whole = [path for path in (tmp_path / "kept").rglob("*.log") if path.read_bytes() != batches_from(log, 5)]
    assert whole == []
    assert list((tmp_path / "kept").rglob("*.tmp")) == []


def test_the_file_is_durable_before_it_has_its_name(tmp_path: Path) -> None:
    steps: list[str] = []

    class Watched(FileSystem):
        def fsync(self, descriptor: int) -> None:
            steps.append("fsync")
            REAL.fsync(descriptor)

        def rename(self, source: Path, target: Path) -> None:
            steps.append("rename")
            REAL.rename(source, target)

        def fsync_directory(self, path: Path) -> None:
            steps.append(f"fsync {path.name}")
            REAL.fsync_directory(path)

    with filled(tmp_path / str(ORDERS), [5, 5]) as log:
        keep(log, 5, TruncatedRecords(tmp_path / "kept", Watched()))
    assert steps == [f"fsync {tmp_path.name}", "fsync kept", "fsync", "rename", "fsync orders-0"]


@pytest.mark.parametrize("place", ["copy", "copy/kept", "link", "kept/../copy/kept"])
def test_what_is_kept_does_not_lie_in_the_copy(tmp_path: Path, place: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "copy")
    with pytest.raises(ForeignDirectoryError, match="within the copy"):
        ensure_apart(tmp_path / place, tmp_path / "copy")


@pytest.mark.parametrize("place", [".", "kept", "copy-kept"])
def test_what_is_kept_may_lie_anywhere_else(tmp_path: Path, place: str) -> None:
    ensure_apart(tmp_path / place, tmp_path / "copy")


def test_a_file_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("")
    with pytest.raises(ForeignDirectoryError, match="not a directory"):
        ensure_apart(tmp_path / "kept", tmp_path / "copy")
