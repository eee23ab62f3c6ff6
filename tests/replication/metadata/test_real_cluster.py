"""What a real controller wrote gives the image that its own tools tell: after elections, failures and reassignments."""

import json
import re
from pathlib import Path

from logstore.files.partition_metadata import format_uuid
from replication.metadata.image import ClusterImage
from replication.metadata.loading import LoadedImage, load_image
from replication.metadata.metadata_log import read_metadata
from replication.metadata.metadata_version import MetadataVersion
from replication.metadata.partition import PartitionRegistration
from replication.metadata.records import NO_LEADER, PartitionChangeRecord
from replication.metadata.snapshot import MetadataSnapshot
from replication.metadata.transactions import committed
from tests.data import make_metadata_log
from tests.oracle.release import KafkaRelease

KEPT = Path(__file__).parent.parent.parent / "data/metadata"


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
    finalized = {name: int(level) for name, level in levels.items() if level != "0"}
    assert {name: level for name, level in image.features.items() if name != "metadata.version"} == finalized
    assert set(image.controllers) == {int(re.findall(r"LeaderId: +(\d+)", truth["quorum"])[0])}
    assert loaded.epoch == int(re.findall(r"LeaderEpoch: +(\d+)", truth["quorum"])[0])
    assert loaded.end_offset >= int(re.findall(r"HighWatermark: +(\d+)", truth["quorum"])[0])


def test_the_kept_log_gives_what_kafkas_tools_told() -> None:
    loaded = load_image(KEPT / "__cluster_metadata-0")
    assert_agrees(loaded, json.loads((KEPT / "truth.json").read_text()))
    assert loaded.image.configurations.of(2, "orders")["cleanup.policy"] == "compact,delete"
    assert list(loaded.image.scram_credentials) == [(1, "alice")]
    assert list(loaded.image.client_quotas.values()) == [{"producer_byte_rate": 1048576.0}]


def test_a_brokers_snapshot_of_the_kept_log_is_the_image_at_its_offset() -> None:
    snapshot = MetadataSnapshot.latest(KEPT / "__cluster_metadata-0")
    assert snapshot is not None
    from_snapshot, from_log = ClusterImage(), ClusterImage()
    from_snapshot.replay_all(snapshot.records())
    for batch in committed(read_metadata(KEPT / "__cluster_metadata-0" / "00000000000000000000.log")):
        if batch.last_offset < snapshot.end_offset:
            from_log.replay_all(batch.records)
    assert from_snapshot == from_log


def test_the_kept_log_tells_of_elections_failures_and_a_reassignment() -> None:
    batches = list(read_metadata(KEPT / "__cluster_metadata-0"))
    changes = [each for batch in batches for each in batch.records if isinstance(each, PartitionChangeRecord)]
    assert any(change.leader == NO_LEADER for change in changes)
    assert any(change.leader_recovery_state == 1 for change in changes)
    assert any(change.adding_replicas for change in changes)
    assert any(change.eligible_leader_replicas for change in changes)


def test_what_a_cluster_is_formatted_with_is_a_snapshot_too() -> None:
    image = ClusterImage()
    image.replay_all(MetadataSnapshot.at(KEPT / "bootstrap.checkpoint").records())
    assert image.metadata_version == MetadataVersion.V4_3_IV0


def test_a_cluster_that_runs_now_gives_what_kafkas_tools_tell(release: KafkaRelease, tmp_path: Path) -> None:
    make_metadata_log.main(release, tmp_path)
    assert_agrees(load_image(tmp_path / "__cluster_metadata-0"), json.loads((tmp_path / "truth.json").read_text()))
