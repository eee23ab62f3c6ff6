"""What lies below a first segment is in remote storage where the metadata, or the caller, says so."""

import shutil
from pathlib import Path
from random import Random

import pytest

from logstore.offline.partition_directory import PartitionDirectory
from replication.explain import Why, explain
from replication.records.metadata.records import ConfigRecord
from replication.records.metadata.remote_storage import REMOTE_STORAGE, UNTOLD
from replication.repair import plan_repair
from tests.logstore.log.test_remote_beginning import write_tiered
from tests.replication.copies.audit.snapshots.test_newest_metadata import registered

STARTS = [None, 0]


def copies(root: Path, start: int | None) -> tuple[PartitionDirectory, PartitionDirectory, int]:
    """Two replicas of a log, and where their first segment begins."""
    first = write_tiered(root / "broker-1", Random(8), start=start)
    if start is None:
        for path in first.parent.glob("*-checkpoint"):
            path.unlink()
    shutil.copytree(first.parent, root / "broker-2")
    one, other = (PartitionDirectory.open(root / name / first.name) for name in ("broker-1", "broker-2"))
    return one, other, one.segments[0].base_offset


def whys(one: PartitionDirectory, other: PartitionDirectory, *, has_remote: bool | None) -> dict[Why, str]:
    found = explain(one.topic_partition, [one.path, other.path], has_remote=has_remote)
    return {each.why: each.evidence for each in found.ranges if each.why is not Why.DELIVERED}


@pytest.mark.parametrize("start", STARTS)
def test_where_nobody_says_it_the_files_do_not_tell(tmp_path: Path, start: int | None) -> None:
    one, other, first = copies(tmp_path, start)
    found = whys(one, other, has_remote=None)
    assert found.keys() == {Why.REMOTE}
    assert UNTOLD in found[Why.REMOTE]
    plan = plan_repair(one, [other])
    assert [(each.first_offset, each.end_offset, each.why) for each in plan.left] == [(0, first, UNTOLD)]
    assert not plan.report().is_sound
    assert not plan.report().committed_left


@pytest.mark.parametrize("start", STARTS)
def test_where_the_caller_says_it_nothing_is_wrong(tmp_path: Path, start: int | None) -> None:
    one, other, _ = copies(tmp_path, start)
    found = whys(one, other, has_remote=True)
    assert found.keys() == {Why.REMOTE}
    assert UNTOLD not in found[Why.REMOTE]
    assert plan_repair(one, [other], has_remote=True).report().is_sound
    assert not plan_repair(one, [other], has_remote=False).report().is_sound
    assert whys(one, other, has_remote=False).keys() == {Why.EXPIRED}


@pytest.mark.parametrize("is_remote", [True, False])
def test_the_metadata_beside_the_copies_says_it(tmp_path: Path, *, is_remote: bool) -> None:
    one, other, _ = copies(tmp_path, 0)
    setting = ConfigRecord(resource_type=2, resource_name="t", name=REMOTE_STORAGE, value="true")
    registered(other.path.parent, [setting] if is_remote else [])
    found = whys(one, other, has_remote=None)
    assert found.keys() == {Why.REMOTE if is_remote else Why.EXPIRED}
    assert UNTOLD not in "".join(found.values())
    assert plan_repair(one, [other]).report().is_sound is is_remote
