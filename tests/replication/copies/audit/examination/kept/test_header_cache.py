"""Audits with a history: what is closed and unchanged is not read again, and nothing else is different."""

import os
import random
import shutil
import time
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest

from logstore.batch.layout import CRC_AT, HEADER_SIZE
from logstore.offline.partition_directory import PartitionDirectory
from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.examination.examination import examine
from replication.copies.audit.examination.kept.header_cache import HeaderCache
from replication.copies.audit.examination.kept.rotation import Rotation
from replication.copies.audit.examination.kept.standing_copy import StandingCopies
from replication.copies.audit.pipeline.partition_rows import finish_rows
from replication.copies.audit.snapshots.snapshot import list_snapshots
from replication.copies.audit.snapshots.storage import Storage
from replication.copies.audit.snapshots.work import ByteRange, Copy, Job
from replication.copies.audit.tables import EXAMINED
from tests.campaign import Campaign
from tests.logstore.log_workloads import Workload, random_config, random_life
from tests.logstore.verify.test_fuzz_verify import damage
from tests.replication.copies.audit.snapshot_roots import LONG_AGO, age, batches, write_root

CAMPAIGN = Campaign("audit: incremental runs", full=2_000, share=12)
OF_THE_RUN: Final = ("bytes_read", "oldest_read")
"""What differs between a run that read all and one that did not."""
ROOT: Final = "broker-1"

Row = dict[str, Any]


class Runs:
    """Audits of the one copy below a directory, each of which keeps what it has read for the next."""

    def __init__(self, place: Path) -> None:
        self.root = place / ROOT
        self.history = Storage(str(place / "history"))

    @property
    def copy(self) -> Copy:
        [copy] = [copy for snapshot in list_snapshots([self.root]) for copy in snapshot.copies()]
        return copy

    @property
    def closed(self) -> list[Path]:
        """The files of all segments but the last, by offset."""
        return sorted(self.root.glob("*-0/*.log"))[:-1]

    def examine(
        self,
        *,
        records: bool = False,
        full: bool = False,
        at: float | None = None,
        pieces: random.Random | None = None,
        as_a_whole: bool = False,
    ) -> Row:
        """Audit with the history; in `pieces` that are cut anywhere; `as_a_whole` if nothing is new."""
        read_at = int((at or time.time()) * 1e6)
        cache = HeaderCache(self.history, read_at, records=records, full=full)
        standing = StandingCopies(self.history, read_at, records=records, full=full) if as_a_whole else None
        examiner = Examiner(records=records, read_at=read_at, cache=cache, standing=standing)
        row = examiner.recalled(self.copy)
        return self._row(examiner, pieces) if row is None else {**dict.fromkeys(EXAMINED), **row}

    def examine_all(self, *, records: bool = False) -> Row:
        """Audit without a history."""
        return self._row(Examiner(records=records), None)

    def _row(self, examiner: Examiner, pieces: random.Random | None) -> Row:
        copy = self.copy
        if pieces is None or not copy.segments:
            return {**dict.fromkeys(EXAMINED), **examiner.row(Job(copy.replica, copy.root, copy))}
        parts = [Job(copy.replica, copy.root, copy, (part,)) for part in cut(copy, pieces)]
        rows = [{**dict.fromkeys(EXAMINED), **examiner.row(part)} for part in parts]
        finished = {**dict.fromkeys(EXAMINED), **finish_rows(rows, examiner)}
        found = [finding for row in rows for finding in row["findings"] or ()]
        return {**finished, "findings": [*finished["findings"], *found]}


def cut(copy: Copy, chance: random.Random) -> list[ByteRange]:
    ranges = []
    for segment in copy.segments:
        cuts = sorted({0, segment.size, chance.randint(0, segment.size)})
        ranges += [ByteRange(segment.base_offset, start, end) for start, end in pairwise(cuts)]
    return ranges or [ByteRange(copy.segments[0].base_offset, 0, 0)]


def essence(row: Row) -> Row:
    """What no history may change."""
    segments = [{**segment, "read_at": None} for segment in row["segments"] or ()]
    findings = sorted({tuple(map(str, finding.values())) for finding in row["findings"]})
    return {**row, "segments": segments, "findings": findings, **dict.fromkeys(OF_THE_RUN)}


def overwrite(file: Path, position: int, data: bytes) -> None:
    """Change bytes so that neither size nor time show it."""
    stat = file.stat()
    with open(file, "r+b") as opened:
        opened.seek(position)
        opened.write(data)
    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def update(work: Workload, snapshot: Path) -> None:
    """Take another snapshot of a log: files that are unchanged keep their times, as `rsync --times` leaves them."""
    source = work.root / "t-0"
    for file in snapshot.iterdir():
        if not (source / file.name).exists():
            file.unlink()
    for file in source.iterdir():
        there = snapshot / file.name
        if not there.exists() or there.read_bytes() != file.read_bytes():
            shutil.copyfile(file, there)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """A copy of three segments, the last of which is active."""
    runs = Runs(tmp_path)
    write_root(runs.root, {"t-0": batches(10)})
    age(runs.root)
    assert len(runs.closed) == 2
    return runs


def read_by(row: Row) -> dict[str, bool]:
    """Of each segment's file, whether this run has read it."""
    latest = max(segment["read_at"] for segment in row["segments"])
    return {segment["file"]: segment["read_at"] == latest for segment in row["segments"]}


def found_in(row: Row) -> list[str]:
    """What is found, but that such a copy has no indexes."""
    return [finding["kind"] for finding in row["findings"] if finding["kind"] != "index-missing"]


def test_the_first_run_reads_all_and_the_next_only_the_active_segment(runs: Runs) -> None:
    first, second = runs.examine(at=1_800_000_000), runs.examine(at=1_800_000_100)
    assert list(read_by(first).values()) == [True, True, True]
    assert list(read_by(second).values()) == [False, False, True]
    assert first["bytes_read"] == sum(segment["bytes"] for segment in first["segments"])
    assert second["bytes_read"] == second["segments"][-1]["bytes"]
    assert [segment["read_at"] for segment in second["segments"]] == [18 * 10**14, 18 * 10**14, 1_800_000_100 * 10**6]
    assert second["oldest_read"] == 18 * 10**14
    assert essence(first) == essence(second) == essence(runs.examine_all())


def test_what_no_longer_looks_the_same_is_read_again(runs: Runs) -> None:
    runs.examine()
    first, second = runs.closed
    os.utime(first, ns=(LONG_AGO + 1, LONG_AGO + 1))
    assert list(read_by(runs.examine()).values()) == [True, False, True]
    last_batch = runs.copy.segments[1].size * 3 // 4
    overwrite(second, last_batch + CRC_AT, bytes(4))
    row = runs.examine()
    assert list(read_by(row).values()) == [False, True, True]
    assert found_in(row) == ["corrupt-batch"]


def test_a_byte_that_changed_within_an_unchanged_file_is_found_by_a_full_run_alone(runs: Runs) -> None:
    runs.examine()
    overwrite(runs.closed[0], HEADER_SIZE + 5, b"\xff")
    assert found_in(runs.examine()) == []
    found = runs.examine(full=True)
    assert found_in(found) == ["corrupt-batch"]
    assert list(read_by(found).values()) == [True, True, True]
    assert found_in(runs.examine()) == ["corrupt-batch"], "it is read from now on"


def test_where_all_that_was_kept_turns_out_to_be_damaged_it_is_read_from_then_on(runs: Runs) -> None:
    runs.examine()
    for file in runs.closed:
        overwrite(file, HEADER_SIZE + 5, b"\xff")
    assert found_in(runs.examine(full=True)) == ["corrupt-batch"] * 2
    assert not list(runs.history.path.rglob("*.headers"))
    assert found_in(runs.examine()) == ["corrupt-batch"] * 2


def test_damage_that_one_audit_has_found_is_not_forgotten_by_another_at_the_same_time(runs: Runs) -> None:
    runs.examine(at=1_800_000_000)
    first, second = runs.closed
    cache = HeaderCache(runs.history, 1_800_000_100 * 10**6, records=False, rotation=only_due(runs.copy, second.name))
    headers = cache.of(runs.copy)
    assert list(headers.cached) == [first.name]
    overwrite(first, HEADER_SIZE + 5, b"\xff")
    assert found_in(runs.examine(full=True, at=1_800_000_050)) == ["corrupt-batch"]

    examine(PartitionDirectory.open(runs.root / "t-0"), ROOT, headers=headers)
    cache.save(runs.copy, headers, ())
    row = runs.examine(at=1_800_000_200)
    assert found_in(row) == ["corrupt-batch"]
    assert [segment["read_at"] for segment in row["segments"]][1] == 1_800_000_100 * 10**6, "what it has read is kept"


def only_due(copy: Copy, file: str) -> Rotation:
    """A rotation in which of a copy's segments this one alone has its turn."""
    names = [segment.file for segment in copy.segments[:-1]]
    rotations = (Rotation(7, number, 0) for number in range(7))
    return next(each for each in rotations if [name for name in names if each.is_due(copy, name, 1)] == [file])


def test_a_file_that_was_just_written_is_not_kept(runs: Runs) -> None:
    modified = runs.closed[0].stat().st_mtime
    os.utime(runs.closed[1], (modified + 100, modified + 100))
    runs.examine(at=modified + 101)
    assert list(read_by(runs.examine(at=modified + 200)).values()) == [False, True, True]


def test_a_segment_that_was_active_is_read_once_more_when_it_is_closed(runs: Runs) -> None:
    runs.examine()
    times = {file: file.stat().st_mtime_ns for file in runs.closed}
    shutil.rmtree(runs.root)
    write_root(runs.root, {"t-0": batches(14)})
    age(runs.root, 1)
    for file, modified in times.items():
        os.utime(file, ns=(modified, modified))
    assert list(read_by(runs.examine()).values()) == [False, False, True, True]
    assert list(read_by(runs.examine()).values()) == [False, False, False, True]


def test_records_that_nobody_has_decoded_are_read(runs: Runs) -> None:
    runs.examine()
    assert list(read_by(runs.examine(records=True)).values()) == [True, True, True]
    assert list(read_by(runs.examine(records=True)).values()) == [False, False, True]
    assert list(read_by(runs.examine()).values()) == [False, False, True]


def test_a_damaged_segment_is_read_each_time(runs: Runs) -> None:
    overwrite(runs.closed[0], HEADER_SIZE + 5, b"\xff")
    first, second = runs.examine(), runs.examine()
    assert list(read_by(second).values()) == [True, False, True]
    assert essence(first) == essence(second)


@pytest.mark.parametrize("damage", [b"", b"abc", b"\0" * 400])
def test_where_the_history_is_damaged_that_is_told_and_all_is_read(runs: Runs, damage: bytes) -> None:
    whole = runs.examine()
    [file] = runs.history.path.rglob("*.headers")
    file.write_bytes(damage or file.read_bytes()[:-1])
    row = runs.examine()
    assert found_in(row) == ["history-unreadable"]
    assert list(read_by(row).values()) == [True, True, True]
    others = [finding for finding in row["findings"] if finding["kind"] != "history-unreadable"]
    assert essence({**row, "findings": others}) == essence(whole)
    assert list(read_by(runs.examine()).values()) == [False, False, True], "it was written anew"


def test_what_cannot_be_kept_is_told(runs: Runs) -> None:
    runs.history.path.write_bytes(b"a file where a directory belongs")
    row = runs.examine()
    assert {finding["kind"] for finding in row["findings"]} >= {"history-not-kept"}


def test_another_log_of_the_same_name_is_read(runs: Runs) -> None:
    runs.examine()
    shutil.rmtree(runs.root)
    write_root(runs.root, {"t-0": batches(10, branch="other")})
    age(runs.root)
    assert list(read_by(runs.examine()).values()) == [True, True, True]


def test_random_logs_are_found_to_be_the_same_with_and_without_a_history(tmp_path: Path) -> None:
    spared = standing = 0
    for number in range(CAMPAIGN.count):
        chance = random.Random(f"{CAMPAIGN.seed}-{number}")
        runs = Runs(tmp_path / str(number))
        work = Workload(_new(tmp_path / f"log-{number}"), random_config(chance))
        snapshot = _new(runs.root / "t-0")
        has_producers = chance.random() < 0.4
        for change in range(3):
            random_life(work, chance, has_producers=has_producers)
            work.log.flush()
            update(work, snapshot)
            if chance.random() < 0.2:
                damage(chance, chance.choice(sorted(file for file in snapshot.iterdir() if file.is_file())))
            if not list(snapshot.glob("*.log")):
                break
            age(runs.root, change)
            records, pieces = chance.random() < 0.3, chance if chance.random() < 0.5 else None
            as_a_whole = chance.random() < 0.5
            with_history = runs.examine(records=records, pieces=pieces, as_a_whole=as_a_whole)
            assert essence(with_history) == essence(runs.examine_all(records=records))
            again = runs.examine(records=records, pieces=None if pieces else chance, as_a_whole=as_a_whole)
            assert essence(again) == essence(with_history)
            standing += again["bytes_read"] == 0
            spared += list(read_by(again).values()).count(False) if again["segments"] else 0
        work.log.abandon()
        shutil.rmtree(tmp_path / str(number))
        shutil.rmtree(tmp_path / f"log-{number}")
    assert spared > CAMPAIGN.count
    CAMPAIGN.report(CAMPAIGN.count, f"{spared:,} segments not read again, and {standing:,} whole copies")


def _new(directory: Path) -> Path:
    directory.mkdir(parents=True)
    return directory
