"""`epochlog repair` heals a copy from others, and says what it did, what it left, and why."""

from pathlib import Path

import pytest

from epoch.checkpoint import format_checkpoint
from logstore.files.directory_lock import DirectoryLock
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from tests.replication.cli.command import epochlog
from tests.replication.partitions import ABatch, write_partition

BATCHES = [ABatch(base, 3, 0) for base in range(0, 36, 3)]
SECOND = f"{12:020d}.log"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    """A broker's root whose one partition lacks a segment."""
    write_partition(tmp_path / "broker-1", BATCHES, [(0, 0)], high_watermark=36)
    (tmp_path / "broker-1" / "t-0" / SECOND).unlink()
    return tmp_path / "broker-1"


@pytest.fixture
def other(tmp_path: Path) -> Path:
    write_partition(tmp_path / "broker-2", BATCHES, [(0, 0)], high_watermark=36)
    return tmp_path / "broker-2"


def is_sound(path: Path) -> bool:
    return not any(finding.severity.needs_attention for finding in verify(open_offline(path)))


def test_a_partition_is_repaired_into_a_new_directory(damaged: Path, other: Path, tmp_path: Path) -> None:
    outcome = epochlog("repair", damaged / "t-0", "--from", other / "t-0", "--output", tmp_path / "copy")
    assert outcome.status == 1
    assert outcome.out.splitlines()[0].startswith(
        "t-0: healed: offsets 12 to 23, 4 batches of broker-2/t-0, which were"
    )
    *_, written, status = outcome.out.splitlines()
    assert written == f"Written to {tmp_path / 'copy'}, each partition under its own name"
    assert status == "Exit status 1: what was wrong is healed in the copy."
    assert (tmp_path / "copy" / "t-0" / SECOND).read_bytes() == (other / "t-0" / SECOND).read_bytes()
    assert is_sound(tmp_path / "copy" / "t-0")


def test_a_root_is_repaired_with_all_that_is_beside_its_partitions(damaged: Path, other: Path, tmp_path: Path) -> None:
    (damaged / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=c\n")
    (damaged / "recovery-point-offset-checkpoint").write_bytes(format_checkpoint([("t", 0, 50)]))
    write_partition(damaged, BATCHES, [(0, 0)], name="only-0")
    outcome = epochlog("repair", damaged, "--from", other, "--output", tmp_path / "copy", "--json")
    first, second = outcome.document["partitions"]
    assert (first["topic"], first["made_anew"][:1]) == ("only", [f"{0:020d}.index"])
    assert [each["first_offset"] for each in second["healed"]] == [12]
    assert [each["first_offset"] for each in second["left"]] == [36], "by its recovery point the log was longer"
    assert outcome.status == 1
    assert (tmp_path / "copy" / "meta.properties").exists()
    assert "t 0 36" in (tmp_path / "copy" / "recovery-point-offset-checkpoint").read_text()
    assert is_sound(tmp_path / "copy" / "t-0")


def test_a_dry_run_writes_nothing(damaged: Path, other: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    outcome = epochlog("repair", damaged, "--from", other, "--dry-run")
    assert outcome.status == 1
    assert outcome.out.startswith("t-0: to heal: offsets 12 to 23, 4 batches of broker-2/t-0, which were missing")
    assert outcome.out.splitlines()[-1].startswith("Exit status 1: something is wrong")
    assert sorted(tmp_path.rglob("*")) == before


def test_committed_records_that_stay_missing_are_critical(damaged: Path, other: Path, tmp_path: Path) -> None:
    (other / "t-0" / SECOND).unlink()
    outcome = epochlog("repair", damaged, "--from", other, "--output", tmp_path / "copy")
    assert outcome.status == 3
    assert "left as it is: offsets 12 to 23" in outcome.out.replace("\n  ", " ")
    assert outcome.out.endswith("Exit status 3: committed records are still damaged or missing in t-0.\n")


def test_a_dry_run_does_not_say_of_files_that_it_has_not_looked_at_that_nothing_is_wrong(
    other: Path, tmp_path: Path
) -> None:
    twin = write_partition(tmp_path / "broker-3", BATCHES, [(0, 0)])
    outcome = epochlog("repair", other / "t-0", "--from", twin, "--dry-run")
    text = "t-0: its log is sound The files beside the logs were not checked: epochlog verify does that."
    assert (outcome.status, " ".join(outcome.out.split())) == (0, text)


def test_nothing_is_written_into_a_root_of_which_a_partition_is_named(damaged: Path, other: Path) -> None:
    for root in (damaged, other):
        (root / "meta.properties").write_text("version=1\nnode.id=1\n")
        outcome = epochlog("repair", damaged / "t-0", "--from", other / "t-0", "--output", root / "inner")
        assert outcome.status == 2
        assert f"lies in {root}, which is only read" in outcome.err


def test_a_root_without_partitions_is_refused(other: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "meta.properties").write_text("version=1\nnode.id=1\n")
    outcome = epochlog("repair", tmp_path / "empty", "--from", other, "--dry-run")
    assert outcome.status == 2
    assert "holds no partition" in outcome.err


def test_a_sound_copy_is_copied(other: Path, tmp_path: Path) -> None:
    twin = write_partition(tmp_path / "broker-3", BATCHES, [(0, 0)])
    epochlog("repair", other / "t-0", "--from", twin, "--output", tmp_path / "once")
    outcome = epochlog("repair", tmp_path / "once" / "t-0", "--from", twin, "--output", tmp_path / "twice")
    assert outcome.status == 0
    told = f"t-0: nothing is wrong\nWritten to {tmp_path / 'twice'}, each partition under its own name\n"
    assert outcome.out == told


def test_it_is_refused_while_a_broker_works_there(damaged: Path, other: Path, tmp_path: Path) -> None:
    with DirectoryLock.acquire(damaged):
        for directory in (damaged, damaged / "t-0"):
            outcome = epochlog("repair", directory, "--from", other, "--output", tmp_path / "copy")
            assert outcome.status == 2
            assert "locked" in outcome.err or "in use" in outcome.err
    assert not (tmp_path / "copy").exists()


def test_arguments_that_do_not_fit_are_refused(damaged: Path, other: Path, tmp_path: Path) -> None:
    neither = epochlog("repair", damaged, "--from", other)
    assert (neither.status, neither.out) == (2, "")
    assert "name a new directory with --output, or look first with --dry-run" in neither.err
    within = epochlog("repair", damaged, "--from", other, "--output", other / "copy")
    assert f"lies in {other}, which is only read" in within.err
    exists = epochlog("repair", damaged, "--from", other, "--output", other)
    assert exists.status == 2
    itself = epochlog("repair", damaged / "t-0", "--from", damaged / "t-0", "--output", tmp_path / "copy")
    assert "is the damaged copy itself" in itself.err
    assert not (tmp_path / "copy").exists()


def test_copies_of_another_cluster_are_refused(damaged: Path, other: Path) -> None:
    for root, cluster in ((damaged, "one"), (other, "two")):
        (root / "meta.properties").write_text(f"version=1\nnode.id=1\ncluster.id={cluster}\n")
    for place, source in ((damaged, other), (damaged / "t-0", other / "t-0")):
        outcome = epochlog("repair", place, "--from", source, "--dry-run")
        assert (outcome.status, outcome.out) == (2, "")
        assert "snapshots of different clusters, by cluster.id in meta.properties" in outcome.err


def test_the_several_roots_of_another_broker_are_one_source(damaged: Path, tmp_path: Path) -> None:
    write_partition(tmp_path / "broker-2/disk-1", BATCHES, [(0, 0)], name="only-0", high_watermark=36)
    write_partition(tmp_path / "broker-2/disk-2", BATCHES, [(0, 0)], high_watermark=36)
    outcome = epochlog("repair", damaged, "--from", tmp_path / "broker-2", "--dry-run", "--json")
    assert [each["first_offset"] for each in outcome.document["partitions"][0]["healed"]] == [12]
