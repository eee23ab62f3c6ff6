"""A copy of which nothing has changed is not opened again; whatever changes beside its bytes is noticed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from logstore import LogConfig, LogDirectory, TopicPartition
from logstore.batch.layout import CRC_AT, HEADER_SIZE
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT
from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.examination.kept.header_cache import HeaderCache
from replication.copies.audit.examination.kept.rotation import Rotation
from replication.copies.audit.examination.kept.standing_copy import StandingCopies
from replication.copies.audit.snapshots.snapshot import list_snapshots
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import Copy, Job
from tests.replication.copies.audit.examination.kept.test_header_cache import essence, overwrite
from tests.replication.copies.audit.snapshot_roots import LONG_AGO, age, batches

Row = dict[str, Any]
PARTITION = TopicPartition("t", 0)
LATER = 1_800_000_000 * 10**6
"""When audits begin, in microseconds since 1970 UTC."""


class Nights:
    """Audits of one copy as a broker leaves it, with a history."""

    def __init__(self, place: Path) -> None:
        self.root, self.history = place / "broker-1", place / "history"
        self.root.mkdir()
        (self.root / "meta.properties").write_text("version=1\ncluster.id=abc\nnode.id=1\n")
        with LogDirectory.open(self.root, LogConfig(segment_bytes=500), replicated=True) as directory:
            log = directory.create(PARTITION, topic_id=UUID(int=7))
            for each in batches(8):
                log.append_batches(each.encoded())
            log.update_high_watermark(log.log_end_offset)
        age(self.root)

    @property
    def directory(self) -> Path:
        """The partition's."""
        return self.root / str(PARTITION)

    @property
    def copy(self) -> Copy:
        [copy] = [copy for snapshot in list_snapshots([self.root]) for copy in snapshot.copies()]
        return copy

    def kept(self) -> Path:
        """What is kept of the copy as a whole."""
        [file] = self.history.rglob("*.standing")
        return file

    def recalled(self, *, at: int = LATER, rotation: Rotation | None = None, **options: bool) -> Row | None:
        """What the next audit takes from the history, without reading the copy."""
        return self._examiner(at, rotation, **options).recalled(self.copy)

    def read(self, *, at: int = LATER, **options: bool) -> Row:
        """Audit the copy, whatever there is in the history."""
        examiner, copy = self._examiner(at, None, **{"full": True, **options}), self.copy
        [row] = examiner.rows((Job(copy.replica, copy.root, copy),))
        return row

    def _examiner(self, at: int, rotation: Rotation | None, *, records: bool = False, full: bool = False) -> Examiner:
        place = Storage(str(self.history))
        cache = HeaderCache(place, at, records=records, full=full, rotation=rotation)
        standing = StandingCopies(place, at, records=records, full=full, rotation=rotation)
        return Examiner(records=records, read_at=at, cache=cache, standing=standing)


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    """A copy of several segments that was audited once."""
    nights = Nights(tmp_path)
    row = nights.read()
    assert row["findings"] == []
    assert len(row["segments"]) > 1
    return nights


def test_a_copy_that_stands_as_it_was_is_taken_from_the_history(nights: Nights) -> None:
    first, second = nights.read(), nights.recalled(at=LATER + 10)
    assert second is not None
    assert second["bytes_read"] == 0
    assert second["oldest_read"] == LATER
    assert {segment["read_at"] for segment in second["segments"]} == {LATER}
    assert essence(second) == essence({**first, "bytes_read": 0})


def test_so_is_a_copy_of_it_in_another_place(nights: Nights) -> None:
    shutil.copytree(nights.root, moved := nights.root.parent / "tonight" / nights.root.name)
    shutil.rmtree(nights.root)
    nights.root = moved
    row = nights.recalled()
    assert row is not None
    assert row["root"] == str(moved)


def newer(path: Path) -> None:
    os.utime(path, ns=(LONG_AGO + 1, LONG_AGO + 1))


def last_batch(nights: Nights) -> None:
    """Give the last batch of the active segment another checksum, without any sign of it."""
    log = max(nights.directory.glob("*.log"))
    last = log.stat().st_size - len(batches(1)[0].encoded())
    overwrite(log, last + CRC_AT, bytes(4))


def high_watermark(nights: Nights) -> None:
    (nights.root / HIGH_WATERMARK_CHECKPOINT).write_text("0\n1\nt 0 1\n")


CHANGES: dict[str, Callable[[Nights], object]] = {
    "a segment": lambda nights: newer(min(nights.directory.glob("*.log"))),
    "the active segment": lambda nights: newer(max(nights.directory.glob("*.log"))),
    "an index": lambda nights: newer(max(nights.directory.glob("*.index"))),
    "the epochs": lambda nights: newer(nights.directory / "leader-epoch-checkpoint"),
    "a file less": lambda nights: max(nights.directory.glob("*.timeindex")).unlink(),
    "a file more": lambda nights: (nights.directory / "what.ever").touch(),
    "a directory more": lambda nights: (nights.directory / "what").mkdir(),
    "a link more": lambda nights: (nights.directory / "what").symlink_to("nowhere"),
    "a file that is longer": lambda nights: os.truncate(nights.directory / "leader-epoch-checkpoint", 1),
    "the last batch": last_batch,
    "a high watermark": high_watermark,
    "a stop in order": lambda nights: (nights.root / ".kafka_cleanshutdown").unlink(),
    "whose root it is": lambda nights: (nights.root / "meta.properties").write_text("version=0\nbroker.id=1\n"),
    "what is kept": lambda nights: nights.kept().write_bytes(nights.kept().read_bytes()[:-1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_where_anything_has_changed_the_copy_is_read(nights: Nights, change: str) -> None:
    assert nights.recalled() is not None
    CHANGES[change](nights)
    assert nights.recalled() is None


@pytest.mark.parametrize("options", [{"full": True}, {"records": True}])
def test_another_audit_reads_it(nights: Nights, options: dict[str, bool]) -> None:
    assert nights.recalled(**options) is None


def test_it_is_read_when_a_segment_has_its_turn(nights: Nights) -> None:
    nights.read(at=LATER)
    assert nights.recalled(rotation=Rotation(1, 0, 0)) is None
    assert nights.recalled(rotation=Rotation(10**9, 3, 0)) is not None
    assert nights.recalled(rotation=Rotation(10**9, 3, LATER // 1000 + 1)) is None


def test_damage_is_read_each_time(nights: Nights) -> None:
    overwrite(min(nights.directory.glob("*.log")), HEADER_SIZE + 5, b"\xff")
    assert [each["kind"] for each in nights.read(at=LATER + 10)["findings"]] == ["corrupt-batch"]
    assert nights.recalled() is None, "what was found before it is forgotten"


def test_what_was_just_written_is_looked_at_once_more(nights: Nights) -> None:
    newer(nights.directory / "leader-epoch-checkpoint")
    nights.read(at=LONG_AGO // 1000 + 1_999_999)
    assert nights.recalled() is None
    nights.read(at=LONG_AGO // 1000 + 2_000_001)
    assert nights.recalled() is not None


def test_what_changes_while_it_is_read_is_not_kept(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    nights.kept().unlink()
    confirm = Examiner._confirmed

    def changing(self: Examiner, *arguments: Any) -> Any:
        newer(nights.directory / "leader-epoch-checkpoint")
        return confirm(self, *arguments)

    monkeypatch.setattr(Examiner, "_confirmed", changing)
    nights.read()
    assert nights.recalled() is not None, "it was changed before it was looked at"

    def changing_late(self: Examiner, *arguments: Any) -> Any:
        found = confirm(self, *arguments)
        os.utime(nights.directory / "leader-epoch-checkpoint", ns=(LONG_AGO, LONG_AGO))
        return found

    monkeypatch.setattr(Examiner, "_confirmed", changing_late)
    nights.kept().unlink()
    nights.read()
    assert not list(nights.history.rglob("*.standing"))
