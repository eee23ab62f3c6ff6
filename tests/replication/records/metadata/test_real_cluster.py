"""What a real controller wrote gives the image that its own tools tell: after elections, failures and reassignments."""

import json
import re
import shutil
from pathlib import Path

import pytest

from logstore.files.partition_metadata import format_uuid
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.loading import LoadedImage, load_image
from replication.records.metadata.metadata_log import read_metadata
from replication.records.metadata.metadata_version import MetadataVersion
from replication.records.metadata.partition import PartitionRegistration
from replication.records.metadata.records import (
    NO_LEADER,
    PartitionChangeRecord,
    RegisterControllerRecord,
    UnregisterControllerRecord,
)
from replication.records.metadata.records.control import KRaftVersion, Voters
from replication.records.metadata.snapshot import MetadataSnapshot, snapshot_name
from replication.records.metadata.transactions import committed
from tests.data import make_metadata_log
from tests.oracle.cluster import CONTROLLER
from tests.oracle.release import RELEASES, KafkaRelease

DATA = Path(__file__).parents[3] / "data"
KEPT = {release: DATA / name for release, name in zip(RELEASES, ("metadata", "metadata-4.4.0"), strict=True)}
each_kept = pytest.mark.parametrize("made_by", RELEASES, ids=str)


def partition_kept(made_by: KafkaRelease) -> Path:
    return KEPT[made_by] / "__cluster_metadata-0"


def told_partitions(text: str) -> dict[tuple[str, int], tuple[object, ...]]:
    """What `kafka-topics --describe` says: leader, replicas, ISR, ELR and last known ELR."""
    names = ("Topic", "Partition", "Leader", "Replicas", "Isr", "Elr", "LastKnownElr")
    line = re.compile("\t".join(rf"{name}: (\S*)" for name in names))
    return {
        (topic, int(partition)): (
            NO_LEADER if leader == "none" else int(leader),
            ids(replicas),
            *(set(ids(each)) for each in sets),
        )
        for topic, partition, leader, replicas, *sets in line.findall(text)
    }


def ids(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


def read_partitions(image: ClusterImage) -> dict[tuple[str, int], tuple[object, ...]]:
    return {(topic.name, number): told(state) for topic, number, state in image.topics.partitions()}


def told(state: PartitionRegistration) -> tuple[object, ...]:
    return state.leader, state.replicas, set(state.isr), set(state.elr), set(state.last_known_elr)


def assert_agrees(loaded: LoadedImage, truth: dict[str, str]) -> None:
    """Compare an image with what Kafka's tools printed."""
    image = loaded.image
    assert read_partitions(image) == told_partitions(truth["topics"])
    topic_ids = dict(re.findall(r"^Topic: (\S+)\tTopicId: (\S+)", truth["topics"], re.MULTILINE))
    assert {topic.name: format_uuid(topic.id) for topic in image.topics} == topic_ids
    brokers = re.findall(r"^(\d+) +(\S+) +(\d+) +\S+ +(fenced|unfenced) ", truth["brokers"], re.MULTILINE)
    assert {
        (str(broker.id), endpoint.host, str(endpoint.port), "fenced" if broker.fenced else "unfenced")
        for broker in image.brokers.values()
        for endpoint in broker.listeners.values()
    } == set(brokers)
    levels = dict(re.findall(r"^Feature: (\S+) .*FinalizedVersionLevel: (\S+)", truth["features"], re.MULTILINE))
    assert MetadataVersion(image.metadata_version).name == "V" + re.sub(r"[.-]", "_", levels.pop("metadata.version"))
    del levels["kraft.version"]  # the quorum's own, in its control records
    finalized = {name: int(level) for name, level in levels.items() if level != "0"}
    assert {name: level for name, level in image.features.items() if name != "metadata.version"} == finalized
    assert set(image.controllers) == {int(re.findall(r"LeaderId: +(\d+)", truth["quorum"])[0])}
    assert loaded.epoch == int(re.findall(r"LeaderEpoch: +(\d+)", truth["quorum"])[0])
    assert loaded.end_offset >= int(re.findall(r"HighWatermark: +(\d+)", truth["quorum"])[0])


@each_kept
def test_the_kept_log_gives_what_kafkas_tools_told(made_by: KafkaRelease) -> None:
    loaded = load_image(partition_kept(made_by))
    assert_agrees(loaded, json.loads((KEPT[made_by] / "truth.json").read_text()))
    assert loaded.image.metadata_version == made_by.metadata_version
    assert loaded.image.configurations.of(2, "orders")["cleanup.policy"] == "compact,delete"
    assert list(loaded.image.scram_credentials) == [(1, "alice")]
    assert list(loaded.image.client_quotas.values()) == [{"producer_byte_rate": 1048576.0}]


@each_kept
def test_a_brokers_snapshot_of_the_kept_log_is_the_image_at_its_offset(made_by: KafkaRelease) -> None:
    snapshot = MetadataSnapshot.latest(partition_kept(made_by))
    assert snapshot is not None
    from_snapshot, from_log = ClusterImage(), ClusterImage()
    from_snapshot.replay_all(snapshot.records())
    for batch in committed(read_metadata(partition_kept(made_by) / "00000000000000000000.log")):
        if batch.last_offset < snapshot.end_offset:
            from_log.replay_all(batch.records)
    assert from_snapshot == from_log


@each_kept
def test_the_kept_log_tells_of_elections_failures_and_a_reassignment(made_by: KafkaRelease) -> None:
    batches = list(read_metadata(partition_kept(made_by) / "00000000000000000000.log"))
    changes = [each for batch in batches for each in batch.records if isinstance(each, PartitionChangeRecord)]
    assert any(change.leader == NO_LEADER for change in changes)
    assert any(change.leader_recovery_state == 1 for change in changes)
    assert any(change.adding_replicas for change in changes)
    assert any(change.eligible_leader_replicas for change in changes)


def test_the_kept_log_of_kafka_4_4_tells_of_a_controller_that_came_and_went() -> None:
    newest = RELEASES[-1]
    batches = list(read_metadata(partition_kept(newest) / "00000000000000000000.log"))
    records = [record for batch in batches for record in batch.records]
    gone = UnregisterControllerRecord(controller_id=make_metadata_log.OBSERVER)
    assert records.count(gone) == 1
    assert gone.controller_id in {each.controller_id for each in records if isinstance(each, RegisterControllerRecord)}
    assert set(load_image(partition_kept(newest)).image.controllers) == {CONTROLLER}


@each_kept
def test_what_a_cluster_is_formatted_with_is_a_snapshot_too(made_by: KafkaRelease) -> None:
    image = ClusterImage()
    image.replay_all(bootstrap_of(made_by).records())
    assert image.metadata_version == made_by.metadata_version


def bootstrap_of(made_by: KafkaRelease) -> MetadataSnapshot:
    name = "bootstrap.checkpoint" if made_by.is_before_4_4 else f"__cluster_metadata-0/{snapshot_name(0, 0)}"
    return MetadataSnapshot.at(KEPT[made_by] / name)


@each_kept
def test_a_brokers_snapshot_says_whether_voters_may_come_and_go(made_by: KafkaRelease) -> None:
    snapshot = MetadataSnapshot.latest(partition_kept(made_by))
    assert snapshot is not None
    said = list(snapshot.control_messages())
    levels = [each.k_raft_version for each in said if isinstance(each, KRaftVersion)]
    voters = [[voter.voter_id for voter in each.voters] for each in said if isinstance(each, Voters)]
    assert (levels, voters) == (([], []) if made_by.is_before_4_4 else ([1], [[CONTROLLER]]))


def test_what_a_cluster_is_formatted_with_counts_once_it_is_in_the_log(tmp_path: Path) -> None:
    bootstrap = bootstrap_of(RELEASES[-1])
    assert bootstrap.is_bootstrap
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    shutil.copy(bootstrap.path, directory)
    assert load_image(directory) == (ClusterImage(), 0, -1)
    shutil.copy(partition_kept(RELEASES[-1]) / "00000000000000000000.log", directory)
    loaded = load_image(directory)
    assert loaded == load_image(partition_kept(RELEASES[-1]))


def test_a_cluster_that_runs_now_gives_what_kafkas_tools_tell(release: KafkaRelease, tmp_path: Path) -> None:
    make_metadata_log.main(release, tmp_path)
    assert_agrees(load_image(tmp_path / "__cluster_metadata-0"), json.loads((tmp_path / "truth.json").read_text()))
