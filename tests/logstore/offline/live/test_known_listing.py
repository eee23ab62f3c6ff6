"""A directory is listed again where something may have changed in it, and not where nothing has."""

import time
from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from logstore.batch.record import Record
from logstore.errors import NotALogDirectoryError
from logstore.files.offset_checkpoint import LOG_START_OFFSET_CHECKPOINT
from logstore.log.log import Log
from logstore.log_config import LogConfig
from logstore.offline.live import known_listing
from logstore.offline.live.known_listing import KnownListing
from logstore.offline.partition_directory import PartitionDirectory


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "t-0"
    Log.open(path).close()
    return path


@pytest.fixture
def listings(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The directories that were listed again."""
    made: list[Path] = []
    listed_again = PartitionDirectory.listed_again

    def noted(partition: PartitionDirectory) -> PartitionDirectory:
        made.append(partition.path)
        return listed_again(partition)

    monkeypatch.setattr(PartitionDirectory, "listed_again", noted)
    return made


def test_what_has_settled_is_listed_once(
    directory: Path, listings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_listing, "SETTLED_NS", 0)
    listing = KnownListing(PartitionDirectory.open(directory))
    first = listing.now()
    assert [listing.now() for _ in range(20)] == [first] * 20
    assert listings == [directory]


def test_what_changed_just_now_may_change_again_unseen_and_is_listed_each_time(
    directory: Path, listings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_listing, "SETTLED_NS", 3_600 * 10**9)
    listing = KnownListing(PartitionDirectory.open(directory))
    for _ in range(3):
        listing.now()
    assert len(listings) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda path: (path / "00000000000000000007.log").touch(),
        lambda path: (path / "00000000000000000000.log").unlink(),
        lambda path: (path / "00000000000000000000.log").rename(path / "00000000000000000000.log.deleted"),
        lambda path: (path.parent / LOG_START_OFFSET_CHECKPOINT).write_text("0\n1\nt 0 5\n"),
    ],
    ids=["a new file", "one less", "a new name", "a checkpoint of the root"],
)
def test_each_change_is_seen_however_long_nothing_had_changed(
    directory: Path, listings: list[Path], monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    monkeypatch.setattr(known_listing, "SETTLED_NS", 0)
    time.sleep(0.05)  # some ticks
    listing = KnownListing(PartitionDirectory.open(directory))
    listing.now()
    listing.now()
    assert len(listings) == 1
    change(directory)
    seen = listing.now()
    assert len(listings) == 2
    now = PartitionDirectory.open(directory)
    assert (seen.listing.files, seen.checkpoints) == (now.listing.files, now.checkpoints)


def test_times_of_files_are_not_trusted_for_long(
    directory: Path, listings: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_listing, "SETTLED_NS", 0)
    listing = KnownListing(PartitionDirectory.open(directory))
    listing.now()
    later = time.monotonic() + known_listing.TRUSTED_SECONDS
    monkeypatch.setattr(time, "monotonic", lambda: later)
    listing.now()
    assert len(listings) == 2


def test_a_reader_does_not_go_by_a_listing_whose_file_is_gone_although_the_times_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as on another machine's disk, whose clock is behind."""
    monkeypatch.setattr(known_listing, "SETTLED_NS", 0)
    with Log.open(tmp_path / "t-0", LogConfig(segment_bytes=300, file_delete_delay_ms=0)) as log:
        for number in range(20):
            log.append([Record.of(b"%d" % number, timestamp=number)])
        log.flush()
        moment = known_listing._moment(PartitionDirectory.open(log.directory))
        monkeypatch.setattr(known_listing, "_moment", lambda _: moment)
        for since in (None, 0):
            with Log.reader(log.directory) as reader:
                start = reader.log_start_offset
                log.trim(before=start + 9)
                begins = start + 9 if since is None else None
                records = reader.records(begins, since=since)
                assert [record.offset for record in records] == list(range(start + 9, 20))
        with Log.reader(log.directory) as reader:
            assert reader.log_end_offset == 20
            log.truncate_fully_and_start_at(50)
            assert reader.log_end_offset == 50


def test_a_directory_that_is_gone_is_told(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_listing, "SETTLED_NS", 0)
    listing = KnownListing(PartitionDirectory.open(directory))
    listing.now()
    rmtree(directory)
    with pytest.raises((NotALogDirectoryError, FileNotFoundError)):
        listing.now()
