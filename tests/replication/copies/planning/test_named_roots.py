"""Directories as people have them are taken alike by all commands: volumes, what holds roots, links, single roots."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from logstore.topic_partition import is_partition_directory_name
from replication.audit import audit_locally
from replication.base.errors import SameBrokerError, SeveralBrokersError, SeveralRootsError
from replication.cli.main import app
from replication.copies.audit.snapshots.snapshot import find_snapshots
from replication.copies.planning.named_roots import brokers_in, only_directory
from replication.copies.planning.replica import open_alone, open_copies, open_replicas
from tests.data.replicas import replicas
from tests.replication.copies.audit.snapshot_roots import batches, write_root

GOLDEN = "diverged-4.4.0"
BROKERS = (1, 2, 3)
OTHER_DISK = "Rk9Yc1Ovt4yPQqL1zW8q1A"


@pytest.fixture(scope="module")
def strimzi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The golden brokers as Strimzi's pods mount their volumes: `data-N/kafka-logID`, each a file system of its own."""
    top = tmp_path_factory.mktemp("strimzi")
    for number in BROKERS:
        first, second = (top / f"pod-{number}/data-{volume}/kafka-log{number}" for volume in (0, 1))
        shutil.copytree(replicas(GOLDEN) / f"broker-{number}", first, symlinks=True)
        second.mkdir(parents=True)
        names = sorted(path.name for path in first.iterdir() if is_partition_directory_name(path.name))
        for name in names[1::2]:
            (first / name).rename(second / name)
        for checkpoint in [*first.glob("*-checkpoint")]:
            _split(checkpoint, second, {*names[1::2]})
        properties = (first / "meta.properties").read_text()
        (second / "meta.properties").write_text(
            "".join(
                f"directory.id={OTHER_DISK}\n" if line.startswith("directory.id=") else f"{line}\n"
                for line in properties.splitlines()
            )
        )
        for volume in (first, second):
            (volume.parent / "lost+found").mkdir(mode=0o700)
    return top


def _split(checkpoint: Path, second: Path, moved: set[str]) -> None:
    """Leave in a checkpoint file, and in that of the second disk, what is there."""
    version, _, *lines = checkpoint.read_text().splitlines()
    theirs = [line for line in lines if "-".join(line.split()[:2]) in moved]
    for place, kept in (
        (checkpoint, [line for line in lines if line not in theirs]),
        (second / checkpoint.name, theirs),
    ):
        place.write_text("".join(f"{line}\n" for line in (version, len(kept), *kept)))


def ways(strimzi: Path, tmp_path: Path) -> dict[str, list[Path]]:
    """How people name those brokers."""
    links = tmp_path / "links"
    for number in BROKERS:
        (links / f"broker-{number}").mkdir(parents=True)
        for volume in (0, 1):
            (links / f"broker-{number}/data-{volume}").symlink_to(strimzi / f"pod-{number}/data-{volume}")
    roots = sorted(strimzi.glob("pod-*/data-*/kafka-log*"))
    linked = [tmp_path / f"root-{number}" for number in range(len(roots))]
    for link, root in zip(linked, roots, strict=True):
        link.symlink_to(root)
    return {
        "parents": [strimzi / f"pod-{number}" for number in BROKERS],
        "volumes": sorted(strimzi.glob("pod-*/data-*")),
        "roots": roots,
        "links in a directory": sorted(links.iterdir()),
        "links": linked,
    }


def test_however_they_are_named_the_copies_are_the_same(strimzi: Path, tmp_path: Path) -> None:
    golden = [replicas(GOLDEN) / f"broker-{number}" for number in BROKERS]
    expected = {(each.node_id, frozenset(each.partitions)) for each in open_replicas(golden)}
    for way, paths in ways(strimzi, tmp_path).items():
        assert {(each.node_id, frozenset(each.partitions)) for each in open_replicas(paths)} == expected, way
        found = find_snapshots(paths)
        assert {(each.roots[0].node_id, frozenset(each.held)) for each in found} == expected, way
        brokers = brokers_in(paths)
        assert [len(roots) for roots in brokers] == [2, 2, 2], way


def test_the_audit_of_volumes_is_that_of_roots(strimzi: Path) -> None:
    def verdicts(paths: Sequence[Path]) -> list[tuple[str, int, str]]:
        document = audit_locally(paths, workers=0).document
        return [(each["topic"], each["partition"], each["verdict"]) for each in document["partitions"]]

    golden = [replicas(GOLDEN) / f"broker-{number}" for number in BROKERS]
    assert verdicts([strimzi / f"pod-{number}" for number in BROKERS]) == verdicts(golden)


def test_all_brokers_in_one_directory_are_told_apart(strimzi: Path) -> None:
    backup = strimzi
    assert [len(each) for each in brokers_in([backup / f"pod-{number}" for number in BROKERS])] == [2, 2, 2]
    assert [(each.name, each.node_id) for each in open_copies([_moved_up(strimzi)])] == [
        ("broker-1", 1),
        ("broker-2", 2),
        ("broker-3", 3),
    ]
    with pytest.raises(SeveralBrokersError, match="kafka-log"):
        open_alone(_moved_up(strimzi))
    assert [(each.name, len(each.roots)) for each in find_snapshots([_moved_up(strimzi)])] == [
        ("broker-1", 1),
        ("broker-2", 1),
        ("broker-3", 1),
    ]


def _moved_up(strimzi: Path) -> Path:
    """Give a directory with one volume of each broker."""
    top = strimzi.parent / f"{strimzi.name}-one-volume"
    for number in BROKERS if not top.exists() else ():
        (top / f"broker-{number}").mkdir(parents=True)
        shutil.copytree(strimzi / f"pod-{number}/data-0/kafka-log{number}", top / f"broker-{number}/kafka-log{number}")
    return top


def test_what_reads_takes_what_holds_a_brokers_roots(strimzi: Path) -> None:
    def told(command: str, place: Path) -> Any:
        done = CliRunner().invoke(app, [command, str(place), "--json"])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout) if command != "dump" else done.stdout.splitlines()

    pod, roots = strimzi / "pod-1", sorted(strimzi.glob("pod-1/data-*/kafka-log1"))
    assert told("verify", pod)["bytes"] == sum(told("verify", root)["bytes"] for root in roots)
    epochs = [{**each, "replica": "pod-1"} for root in roots for each in told("epochs", root)["partitions"]]
    assert sorted(map(str, told("epochs", pod)["partitions"])) == sorted(map(str, epochs))
    assert told("dump", pod) == [line for root in roots for line in told("dump", root)]


def test_what_changes_files_takes_the_only_root_and_refuses_several(strimzi: Path, tmp_path: Path) -> None:
    volume = strimzi / "pod-1/data-0"
    assert only_directory(volume) == volume / "kafka-log1"
    done = CliRunner().invoke(app, ["recover", str(volume), "--output", str(tmp_path / "copy"), "--json"])
    assert done.exit_code in {0, 1}, done.output
    assert (tmp_path / "copy/meta.properties").exists()
    with pytest.raises(SeveralRootsError, match=r"data-0/kafka-log1, data-1/kafka-log1; name the one"):
        only_directory(strimzi / "pod-1")


def test_a_second_copy_of_a_disk_is_no_second_disk(strimzi: Path, tmp_path: Path) -> None:
    for day in ("monday", "tuesday"):
        shutil.copytree(strimzi / "pod-1/data-0/kafka-log1", tmp_path / "backups" / day)
    with pytest.raises(SameBrokerError, match="copies of one disk"):
        open_copies([tmp_path / "backups"])
    with pytest.raises(SameBrokerError):
        open_replicas([*(tmp_path / "backups").iterdir()])
    with pytest.raises(SameBrokerError):
        find_snapshots([tmp_path / "backups"])
    assert [len(each) for each in brokers_in([tmp_path / "backups"])] == [1, 1]


def test_what_a_runbook_copied_to_beside_a_broker_is_no_broker_but_may_be_named(tmp_path: Path) -> None:
    top = tmp_path / "all"
    for name in ("1", "1.kept", "1.new", "2/disk", "2/disk.kept", "3.kept"):
        write_root(top / name, {"t-0": batches(2)}, node=int(name[0]))
    (top / "4").symlink_to(write_root(tmp_path / "elsewhere", {"t-0": batches(2)}, node=4))
    write_root(top / "4.kept", {"t-0": batches(2)}, node=4)
    expected = ["1", "2/disk", "3.kept", "4"]
    found = [each.roots[0].storage.path for each in find_snapshots([top])]
    assert sorted(str(path.relative_to(top)) for path in found) == expected
    assert sorted(str(root.path.relative_to(top)) for (root,) in brokers_in([top])) == expected
    assert [each.name for each in find_snapshots([top / "1.kept", top / "2"])] == ["1.kept", "2"]


def test_roots_without_ids_of_their_own_are_disks_of_one_broker_where_they_share_nothing(tmp_path: Path) -> None:
    for disk, name in (("disk-a", "orders-0"), ("disk-b", "pay-0")):
        write_root(tmp_path / disk, {name: batches(2)}, node=1)
    write_root(tmp_path / "other", {"orders-0": batches(2), "pay-0": batches(2)}, node=2)
    paths = [tmp_path / "disk-a", tmp_path / "other", tmp_path / "disk-b"]
    one, other = open_replicas(paths)
    assert one.partitions.keys() == other.partitions.keys()
    assert (one.name, one.paths) == ("disk-a", (paths[0], paths[2]))
    assert [len(each.roots) for each in find_snapshots(paths)] == [2, 1]


@pytest.fixture
def twice(tmp_path: Path) -> Path:
    """A broker that has `orders-0` on both of its disks, with more of it on the second, and another broker."""
    for disk, count, partition in (("disk-a", 8, "pay-0"), ("disk-b", 10, "pay-1")):
        write_root(tmp_path / "broker-1" / disk, {"orders-0": batches(count), partition: batches(10)}, node=1)
    write_root(tmp_path / "broker-2", {name: batches(10) for name in ("orders-0", "pay-0", "pay-1")}, node=2)
    return tmp_path / "broker-1"


def test_verify_finds_a_partition_in_two_roots(twice: Path) -> None:
    done = CliRunner().invoke(app, ["verify", str(twice), "--json"])
    found = [each for each in json.loads(done.stdout)["findings"] if each["kind"] == "partition-in-two-log-dirs"]
    assert [(each["topic"], each["partition"], each["severity"]) for each in found] == [("orders", 0, "error")]
    assert "broker 1 has orders-0 in 2 of its log.dirs" in found[0]["message"]
    assert "disk-b/orders-0 is ahead" in found[0]["message"]
    assert done.exit_code == 1


def test_what_changes_files_says_what_to_move_first(twice: Path) -> None:
    for command in (["recover", "--dry-run"], ["truncate", "--to", "3", "--dry-run"]):
        done = CliRunner().invoke(app, [*command, str(twice)])
        assert isinstance(done.exception, SeveralRootsError)
        assert "disk-b/orders-0 is ahead" in str(done.exception)


def test_epochs_leaves_it_out_and_tells_of_the_others(twice: Path) -> None:
    done = CliRunner().invoke(app, ["epochs", str(twice), "--json"])
    document = json.loads(done.stdout)
    assert [(each["topic"], each["partition"]) for each in document["partitions"]] == [("pay", 0), ("pay", 1)]
    assert ["disk-b/orders-0 is ahead" in each["message"] for each in document["errors"]] == [True]
    assert done.exit_code == 2


def test_repair_takes_nothing_from_a_doubled_copy(twice: Path) -> None:
    other = twice.parent / "broker-2"
    log = next((other / "orders-0").glob("*.log"))
    log.write_bytes(log.read_bytes()[:-1] + b"\0")
    for name in ("orders-0", "pay-0"):
        done = CliRunner().invoke(app, ["repair", str(other / name), "--from", str(twice), "--dry-run", "--json"])
        (report,) = json.loads(done.stdout)["partitions"]
        assert report["healed"] == [], name
        assert "nothing is taken from there: broker" not in done.stdout
        assert "orders-0 in 2 of its log.dirs" in done.stderr
