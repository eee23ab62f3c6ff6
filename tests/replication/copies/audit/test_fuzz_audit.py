"""Copies with any damage are examined and judged, in one and in pieces, soon and without an exception."""

import json
import random
import shutil
import signal
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import FrameType

import pytest

from logstore.errors import LogStoreError
from logstore.offline.offline_log_directory import OfflineLogDirectory
from logstore.offline.partition_directory import PartitionDirectory
from replication.copies.audit.copy_summary import CopySummary
from replication.copies.audit.examination.examination import examine, examine_lineage, examine_piece
from replication.copies.audit.examination.range_digests import RangeDigests
from replication.copies.audit.judgement.judgement import judge
from replication.copies.audit.snapshots.work import ByteRange
from tests.campaign import Campaign
from tests.logstore.verify.test_fuzz_verify import build, damage, sources
from tests.replication.copies.audit.copies import copy_of

CAMPAIGN = Campaign("audit: damaged copies", full=5_000, share=60)
SLOWEST = 60
"""Seconds that no pair of copies of this size comes near."""


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    def too_long(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"still busy after {SLOWEST} seconds")

    before = signal.signal(signal.SIGALRM, too_long)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def open_partition(path: Path) -> PartitionDirectory | None:
    try:
        return OfflineLogDirectory.open(path.parent).open_partition(path.name)
    except LogStoreError:
        return None


def undamaged(name: str, root: Path) -> Path:
    [source] = [source for source in sources() if source.name == name]
    shutil.copytree(source, root / name)
    return root / name


def whole_ranges(partition: PartitionDirectory, chance: random.Random) -> list[ByteRange]:
    ranges = []
    for segment in partition.segments:
        cuts = sorted({0, segment.size, chance.randint(0, segment.size)})
        ranges += [ByteRange(segment.base_offset, start, end) for start, end in pairwise(cuts)]
    return ranges


def test_any_damage_is_judged(tmp_path: Path) -> None:
    for number in range(CAMPAIGN.count):
        chance = random.Random(f"{CAMPAIGN.seed}-{number}")
        signal.alarm(SLOWEST)
        first = build(chance, tmp_path / f"{number}-1")
        second = undamaged(first.name, tmp_path / f"{number}-2")
        if chance.random() < 0.5:
            damage(chance, chance.choice(sorted(second.glob("*.log"))))
        copies = []
        for replica, path in ("broker-1", first), ("broker-2", second):
            partition = open_partition(path)
            if partition is None:
                continue
            examination = examine(partition, replica, records=True)
            assert CopySummary.from_bytes(examination.summary.to_bytes()) == examination.summary
            parts = whole_ranges(partition, chance)
            pieces = [examine_piece(partition, replica, [part], records=True) for part in parts]
            joined = examine_lineage(partition, replica, pieces)
            assert joined.summary == examination.summary
            assert set(joined.findings) == set(examination.findings)
            assert RangeDigests.merged(piece.digests for piece in pieces) == examination.digests == joined.digests
            copies.append(copy_of(partition, examination))
        assert json.dumps(judge(copies).as_json())
        shutil.rmtree(tmp_path / f"{number}-1")
        shutil.rmtree(tmp_path / f"{number}-2")
    CAMPAIGN.report(CAMPAIGN.count)
