"""The repaired copy is there once it is whole, and then all of it; what was there is never written to."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from epoch.filesystem import REAL, FileSystem
from logstore.offline.partition_directory import PartitionDirectory
from logstore.verify import verify
from replication.repair import OtherPartitionError, RepairPlan, RepairTargetError, open_target, plan_repair
from tests.disk import FailingDisk, Failure, FullDisk
from tests.replication.partitions import ABatch, write_partition

BATCHES = [ABatch(base, 3, 0) for base in range(0, 36, 3)]


def copies(tmp_path: Path) -> tuple[Path, Path]:
    """A copy without its second segment, and a whole one."""
    damaged, other = (write_partition(tmp_path / name, BATCHES, [(0, 0)]) for name in ("a", "b"))
    (damaged / f"{12:020d}.log").unlink()
    return damaged, other


def a_plan(tmp_path: Path) -> RepairPlan:
    damaged, other = copies(tmp_path)
    return plan_repair(PartitionDirectory.open(damaged), [PartitionDirectory.open(other)])


def test_it_takes_its_name_once_it_is_written(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    with open_target(tmp_path / "copy") as target:
        plan.write(target / "t-0")
        assert not (tmp_path / "copy").exists()
        assert target.name.startswith(".")
        assert target.name.endswith(".part")
    assert (tmp_path / "copy" / "t-0" / f"{12:020d}.log").exists()
    assert not target.exists()


def test_what_a_killed_process_with_the_same_id_left_is_not_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in containers, where it is 1 each time."""
    plan = a_plan(tmp_path)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with open_target(tmp_path / "first") as part:
        plan.write(part / "t-0")
    left = Path(str(part).replace("first", "copy"))
    (left / "t-0").mkdir(parents=True)
    (left / "t-0" / "of another").touch()
    with open_target(tmp_path / "copy") as target:
        plan.write(target / "t-0")
    assert not (tmp_path / "copy" / "t-0" / "of another").exists()
    assert (left / "t-0" / "of another").exists(), "it may be another's that is still writing"


def write_to(tmp_path: Path, plan: RepairPlan, disk: FileSystem) -> None:
    with open_target(tmp_path / "copy") as target:
        plan.write(target / "t-0", filesystem=disk)


def test_a_disk_may_be_full_from_any_step_on_and_nothing_is_left(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    counting = FailingDisk(1_000_000)
    write_to(tmp_path, plan, counting)
    REAL.remove_tree(tmp_path / "copy")
    steps = 1_000_000 - counting.steps_left
    assert steps > 10
    for fail_at in range(1, steps + 1):
        with pytest.raises(RepairTargetError, match="the disk is full: nothing of it is left"):
            write_to(tmp_path, plan, FullDisk(fail_at))
        assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


class SyncedFiles(FileSystem):
    """The real disk, and what reached it."""

    def __init__(self) -> None:
        self.inodes: set[int] = set()

    def fsync(self, descriptor: int) -> None:
        super().fsync(descriptor)
        self.inodes.add(os.fstat(descriptor).st_ino)


def test_all_of_it_is_on_the_disk_before_it_takes_its_name(tmp_path: Path) -> None:
    disk = SyncedFiles()
    write_to(tmp_path, a_plan(tmp_path), disk)
    files = [each for each in (tmp_path / "copy").rglob("*") if each.is_file()]
    assert len(files) > 5
    assert {each.stat().st_ino for each in files} <= disk.inodes


def test_a_disk_that_breaks_is_told_as_it_is(tmp_path: Path) -> None:
    plan = a_plan(tmp_path)
    with pytest.raises(OSError, match="Input/output error"):
        write_to(tmp_path, plan, FailingDisk(3, Failure.BROKEN))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "b"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_is_killed_leaves_nothing_that_looks_finished(tmp_path: Path, number: signal.Signals) -> None:
    copies(tmp_path)
    program = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from epoch.filesystem import REAL, FileSystem
        from logstore.offline.partition_directory import PartitionDirectory
        from replication.repair import open_target, plan_repair

        class Deadly(FileSystem):
            def write(self, descriptor, data):
                super().write(descriptor, memoryview(data)[:10])
                os.kill(os.getpid(), int(sys.argv[2]))

        place = Path(sys.argv[1])
        opened = [PartitionDirectory.open(place / name / "t-0") for name in "ab"]
        with open_target(place / "copy") as target:
            plan_repair(opened[0], opened[1:]).write(target / "t-0", filesystem=Deadly())
        """
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path, str(int(number))], check=False)
    assert done.returncode == -number
    assert not (tmp_path / "copy").exists()
    assert list(tmp_path.glob(".*.part"))
    with open_target(tmp_path / "copy") as target:
        plan_repair(*_opened(tmp_path)).write(target / "t-0")
    assert not [each for each in verify(PartitionDirectory.open(tmp_path / "copy" / "t-0")) if each.severity.is_damage]


def _opened(tmp_path: Path) -> tuple[PartitionDirectory, list[PartitionDirectory]]:
    return PartitionDirectory.open(tmp_path / "a" / "t-0"), [PartitionDirectory.open(tmp_path / "b" / "t-0")]


def test_it_is_refused_where_something_is_or_within_what_is_read(tmp_path: Path) -> None:
    damaged, other = copies(tmp_path)
    for path, problem in (
        (tmp_path / "a", "already exists"),
        (damaged / "copy", "lies in"),
        (other / "copy", "lies in"),
        (tmp_path / "nowhere" / "copy", "does not exist; make it first"),
    ):
        with pytest.raises(RepairTargetError, match=problem), open_target(path, [damaged, other]):
            pass


def test_links_and_directories_in_the_place_of_logs_are_healed_as_if_they_were_missing(tmp_path: Path) -> None:
    damaged, other = copies(tmp_path)
    (damaged / f"{0:020d}.log").rename(damaged / "elsewhere")
    (damaged / f"{0:020d}.log").symlink_to("elsewhere")
    (damaged / f"{12:020d}.log").mkdir()
    plan = plan_repair(*_opened(tmp_path))
    with open_target(tmp_path / "copy") as target:
        report = plan.write(target / "t-0")
    assert not report.left
    for log in other.glob("*.log"):
        copy = tmp_path / "copy" / "t-0" / log.name
        assert not copy.is_symlink()
        assert copy.read_bytes() == log.read_bytes()


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"caf\xe9")
    damaged, other = (write_partition(place / name, BATCHES, [(0, 0)]) for name in ("a", "b"))
    strange = damaged / os.fsdecode(b"note\xff")
    strange.write_bytes(b"kept")
    (damaged / f"{12:020d}.log").unlink()
    plan = plan_repair(PartitionDirectory.open(damaged), [PartitionDirectory.open(other)])
    with open_target(place / os.fsdecode(b"copy\xff")) as target:
        assert not plan.write(target / "t-0").left
    assert (place / os.fsdecode(b"copy\xff") / "t-0" / strange.name).read_bytes() == b"kept"


def test_other_partitions_and_the_copy_itself_heal_nothing(tmp_path: Path) -> None:
    damaged, other = copies(tmp_path)
    elsewhere = write_partition(tmp_path / "c", BATCHES, [(0, 0)], name="u-0")
    ids = ["AAAAAAAAAAAAAAAAAAAAAQ", "AAAAAAAAAAAAAAAAAAAAAg"]
    for place, topic_id in zip((damaged, other), ids, strict=True):
        (place / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    for path, problem in ((elsewhere, "holds u-0, and not t-0"), (damaged, "itself"), (other, "its topic id is")):
        with pytest.raises(OtherPartitionError, match=problem):
            plan_repair(PartitionDirectory.open(damaged), [PartitionDirectory.open(path)])
