"""A broker that is named is expected to hold its replicas, above all where it holds nothing at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

import pytest
from pyspark.sql import SparkSession

from logstore.files.offset_checkpoint import HIGH_WATERMARK_CHECKPOINT, OffsetCheckpoint
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata
from logstore.log.log import Log
from logstore.topic_partition import TopicPartition
from replication.copies.audit.local_judging import missing_among
from replication.copies.audit.snapshots.snapshot import expected_in, list_snapshots
from replication.planning import open_replicas
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.records import PartitionRecord, TopicRecord
from tests.replication.cli.command import epochlog
from tests.replication.copies.audit.snapshot_roots import batches, write_root
from tests.replication.partitions import ABatch

TOPIC_ID = UUID(int=7)
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def roots(tmp_path: Path) -> list[Path]:
    """Brokers 1 and 2 hold t-0 and t-1; broker 3 has nothing but its `meta.properties`."""
    found = [tmp_path / f"broker-{node}" for node in (1, 2, 3)]
    for node, root in enumerate(found, start=1):
        write_copies(root, {"t-0": batches(2), "t-1": batches(1)} if node < 3 else {}, node=node)
    return found


def write_copies(root: Path, partitions: Mapping[str, Sequence[ABatch]], node: int) -> None:
    """Write copies with the id of their topic: a log without it is one that brokers take for stray."""
    write_root(root, partitions, node=node)
    for name in partitions:
        PartitionMetadata(TOPIC_ID).write(root / name / PARTITION_METADATA_NAME)


def write_metadata(root: Path, *assignments: tuple[int, ...], adding: tuple[int, ...] = ()) -> None:
    """Let a root hold cluster metadata that assigns these replicas to the partitions of t, by node id."""
    with Log.open(root / "__cluster_metadata-0") as log:
        append_metadata(log, [TopicRecord(name="t", topic_id=TOPIC_ID)], leader_epoch=1)
        for number, replicas in enumerate(assignments):
            state = PartitionRecord(
                partition_id=number,
                topic_id=TOPIC_ID,
                replicas=replicas,
                isr=replicas,
                adding_replicas=adding,
                leader=replicas[0],
                leader_epoch=0,
                partition_epoch=0,
            )
            append_metadata(log, [state], leader_epoch=1)


def missing(roots: list[Path], replication_factor: int | None = None) -> dict[TopicPartition, tuple[str, ...]]:
    return dict(missing_among(open_replicas(roots), replication_factor))


def test_the_others_suggest_what_an_empty_broker_should_hold(roots: list[Path]) -> None:
    assert missing(roots) == {T0: ("broker-3",), T1: ("broker-3",)}
    assert missing(roots, 3) == {T0: ("broker-3",), T1: ("broker-3",)}
    assert missing(roots, 2) == {}


def test_its_checkpoint_files_say_what_it_held(roots: list[Path]) -> None:
    OffsetCheckpoint({T1: 3}).write(roots[2] / HIGH_WATERMARK_CHECKPOINT)
    assert missing(roots) == {T1: ("broker-3",)}


@pytest.mark.parametrize("holder", [0, 2])
def test_the_metadata_says_what_each_should_hold(roots: list[Path], holder: int) -> None:
    write_metadata(roots[holder], (1, 2), (1, 3))
    assert missing(roots) == {T1: ("broker-3",)}
    assigned = expected_in(list_snapshots(roots)).assigned
    assert {each: assigned[each] for each in (T0, T1)} == {T0: ("broker-1", "broker-2"), T1: ("broker-1", "broker-3")}


def test_the_newest_metadata_counts(roots: list[Path]) -> None:
    write_metadata(roots[0], (1, 3))
    write_metadata(roots[1], (1, 2), (1, 2))
    assert missing(roots) == {}


def test_who_is_only_being_added_need_not_have_a_copy(roots: list[Path]) -> None:
    write_metadata(roots[0], (1, 2, 3), (1, 2, 3), adding=(3,))
    assert missing(roots) == {}


def test_metadata_that_cannot_be_read_is_named_and_left_out(roots: list[Path]) -> None:
    write_metadata(roots[0], (1, 2), (1, 2))
    (log,) = (roots[0] / "__cluster_metadata-0").glob("*.log")
    data = bytearray(log.read_bytes())
    data[80] ^= 1
    log.write_bytes(data)
    with pytest.warns(UserWarning, match="missing copies could not be determined from the cluster's metadata"):
        assert missing(roots) == {T0: ("broker-3",), T1: ("broker-3",)}


@pytest.mark.parametrize("more", [[], ["--epochs-only"]])
def test_advise_says_who_lacks_what_and_ends_with_1(roots: list[Path], more: list[str]) -> None:
    outcome = epochlog("advise", *roots, *more, "--json")
    assert outcome.status == 1
    assert "broker-3 lacks partitions that it should have: t-0, t-1" in outcome.err
    assert {(each["partition"], each["replica"]) for each in outcome.document["missing"]} == {
        (0, "broker-3"),
        (1, "broker-3"),
    }
    assert [each["missing"] for each in outcome.document["partitions"]] == (
        [] if more else [["broker-3"], ["broker-3"]]
    )
    assert "nothing is lost" not in epochlog("advise", *roots, *more).out
    assert epochlog("advise", *roots, *more, "--replication-factor", 2).status == 0


def test_advise_judges_a_partition_that_one_holds_and_another_lacks(roots: list[Path]) -> None:
    write_metadata(roots[0], (1, 2), (1, 2), (2, 3))
    write_copies(roots[1], {"t-2": batches(1)}, node=2)
    outcome = epochlog("advise", *roots, "--json")
    assert outcome.status == 1
    told = {each["partition"]: each for each in outcome.document["partitions"]}
    assert (told[2]["verdict"], told[2]["missing"]) == ("missing", ["broker-3"])
    assert outcome.document["not_compared"] == []
    assert [each["replica"] for each in outcome.document["quorum"]["copies"]] == ["broker-1"]


def test_plan_says_what_is_known_to_be_missing(roots: list[Path]) -> None:
    write_metadata(roots[0], (1, 2), (1, 2), (1, 2))
    write_root(roots[0], {"t-2": batches(1), "u-0": batches(1)}, node=1)
    outcome = epochlog("plan", "--leader", roots[0], "--follower", roots[1], "--json")
    assert outcome.status == 1
    assert outcome.document["missing"] == [{"topic": "t", "partition": 2, "replica": "broker-2"}]


def test_an_audit_finds_that_a_named_broker_lacks_its_copies(spark: SparkSession, roots: list[Path]) -> None:
    del spark
    outcome = epochlog("audit", *roots, "--json")
    assert outcome.status == 1
    assert [each["missing"] for each in outcome.document["partitions"]] == [["broker-3"], ["broker-3"]]
    assert {each["verdict"] for each in outcome.document["partitions"]} == {"missing"}
    assert epochlog("audit", *roots, "--replication-factor", 2).status == 0
    alone = epochlog("audit", roots[0], roots[2], "--json")
    assert (alone.status, [each["missing"] for each in alone.document["partitions"]]) == (1, [["broker-3"]] * 2)
    write_metadata(roots[2], (1, 2), (2, 1))
    by_metadata = epochlog("audit", *roots, "--topics", "t", "--json")
    assert (by_metadata.status, {each["verdict"] for each in by_metadata.document["partitions"]}) == (0, {"identical"})
