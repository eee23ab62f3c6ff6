"""Which directories are one broker's, and which snapshots can be compared."""

import os
from pathlib import Path
from typing import Any

import pytest

from logstore import Log, Record, TopicPartition
from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, OffsetCheckpoint
from replication.base.errors import (
    DifferentClustersError,
    MissingBrokersError,
    NoSnapshotError,
    NothingInCommonError,
    SameBrokerError,
    SnapshotNameError,
    UnreadableLocationError,
)
from replication.copies.audit.pipeline.audit_options import AuditOptions
from replication.copies.audit.pipeline.audit_plan import plan_audit
from replication.copies.audit.snapshots.snapshot import ensure_listed, find_snapshots, list_snapshots, named_absolutely
from tests.data.replicas import replicas
from tests.replication.copies.audit.snapshot_roots import batches, write_root

T0 = {"t-0": batches(2)}


def test_a_root_is_a_snapshot_called_like_its_directory_or_as_named(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0, node=1)
    write_root(tmp_path / "b", T0, node=2)

    assert [snapshot.name for snapshot in find_snapshots([tmp_path / "a", f"old={tmp_path / 'b'}"])] == ["a", "old"]


def test_a_directory_of_brokers_roots_is_a_snapshot_each() -> None:
    snapshots = find_snapshots([replicas("diverged")])

    assert [snapshot.name for snapshot in snapshots] == ["broker-1", "broker-2", "broker-3"]
    assert len(snapshots[2].held) == 7


@pytest.mark.parametrize("nodes", [(1, 1), (None, None), (1, None)], ids=["same id", "no ids", "one id"])
def test_roots_of_one_node_id_or_none_are_the_disks_of_one_broker(
    tmp_path: Path, nodes: tuple[int | None, int | None]
) -> None:
    write_root(tmp_path / "jbod/disk-1", {"t-0": batches(2)}, node=nodes[0])
    write_root(tmp_path / "jbod/disk-2", {"t-1": batches(2)}, node=nodes[1])
    write_root(tmp_path / "other", {"t-0": batches(2)}, node=7)

    jbod, _ = find_snapshots([tmp_path / "jbod", tmp_path / "other"])

    assert jbod.name == "jbod"
    assert jbod.held == {TopicPartition("t", 0), TopicPartition("t", 1)}


def test_roots_without_ids_that_hold_the_same_partitions_are_different_brokers(tmp_path: Path) -> None:
    write_root(tmp_path / "all/a", T0)
    write_root(tmp_path / "all/b", T0)

    assert [snapshot.name for snapshot in find_snapshots([tmp_path / "all"])] == ["a", "b"]


def test_a_partition_on_two_disks_of_a_broker_is_two_copies(tmp_path: Path) -> None:
    write_root(tmp_path / "jbod/disk-1", T0, node=1)
    write_root(tmp_path / "jbod/disk-2", T0, node=1)
    write_root(tmp_path / "other", T0, node=2)

    jbod, _ = find_snapshots([tmp_path / "jbod", tmp_path / "other"])

    assert [copy.replica for copy in jbod.copies()] == ["jbod", "jbod/disk-2"]


def identify(root: Path, node: int, directory_id: str, cluster: str = "c") -> None:
    properties = f"version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={directory_id}\n"
    (root / "meta.properties").write_text(properties)


def test_disks_of_a_broker_may_be_named_one_by_one(tmp_path: Path) -> None:
    ids = ["Xs1Zb0zvTfyPQpL0yW7q1A", "Rk9Yc1Ovt4yPQqL1zW8q1A", "Qm8Yc1Ovt4yPQqL1zW8q1A"]
    for name, node, directory_id in zip(("disk-a", "disk-b", "other"), (1, 1, 2), ids, strict=True):
        identify(write_root(tmp_path / name, {**T0, f"{name}-0": batches(1)}), node, directory_id)

    one, other = find_snapshots([tmp_path / "disk-a", tmp_path / "other", tmp_path / "disk-b"])

    assert (one.name, [root.storage.name for root in one.roots]) == ("broker-1", ["disk-a", "disk-b"])
    assert other.name == "other"
    assert find_snapshots([f"b1={tmp_path / 'disk-b'}", tmp_path / "disk-a", tmp_path / "other"])[0].name == "b1"


def test_a_broker_of_several_disks_is_called_by_what_holds_them_all_or_by_its_number(tmp_path: Path) -> None:
    """By its first disk alone a step would seem to be about that disk."""
    places = [f"{host}/{disk}" for host in ("host-a", "host-b") for disk in ("data-1/kafka", "data-2/kafka")]
    for number, place in enumerate([*places, "a-1", "a-2", "b-1"]):
        node = {"host-a": 1, "host-b": 2, "a-1": 1, "a-2": 1, "b-1": 2}[place.partition("/")[0]]
        identify(
            write_root(tmp_path / place, {f"t-{number}": batches(1), **T0}), node, f"{number}s1Zb0zvTfyPQpL0yW7q1A"
        )

    assert [each.name for each in list_snapshots([tmp_path / each for each in places])] == ["host-a", "host-b"]
    flat = list_snapshots([tmp_path / each for each in ("a-1", "b-1", "a-2")])
    assert [each.name for each in flat] == ["broker-1", "b-1"]


def test_a_second_copy_of_a_root_is_no_second_root(tmp_path: Path) -> None:
    for name in ("monday", "tuesday"):
        identify(write_root(tmp_path / name, T0), 1, "Xs1Zb0zvTfyPQpL0yW7q1A")

    with pytest.raises(SameBrokerError, match="monday and tuesday are both broker 1"):
        find_snapshots([tmp_path / "monday", tmp_path / "tuesday"])


def test_snapshots_of_one_name_are_told_apart_by_their_paths(tmp_path: Path) -> None:
    for number, place in enumerate(("one/data", "two/data")):
        write_root(tmp_path / place, T0, node=number)

    names = [snapshot.name for snapshot in find_snapshots([tmp_path / "one/data", tmp_path / "two/data"])]

    assert names == ["one/data", "two/data"]


def test_a_name_that_is_given_stays_where_a_directory_is_called_the_same(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0, node=1)
    write_root(tmp_path / "two/b", T0, node=2)

    names = [snapshot.name for snapshot in find_snapshots([f"b={tmp_path}/a", tmp_path / "two/b"])]

    assert names == ["b", "two/b"]


def test_one_name_for_two_is_refused(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0, node=1)
    write_root(tmp_path / "b", T0, node=2)

    with pytest.raises(SnapshotNameError, match=r"/a and .*/b are both named x"):
        find_snapshots([f"x={tmp_path / 'a'}", f"x={tmp_path / 'b'}"])


def test_a_directory_with_an_equals_sign_is_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_root(tmp_path / "date=2026-11-21", T0, node=1)
    write_root(tmp_path / "b", T0, node=2)
    monkeypatch.chdir(tmp_path)

    assert [snapshot.name for snapshot in find_snapshots(["date=2026-11-21", "b"])] == ["date=2026-11-21", "b"]
    assert named_absolutely("date=2026-11-21") == str(tmp_path / "date=2026-11-21")


def test_what_may_be_a_path_or_a_name_is_refused_until_a_dot_decides(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, place in enumerate(("date=b", "b", "a")):
        write_root(tmp_path / place, T0, node=number)
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SnapshotNameError, match=r"write \./date=b for the directory, or date=\./b"):
        find_snapshots(["date=b", "a"])
    for argument, name, node in (("./date=b", "date=b", 0), ("date=./b", "date", 1)):
        snapshot, _ = find_snapshots([argument, "a"])
        assert (snapshot.name, snapshot.roots[0].node_id) == (name, node)


def test_copies_tell_their_segments_and_bytes() -> None:
    copies = [copy for snapshot in find_snapshots([replicas("diverged")]) for copy in snapshot.copies()]

    for copy in copies:
        logs = {path.name: path.stat().st_size for path in (Path(copy.root) / copy.directory).glob("*.log")}
        assert {segment.file: segment.size for segment in copy.segments} == logs
        assert copy.bytes == sum(logs.values())


def test_directories_that_are_being_deleted_are_no_copies(tmp_path: Path) -> None:
    write_root(tmp_path / "a", {**T0, "t-1": batches(1)}, node=1)
    write_root(tmp_path / "b", T0, node=2)
    (tmp_path / "a/t-1").rename(tmp_path / f"a/t-1.{'0' * 32}-delete")

    assert find_snapshots([tmp_path / "a", tmp_path / "b"])[0].held == {TopicPartition("t", 0)}


@pytest.mark.parametrize("mark", ["delete", "stray"])
def test_a_checkpoint_file_may_still_mention_what_was_let_go_of(tmp_path: Path, mark: str) -> None:
    gone, lost = TopicPartition("t", 1), TopicPartition("t", 2)
    write_root(tmp_path / "a", {**T0, "t-1": batches(1)}, node=1)
    write_root(tmp_path / "b", T0, node=2)
    checkpoint = OffsetCheckpoint(dict.fromkeys([TopicPartition("t", 0), gone, lost], 0))
    checkpoint.write(tmp_path / "a" / HIGH_WATERMARK_CHECKPOINT)
    (tmp_path / "a/t-1").rename(tmp_path / f"a/t-1.{'0' * 32}-{mark}")

    assert find_snapshots([tmp_path / "a", tmp_path / "b"])[0].listed == {TopicPartition("t", 0), lost}


@pytest.fixture
def queues(tmp_path: Path) -> Path:
    """A directory of two logs that stand alone."""
    (tmp_path / "queues").mkdir()
    for number in range(2):
        with Log.open(tmp_path / f"queues/queue-{number}") as log:
            log.append([Record(0, 0, b"k", b"v")], leader_epoch=0)
    return tmp_path / "queues"


def test_logs_that_stand_alone_are_partitions(queues: Path) -> None:
    both = {TopicPartition("queue", 0), TopicPartition("queue", 1)}
    named = {queues: both, queues.parent: both, queues / "queue-1": {TopicPartition("queue", 1)}}

    for path, held in named.items():
        (snapshot,) = list_snapshots([path])
        assert (snapshot.name, snapshot.held) == ("queues" if path != queues.parent else path.name, held)
        assert all(copy.bytes for copy in snapshot.copies())


def test_different_clusters_are_refused(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0, node=1, cluster="first")
    write_root(tmp_path / "b", T0, node=2, cluster="second")

    with pytest.raises(DifferentClustersError, match=r"a of cluster first, .*b of cluster second"):
        find_snapshots([tmp_path / "a", tmp_path / "b"])


def test_the_same_broker_twice_is_refused(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0, node=1)
    write_root(tmp_path / "b", T0, node=1)

    with pytest.raises(SameBrokerError, match="a and b are both broker 1"):
        find_snapshots([tmp_path / "a", tmp_path / "b"])


def test_the_same_directory_twice_is_refused_though_nothing_says_whose_it_is(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0)

    with pytest.raises(SameBrokerError, match="the same directory"):
        find_snapshots([tmp_path / "a", f"other={tmp_path}/../{tmp_path.name}/a"])


def test_nothing_in_common_is_refused(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0, node=1)
    write_root(tmp_path / "b", {"u-0": batches(2)}, node=2)

    with pytest.raises(NothingInCommonError):
        find_snapshots([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(
        NothingInCommonError, match=r"name at least two: log\.dirs roots.* `epochlog verify` checks one copy"
    ):
        find_snapshots([tmp_path / "a"])


def test_what_is_no_snapshot_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(NoSnapshotError, match=r"neither a log\.dirs root"):
        find_snapshots([tmp_path / "empty"])
    for name in ("notes.txt", ".lock", "x.tmp"):
        (tmp_path / "empty" / name).touch()
        (tmp_path / "empty/orders-0").mkdir(exist_ok=True)
        (tmp_path / "empty/orders-0" / name).touch()
        for directory in (tmp_path / "empty", tmp_path / "empty/orders-0"):
            with pytest.raises(NoSnapshotError, match=r"neither a log\.dirs root"):
                list_snapshots([directory])
    with pytest.raises(UnreadableLocationError, match="no such directory"):
        find_snapshots([tmp_path / "nowhere"])


def test_a_meta_properties_that_cannot_be_read_does_not_keep_from_auditing(tmp_path: Path) -> None:
    write_root(tmp_path / "a", T0, node=1)
    write_root(tmp_path / "b", T0, node=2)
    (tmp_path / "a/meta.properties").write_bytes(b"version=9\n\xff")

    assert find_snapshots([tmp_path / "a", tmp_path / "b"])[0].roots[0].node_id is None


@pytest.mark.parametrize("content", [b"", b"version=9\n\xff"], ids=["empty", "damaged"])
def test_whose_roots_cannot_be_told_is_named_where_nothing_can_be_compared(tmp_path: Path, content: bytes) -> None:
    write_root(tmp_path / "all/a", T0, node=1)
    write_root(tmp_path / "all/b", {"t-1": batches(2)}, node=1)
    (tmp_path / "all/b/meta.properties").write_bytes(content)

    with pytest.raises(NothingInCommonError, match=r"not read: .*/all/b: meta\.properties: "):
        find_snapshots([tmp_path / "all"])


def test_a_copy_of_nobodys_is_no_second_disk_where_another_root_has_its_partitions(tmp_path: Path) -> None:
    write_root(tmp_path / "all/a", T0, node=1)
    write_root(tmp_path / "all/b", T0, node=2)
    (tmp_path / "all/b/meta.properties").write_bytes(b"")

    assert [snapshot.name for snapshot in find_snapshots([tmp_path / "all"])] == ["a", "b"]


def refuse(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a directory be as one that belongs to somebody else."""
    real = os.scandir

    def scandir_unless_refused(place: Any) -> Any:
        if str(place) == str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(place)

    monkeypatch.setattr(os, "scandir", scandir_unless_refused)


def test_a_root_that_cannot_be_listed_is_there_and_is_said_to_lack_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for node, name in enumerate("abc"):
        write_root(tmp_path / "all" / name, T0, node=node)
    OffsetCheckpoint({TopicPartition("t", 1): 0}).write(tmp_path / "all/a" / HIGH_WATERMARK_CHECKPOINT)
    (tmp_path / "all/lost+found").mkdir()
    refuse(tmp_path / "all/c", monkeypatch)
    snapshots = find_snapshots([tmp_path / "all"])

    assert [(snapshot.name, snapshot.is_listed) for snapshot in snapshots] == [("a", True), ("b", True), ("c", False)]
    planned = plan_audit([tmp_path / "all"], AuditOptions(replication_factor=3), snapshots)
    assert (planned.missing, planned.findings) == ({}, ())
    examined = [planned.new_examiner().row(job) for task in planned.tasks for job in task if job.copy is None]
    told = [(row["replica"], each["kind"]) for row in examined for each in row["findings"]]
    assert ("c", "file-unreadable") in told
    with pytest.raises(UnreadableLocationError, match="all/c: Permission denied"):
        ensure_listed(snapshots)
    with pytest.raises(MissingBrokersError, match="/all/c: Permission denied"):
        plan_audit([tmp_path / "all"], AuditOptions(expected_brokers=[2]), snapshots)


def test_what_a_root_that_cannot_be_listed_would_hold_is_not_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for node, name in enumerate("ab"):
        write_root(tmp_path / "all" / name, T0, node=node)
    refuse(tmp_path / "all/b", monkeypatch)

    with pytest.raises(NothingInCommonError, match=r"not read: .*/all/b: Permission denied"):
        find_snapshots([tmp_path / "all"])


def test_a_relative_path_is_made_absolute_and_keeps_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert named_absolutely("copies/broker-1") == str(tmp_path / "copies/broker-1")
    assert named_absolutely("old=copies") == f"old={tmp_path / 'copies'}"
    assert named_absolutely("old=s3://bucket/broker-1?region=eu") == "old=s3://bucket/broker-1?region=eu"
