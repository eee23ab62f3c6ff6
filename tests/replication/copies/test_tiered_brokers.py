"""Brokers of a log with remote storage, killed and recovered by Kafka: nothing of it is called lost, or cut."""

import shutil
from pathlib import Path

import pytest

from logstore import LogDirectory, TopicPartition
from logstore.offline.partition_directory import PartitionDirectory
from replication.audit import audit_locally
from replication.explain import Why, explain
from replication.repair import plan_repair
from tests.data.tiered import STATES, TIERED, tiered, tiered_records

EPOCHS = Path(TIERED) / "leader-epoch-checkpoint"
STARTS = "log-start-offset-checkpoint"


def first_local(root: Path) -> int:
    return min(int(path.stem) for path in (root / TIERED).glob("*.log"))


@pytest.mark.parametrize("state", STATES)
def test_what_is_not_in_the_files_is_in_remote_storage(state: str) -> None:
    for root in tiered(state):
        first, end = first_local(root), len(tiered_records())
        found = explain(TIERED, [root])
        told = {each.why: (each.first_offset, each.last_offset, each.evidence) for each in found.ranges}
        assert {*told} <= {Why.REMOTE, Why.DELIVERED}
        assert told[Why.REMOTE][:2] == (0, first - 1)
        assert "or lost" not in told[Why.REMOTE][2], "the metadata beside it says it"
        assert told.get(Why.DELIVERED, (end, end - 1))[:2] == (first, end - 1)


@pytest.mark.parametrize("state", STATES)
def test_where_nobody_says_that_it_is_remote_it_may_be(state: str, tmp_path: Path) -> None:
    root = alone(tiered(state)[0], tmp_path)
    assert explain(TIERED, [root], has_remote=True).counts == explain(TIERED, [tiered(state)[0]]).counts
    assert {each.why for each in explain(TIERED, [root], has_remote=False).ranges} <= {Why.EXPIRED, Why.DELIVERED}


def alone(root: Path, tmp_path: Path) -> Path:
    """Copy a root without the cluster's metadata."""
    return shutil.copytree(root, tmp_path / root.name, ignore=shutil.ignore_patterns("__cluster_metadata-0"))


@pytest.mark.parametrize("state", STATES)
def test_nothing_is_damaged_and_there_is_nothing_to_repair(state: str) -> None:
    roots = tiered(state)
    document = audit_locally(roots, workers=0).document
    assert {each["severity"] for each in document["findings"] if each["topic"] == "tiered"} <= {"info"}
    [partition] = [each for each in document["partitions"] if each["topic"] == "tiered"]
    assert partition["verdict"] in {"identical", "retention"}
    for one, other in (roots, roots[::-1]):
        plan = plan_repair(PartitionDirectory.open(one / TIERED), [PartitionDirectory.open(other / TIERED)])
        assert plan.report().is_sound
        assert not plan.left


@pytest.mark.parametrize("state", STATES)
def test_who_opens_it_keeps_its_start_and_epochs_as_kafka_did(state: str, tmp_path: Path) -> None:
    for root, kafkas in zip(tiered(state), tiered("recovered"), strict=True):
        copy = shutil.copytree(root, tmp_path / root.name)
        with LogDirectory.open(copy, replicated=True) as logs:
            log = logs.log(TopicPartition("tiered", 0))
            assert (log.log_start_offset, log.log_end_offset) == (0, len(tiered_records()))
            assert log.local_log_start_offset == first_local(root)
        ours, theirs = (lines(each / EPOCHS) for each in (copy, kafkas))
        assert ours == theirs[: len(ours)]
        assert ours == [each for each in lines(root / EPOCHS) if int(each.split()[1]) < len(tiered_records())]
        assert "tiered 0 0" in (copy / STARTS).read_text()


def lines(path: Path) -> list[str]:
    """The epochs of a checkpoint file, without their count."""
    return path.read_text().splitlines()[2:]


def test_kafkas_consumer_read_all_of_it() -> None:
    assert [offset for offset, _ in tiered_records()] == [*range(len(tiered_records()))]
    assert [value for _, value in tiered_records()] == [f"value {number}" for number in range(len(tiered_records()))]
