"""With a rotation nothing that a disk does to a closed segment stays unnoticed for longer than its runs."""

import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest

from logstore import LogConfig, LogDirectory
from logstore.batch.layout import HEADER_SIZE
from logstore.offline.partition_directory import PartitionDirectory
from logstore.topic_partition import TopicPartition
from replication.base.errors import NotAllowedError
from replication.copies.audit.examination.kept.rotation import Rotation
from replication.copies.audit.local.auditing import carry_out, plan_locally
from replication.copies.audit.local.local_audit import LocalAudit
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.snapshots.work import Copy
from tests.campaign import Campaign
from tests.replication.copies.audit.logs import change_record
from tests.replication.copies.audit.snapshot_roots import age, batches

CAMPAIGN = Campaign("audit: nights with a rotation", full=1_000, share=8)
SEGMENTS = 8
COPY = Copy("broker-1", "/", "t-0", TopicPartition("t", 0), ())


class Nights:
    """Audits of two copies, one after the other, that share a history."""

    def __init__(self, place: Path, runs: int) -> None:
        self.history, self.runs, self.now = place / "history", runs, time.time()
        self.roots = [write_broker(place / name, node) for node, name in enumerate("ab")]
        age(place)

    def audit(self, *, at_once: int = 1, is_kept: bool = True, is_killed: bool = False) -> list[LocalAudit]:
        """Let so many schedulers run the audit at the same time; one more with `is_killed`, which does not get far."""
        self.now += 3600
        with patch.object(time, "time", self.ticking):
            options = AuditOptions(history=self.history, rotate=self.runs)
            plans = [plan_locally(self.roots, options) for _ in range(at_once)]
        if is_killed:
            with pytest.raises(KilledError):
                carry_out(plans[0], workers=0, progress=kill)
        done = [carry_out(plan, workers=0) for plan in plans]
        for each in done:
            if is_kept:
                each.keep()
        return done

    def ticking(self) -> float:
        """Return another time at each call: runs are named after theirs."""
        self.now += 0.1
        return self.now

    def files(self, kind: str = "log") -> list[Path]:
        """Files of the first copy's segments."""
        return sorted(self.roots[0].glob(f"*-0/*.{kind}"))

    def damage(self, chance: random.Random) -> None:
        """Alter bytes of a file, which keeps its size and its time."""
        kind = chance.choice(["log", "log", "index", "epochs"])
        file = (
            self.roots[0] / "t-0" / "leader-epoch-checkpoint" if kind == "epochs" else chance.choice(self.files(kind))
        )
        stat = file.stat()
        chance.choice(DAMAGE[kind])(file)
        assert file.stat().st_size == stat.st_size
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))


class KilledError(Exception):
    """A run is ended in the middle."""


def kill(read: int) -> None:
    """End a run once it has examined a copy."""
    if read:
        raise KilledError


def write_broker(root: Path, node: int) -> Path:
    """Write a root with a partition of so many segments, as a broker leaves it."""
    root.mkdir(parents=True)
    (root / "meta.properties").write_text(f"version=1\ncluster.id=abc\nnode.id={node}\n")
    written = batches(4 * SEGMENTS)
    size = len(written[0].encoded())
    config = LogConfig(segment_bytes=4 * size, index_interval_bytes=size)
    with LogDirectory.open(root, config, replicated=True) as directory:
        log = directory.create(TopicPartition("t", 0), topic_id=UUID(int=7))
        for each in written:
            log.append_batches(each.encoded())
        log.update_high_watermark(log.log_end_offset)
    return root


def is_found(audited: LocalAudit) -> bool:
    [partition] = audited.document["partitions"]
    return partition["verdict"] != "identical"


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[HEADER_SIZE + 5] ^= 1
    file.write_bytes(data)


def change(file: Path) -> None:
    """Give a record another value, and its batch the checksum that goes with it."""
    change_record(PartitionDirectory.open(file.parent), int(file.stem))


def misplace(file: Path) -> None:
    """Let the first entry of an index lead into a batch."""
    data = bytearray(file.read_bytes())
    data[7] ^= 1
    file.write_bytes(data)


def shift(file: Path) -> None:
    """Let the first epoch begin where it did not."""
    file.write_text(file.read_text().replace("0 0\n", "0 3\n"))


DAMAGE: dict[str, list[Callable[[Path], object]]] = {"log": [flip, change], "index": [misplace], "epochs": [shift]}


def test_what_an_unchanged_file_hides_is_found_within_the_runs_of_the_rotation(tmp_path: Path) -> None:
    found_after = []
    for number in range(CAMPAIGN.count):
        chance = random.Random(f"{CAMPAIGN.seed} {number}")
        runs = chance.randint(1, 6)
        nights = Nights(tmp_path / str(number), runs)
        for _ in range(chance.randint(1, 2 * runs)):
            nights.audit(**random_night(chance))
        nights.damage(chance)
        found_after.append(next(kept for kept, found in until_found(nights, chance) if found))
        assert found_after[-1] <= runs, (number, runs)
        for _ in range(3):
            assert all(map(is_found, nights.audit(**random_night(chance)))), (number, "what was found is lost")
    CAMPAIGN.report(CAMPAIGN.count, f"the latest was found by run {max(found_after)} after the damage")


def until_found(nights: Nights, chance: random.Random) -> Iterator[tuple[int, bool]]:
    """Audit night after night; give how many kept ones there were since, this one counted, and whether it was found.

    Runs at the same time count as one: none of them knows of the others.
    """
    kept = 0
    while True:
        night = random_night(chance)
        audited = nights.audit(**night)
        yield kept + 1, all(map(is_found, audited))
        kept += night["is_kept"]


def random_night(chance: random.Random) -> dict[str, Any]:
    """How many schedulers run, and which of them to the end."""
    at_once = chance.choice([1, 1, 1, 2])
    return {"at_once": at_once, "is_kept": chance.random() < 0.8, "is_killed": chance.random() < 0.2}


def test_without_a_rotation_it_is_never_found(tmp_path: Path) -> None:
    nights = Nights(tmp_path, 1)
    nights.audit()
    nights.damage(random.Random(1))
    options = AuditOptions(history=nights.history)
    assert not is_found(carry_out(plan_locally(nights.roots, options), workers=0))
    assert is_found(nights.audit()[0])


def test_each_run_reads_about_as_much() -> None:
    chance = random.Random(7)
    sizes = {f"{number:020}.log": chance.randrange(1 << 30) for number in range(10_000)}
    read = [
        sum(size for file, size in sizes.items() if Rotation(7, number, 0).is_due(COPY, file, 1)) for number in range(7)
    ]
    assert sum(read) == sum(sizes.values())
    assert all(0.9 < 7 * size / sum(read) < 1.1 for size in read), read


def test_what_has_missed_its_turn_is_read_before_it_is_too_late() -> None:
    [of_turn] = [number for number in range(7) if Rotation(7, number, 0).is_due(COPY, "a.log", 5_000_000)]
    assert not Rotation(7, of_turn + 1, 5_000).is_due(COPY, "a.log", 5_000_000)
    assert Rotation(7, of_turn + 1, 5_001).is_due(COPY, "a.log", 5_000_000)


@pytest.mark.parametrize("runs", [0, -1])
def test_a_rotation_has_one_run_at_least(tmp_path: Path, runs: int) -> None:
    with pytest.raises(NotAllowedError, match="1 on"):
        plan_locally([tmp_path], AuditOptions(history=tmp_path / "h", rotate=runs))


def test_a_rotation_needs_a_history(tmp_path: Path) -> None:
    with pytest.raises(NotAllowedError, match="without a history"):
        plan_locally([tmp_path], AuditOptions(rotate=7))
