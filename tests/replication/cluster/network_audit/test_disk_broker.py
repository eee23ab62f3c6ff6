"""Copies on disks beside replicas that are fetched: compared as far as these go, and all that is in them is checked."""

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logstore.offline.partition_directory import PartitionDirectory
from replication.base.errors import DifferentClustersError, NotAllowedError
from replication.cluster.network_audit import network_look
from replication.cluster.network_audit.disk_broker import DiskBroker, disk_brokers
from replication.cluster.network_audit.network_look import NetworkLook
from replication.cluster.network_audit.replicated_partition import ReplicatedPartition
from replication.copies.audit.examination.copy_examiner import Examiner
from replication.copies.audit.local.live_look import LiveLook
from replication.copies.audit.snapshots.snapshot import list_snapshots
from tests.replication.cluster.network_audit.answering_replica import T0, AnsweringReplica, reader_of
from tests.replication.copies.audit.logs import Copy, Written, change_record

BATCHES = tuple(Written(epoch, 5) for epoch in (0, 0, 1, 1, 2))
END = 25
LED = ReplicatedPartition(T0, None, leader=1, leader_epoch=7, replicas=(1, 2, 3), isr=(1, 2, 3))


@pytest.fixture
def replicas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[int, AnsweringReplica]:
    """Brokers 1 and 2 answer; broker 3's copy is to be named."""
    monkeypatch.setattr(network_look, "TOLD_SOON", 0)
    partitions = {number: Copy(BATCHES).write(tmp_path / f"broker-{number}") for number in (1, 2)}
    return {number: AnsweringReplica.of(partition, END) for number, partition in partitions.items()}


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(3) as executor:
        yield executor


def root_of(tmp_path: Path, batches: tuple[Written, ...], node_id: int = 3, cluster_id: str = "c") -> Path:
    """Write broker 3's directory."""
    root = tmp_path / f"root-{node_id}"
    written = Copy(batches).write(tmp_path / f"written-{node_id}").path
    shutil.copytree(written, root / str(T0))
    (root / "meta.properties").write_text(f"version=1\nnode.id={node_id}\ncluster.id={cluster_id}\n")
    return root


def disk(root: Path) -> DiskBroker:
    (snapshot,) = list_snapshots([root])
    return DiskBroker(snapshot)


def look(
    replicas: dict[int, AnsweringReplica],
    executor: ThreadPoolExecutor,
    root: Path,
    partition: ReplicatedPartition = LED,
) -> LiveLook:
    readers = {number: reader_of(replica, f"broker-{number}") for number, replica in replicas.items()}
    return NetworkLook(readers, executor, {T0.topic: False}, disks={3: disk(root)}).at(partition)


def told(seen: LiveLook) -> dict[str, Any]:
    assert seen.judged is not None
    return dict(seen.judged)


def kinds(seen: LiveLook) -> set[str]:
    found = [each for row in seen.rows.values() for each in row["findings"]] + told(seen)["findings"]
    return {each["kind"] for each in found if each["severity"] != "info"}


def test_a_copy_on_a_disk_is_compared_with_what_is_fetched(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    seen = look(replicas, executor, root_of(tmp_path, BATCHES))
    assert (told(seen)["verdicts"], kinds(seen), seen.moved) == (["identical"], set(), {})
    assert [each["replica"] for each in told(seen)["branches"]] == ["broker-1", "broker-2", "root-3"]
    assert not any(replica.requests == [] for replica in replicas.values())


def test_what_a_broker_in_sync_has_got_since_is_left_out(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    for replica in replicas.values():
        replica.high_watermark = 20
    seen = look(replicas, executor, root_of(tmp_path, BATCHES))
    assert (told(seen)["verdicts"], kinds(seen)) == (["identical"], set())
    assert {(each["log_end_offset"], each["records"]) for each in told(seen)["branches"]} == {(20, 20)}


def test_what_a_broker_out_of_sync_has_under_an_earlier_epoch_is_not_left_out(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    for replica in replicas.values():
        replica.high_watermark = 20
    led = replace(LED, isr=(1, 2))
    seen = look(replicas, executor, root_of(tmp_path, BATCHES), led)
    ends = {each["replica"]: each["log_end_offset"] for each in told(seen)["branches"]}
    assert ends == {"broker-1": 20, "broker-2": 20, "root-3": 25}
    assert told(seen)["verdicts"] == ["lagging"]


@pytest.mark.parametrize("high_watermark", [20, END])
def test_a_changed_record_is_found(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path, high_watermark: int
) -> None:
    root = root_of(tmp_path, BATCHES)
    change_record(disk_partition(root), 5)
    for replica in replicas.values():
        replica.high_watermark = high_watermark
    seen = look(replicas, executor, root)
    assert "silent-divergence" in told(seen)["verdicts"]
    first = {pair["first_difference"] for pair in told(seen)["pairs"] if "root-3" in (pair["leader"], pair["follower"])}
    assert first == {9}  # it is the last record of the batch that was changed


def disk_partition(root: Path) -> PartitionDirectory:
    return PartitionDirectory.open(root / str(T0))


@pytest.mark.parametrize("high_watermark", [20, END])
def test_damage_on_the_disk_is_damage(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path, high_watermark: int
) -> None:
    root = root_of(tmp_path, BATCHES)
    log = root / str(T0) / f"{0:020}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    for replica in replicas.values():
        replica.high_watermark = high_watermark
    seen = look(replicas, executor, root)
    assert "damaged" in told(seen)["verdicts"]


def test_a_broker_without_the_copy_that_it_should_have_lacks_it(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    root = root_of(tmp_path, BATCHES)
    shutil.rmtree(root / str(T0))
    seen = look(replicas, executor, root)
    assert (told(seen)["verdicts"], told(seen)["missing"]) == (["missing"], ["root-3"])


def test_a_copy_that_is_written_to_meanwhile_has_moved(
    replicas: dict[int, AnsweringReplica],
    executor: ThreadPoolExecutor,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = root_of(tmp_path, BATCHES)
    row = Examiner.row

    def written_to(self: Examiner, job: Any) -> Any:
        found = row(self, job)
        with open(root / str(T0) / f"{0:020}.log", "ab") as file:
            file.write(bytes(10))
        return found

    monkeypatch.setattr(Examiner, "row", written_to)
    seen = look(replicas, executor, root)
    assert [job.replica for job in seen.moved] == ["root-3"]
    assert told(seen)["verdicts"] == ["unknown"]


def test_a_copy_that_cannot_be_read_is_named(
    replicas: dict[int, AnsweringReplica], executor: ThreadPoolExecutor, tmp_path: Path
) -> None:
    root = root_of(tmp_path, BATCHES)
    gone = disk(root)
    shutil.rmtree(root)
    readers = {number: reader_of(replica, f"broker-{number}") for number, replica in replicas.items()}
    seen = NetworkLook(readers, executor, {T0.topic: False}, disks={3: gone}).at(LED)
    assert told(seen)["verdicts"] == ["unknown"]
    assert kinds(seen) == {"file-unreadable"}


def test_whose_a_copy_is_has_to_be_known(tmp_path: Path) -> None:
    root = root_of(tmp_path, BATCHES)
    assert disk_brokers(list_snapshots([root]), [1, 2, 3], "c").keys() == {3}
    with pytest.raises(DifferentClustersError):
        disk_brokers(list_snapshots([root]), [1, 2, 3], "another")
    with pytest.raises(NotAllowedError, match="NAME="):
        disk_brokers(list_snapshots([f"broker-1={root}"]), [1, 2, 3], "c")
    (root / "meta.properties").unlink()
    with pytest.raises(NotAllowedError, match=r"meta\.properties"):
        disk_brokers(list_snapshots([root]), [1, 2, 3], "c")
