"""A partition in two log.dirs of one broker is found by all who see them, and the disks are no two replicas."""

from pathlib import Path

import pytest

from logstore import TopicPartition
from replication.audit import audit_locally
from replication.base.errors import PartitionDoubledError
from replication.copies.audit.incident.incident import incident_of
from replication.copies.planning.replica import open_alone, open_replicas
from tests.replication.copies.audit.judgement.test_unread_segments import refusing
from tests.replication.copies.audit.snapshot_roots import batches, write_root

SHORT, LONG, NEWER = batches(8), batches(10), [*batches(6), *batches(1, epoch=3, start=18)]
DOUBLED = TopicPartition("orders", 0)


@pytest.fixture(params=[("disk-a", SHORT, "disk-b", LONG), ("disk-b", LONG, "disk-a", NEWER)], ids=["longer", "newer"])
def ahead(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Write two brokers' directories, one with two disks; give the name of the one that has the copy that is ahead."""
    behind, behinds, ahead, aheads = request.param
    write_root(tmp_path / "broker-1" / behind, {"orders-0": behinds, "pay-0": LONG}, node=1)
    write_root(tmp_path / "broker-1" / ahead, {"orders-0": aheads, "pay-1": LONG}, node=1)
    moving = tmp_path / "broker-1" / ahead / f"pay-0.{'0' * 32}-future"
    moving.mkdir()
    (moving / f"{0:020}.log").touch()
    write_root(tmp_path / "broker-2", {"orders-0": aheads, "pay-0": LONG, "pay-1": LONG}, node=2)
    return str(ahead)


def test_the_audit_names_the_copy_that_is_ahead_and_takes_it_for_the_brokers(ahead: str, tmp_path: Path) -> None:
    document = audit_locally([tmp_path / "broker-1", tmp_path / "broker-2"], workers=0).document
    found = [each for each in document["findings"] if each["kind"] == "partition-in-two-log-dirs"]
    assert [(each["replica"], each["topic"], each["partition"]) for each in found] == [("broker-1", "orders", 0)]
    assert f"/broker-1/{ahead}/orders-0 is ahead" in found[0]["message"]
    verdicts = {f"{each['topic']}-{each['partition']}": each["verdicts"] for each in document["partitions"]}
    assert verdicts == {"orders-0": ["damaged"], "pay-0": ["identical"], "pay-1": ["identical"]}
    doubled = next(each for each in document["partitions"] if each["topic"] == "orders")
    assert [each["replica"] for each in doubled["candidates"]] == ["broker-1", "broker-2"]
    assert not any(stake.loses for stake in incident_of(document).stakes)


def test_the_other_partitions_stay_usable(ahead: str, tmp_path: Path) -> None:
    errors: dict[TopicPartition, Exception] = {}
    one, other = open_replicas([tmp_path / "broker-1", tmp_path / "broker-2"], on_error=errors.__setitem__)
    assert {*one.partitions} == {TopicPartition("pay", 0), TopicPartition("pay", 1)}
    assert one.held == other.held
    assert [*errors] == [DOUBLED]
    assert isinstance(errors[DOUBLED], PartitionDoubledError)
    assert f"/broker-1/{ahead}/orders-0 is ahead" in str(errors[DOUBLED])
    with pytest.raises(PartitionDoubledError, match=r"move .*orders-0 out of the log\.dirs"):
        open_alone(tmp_path / "broker-1")


def test_which_is_ahead_is_not_known_where_one_cannot_be_read(tmp_path: Path) -> None:
    for disk in ("disk-a", "disk-b"):
        write_root(tmp_path / "broker-1" / disk, {"orders-0": LONG}, node=1)
    write_root(tmp_path / "broker-2", {"orders-0": LONG}, node=2)
    with refusing(*(tmp_path / "broker-1/disk-b/orders-0").glob("*.log")):
        document = audit_locally([tmp_path / "broker-1", tmp_path / "broker-2"], workers=0).document
    (found,) = (each for each in document["findings"] if each["kind"] == "partition-in-two-log-dirs")
    assert "which is ahead is not known" in found["message"]
    assert document["partitions"][0]["verdicts"] == ["unknown", "damaged"]
