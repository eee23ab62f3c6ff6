"""The small files of a log.dirs root, a partition and a KRaft voter."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore.errors import CorruptCheckpointError, CorruptFileError, CorruptMetadataError
from logstore.file_name import META_PROPERTIES_NAME
from logstore.files.clean_shutdown import CLEAN_SHUTDOWN_NAME, CleanShutdown
from logstore.files.meta_properties import MetaProperties
from logstore.files.offset_checkpoint import OFFSET_CHECKPOINTS, OffsetCheckpoint
from logstore.files.partition_metadata import PARTITION_METADATA_NAME, PartitionMetadata, parse_uuid
from logstore.files.quorum_state import QuorumState
from logstore.topic_partition import TopicPartition
from tests.data.replicas import LABELS, replicas, truth

CHECKPOINTED = dict(
    zip(OFFSET_CHECKPOINTS, ["recovery_point", "hw", "log_start", "cleaner"], strict=True),
)


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("name", OFFSET_CHECKPOINTS)
def test_offset_checkpoints_hold_what_kafka_says(label: str, name: str) -> None:
    for broker, said in truth(label)["brokers"].items():
        path = replicas(label) / broker / name
        offsets = OffsetCheckpoint.read(path) if path.exists() else {}
        assert len(offsets) == said["checkpoint_files"][CHECKPOINTED[name]]
        for partition, content in said["partitions"].items():
            topic, _, number = partition.rpartition("-")
            expected = content[f"{CHECKPOINTED[name]}_checkpoint"]
            assert offsets.get(TopicPartition(topic, int(number))) == expected


@given(
    version=st.sampled_from([0, 1]),
    cluster_id=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=30),
    node_id=st.integers(0, 2**31 - 1),
)
def test_meta_properties_are_read_as_they_were_written(version: int, cluster_id: str, node_id: int) -> None:
    written = MetaProperties(version, cluster_id, node_id, "OZizFyFVUbfdbRvClQTtBQ")
    assert MetaProperties.parse(written.encode()) == written


def test_meta_properties_are_written_as_kafka_does() -> None:
    path = replicas("diverged") / "broker-1" / META_PROPERTIES_NAME
    moment = datetime.strptime(path.read_text().splitlines()[1], "#%a %b %d %H:%M:%S UTC %Y").replace(tzinfo=UTC)
    assert MetaProperties.read(path).encode(moment) == path.read_bytes()


@pytest.mark.parametrize("label", LABELS)
def test_roots_say_whose_they_are_and_how_they_stopped(label: str) -> None:
    for broker, said in truth(label)["brokers"].items():
        root = replicas(label) / broker
        properties = MetaProperties.read(root / META_PROPERTIES_NAME)
        assert {
            "version": str(properties.version),
            "node.id": str(properties.node_id),
            "cluster.id": properties.cluster_id,
            "directory.id": properties.directory_id,
        } == {key: str(value) for key, value in said["meta"].items()}
        assert (root / CLEAN_SHUTDOWN_NAME).exists() == said["clean_shutdown"]
        if said["clean_shutdown"]:
            assert CleanShutdown.read(root / CLEAN_SHUTDOWN_NAME).broker_epoch > 0


@pytest.mark.parametrize("label", LABELS)
def test_replicas_of_one_partition_agree_on_the_topic_s_id(label: str) -> None:
    ids: dict[str, set[UUID]] = {}
    for path in replicas(label).glob(f"*/*/{PARTITION_METADATA_NAME}"):
        topic = path.parent.name.rpartition("-")[0]
        ids.setdefault(topic, set()).add(PartitionMetadata.read(path).topic_id)
    assert ids
    assert {len(found) for found in ids.values()} == {1}


def test_a_directory_may_have_no_topic_id_as_before_kafka_2_8(tmp_path: Path) -> None:
    assert PartitionMetadata.of(tmp_path) is None
    (path,) = replicas(LABELS[0]).glob(f"broker-1/orders-0/{PARTITION_METADATA_NAME}")
    assert PartitionMetadata.of(path.parent) == PartitionMetadata.read(path)


def test_an_empty_offset_checkpoint_holds_nothing() -> None:
    assert OffsetCheckpoint.parse(b"") == {}


def test_of_a_partition_s_several_lines_the_last_counts() -> None:
    assert OffsetCheckpoint.parse(b"0\n2\na 0 1\na 0 2\n") == {TopicPartition("a", 0): 2}


@pytest.mark.parametrize(
    "bad", [b"1\n0\n", b"0\n1\n", b"0\n1\na 0\n", b"0\n1\na b 1\n", b"0\n1\na 0 9999999999999999999\n"]
)
def test_a_bad_offset_checkpoint_is_an_error_with_file_and_line(bad: bytes, tmp_path: Path) -> None:
    path = tmp_path / OFFSET_CHECKPOINTS[0]
    path.write_bytes(bad)
    with pytest.raises(CorruptCheckpointError, match="line ") as caught:
        OffsetCheckpoint.read(path)
    assert caught.value.file == str(path)


def test_version_0_of_meta_properties_is_of_clusters_under_zookeeper() -> None:
    read = MetaProperties.parse(b"#\n#Tue Jan 01 00:00:00 UTC 2019\ncluster.id=abc\\=\nversion=0\nbroker.id=7\n")
    assert read == MetaProperties(0, "abc=", 7, None)


def test_java_properties_may_use_colons_and_blanks() -> None:
    assert MetaProperties.parse(b"version : 1\nnode.id 3\n! note\n cluster.id = x\n").node_id == 3


def test_a_clean_shutdown_file_of_older_brokers_is_empty() -> None:
    assert CleanShutdown.parse(b"") == CleanShutdown(-1)


def test_a_quorum_state_of_either_version_is_read() -> None:
    old = {"leaderId": 3, "leaderEpoch": 5, "votedId": -1, "currentVoters": [{"voterId": 3}], "data_version": 0}
    assert QuorumState.parse(json.dumps(old).encode()) == QuorumState(3, 5, -1, None, (3,), 0)
    new = {
        "leaderId": 3,
        "leaderEpoch": 5,
        "votedId": 2,
        "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
        "data_version": 1,
    }
    assert QuorumState.parse(json.dumps(new).encode()) == QuorumState(3, 5, 2, "AAAAAAAAAAAAAAAAAAAAAA", (), 1)


@pytest.mark.parametrize(
    ("parse", "bad"),
    [
        (MetaProperties.parse, b"version=2\n"),
        (MetaProperties.parse, b"version=1\nnode.id=1\n"),
        (MetaProperties.parse, b"version=1\ncluster.id=a\nnode.id=x\n"),
        (PartitionMetadata.parse, b""),
        (PartitionMetadata.parse, b"version: 1\ntopic_id: Br8snZJcSrSaMIBVoJX3aw"),
        (PartitionMetadata.parse, b"version: 0\ntopic_id: short"),
        (PartitionMetadata.parse, b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"),
        (PartitionMetadata.parse, b"version: 0\ntopic_id: !!!!!!!!!!!!!!!!!!!!!!"),
        (CleanShutdown.parse, b"{"),
        (CleanShutdown.parse, b"[]"),
        (CleanShutdown.parse, b'{"version":1,"brokerEpoch":4}'),
        (CleanShutdown.parse, b'{"version":0,"brokerEpoch":"4"}'),
        (CleanShutdown.parse, b"[" * 100_000),
        (QuorumState.parse, b""),
        (QuorumState.parse, b"{}"),
        (QuorumState.parse, b'{"data_version":2,"leaderEpoch":1}'),
        (QuorumState.parse, b'{"data_version":0,"leaderEpoch":1,"currentVoters":[1]}'),
        (QuorumState.parse, b'{"data_version":1,"leaderEpoch":1,"votedDirectoryId":5}'),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_file(parse: Callable[[bytes, Path], object], bad: bytes) -> None:
    with pytest.raises(CorruptMetadataError) as caught:
        parse(bad, Path("some/file"))
    assert caught.value.file == "some/file"
    assert isinstance(caught.value, CorruptFileError)


@given(st.uuids())
def test_ids_are_url_safe_base64(uuid: UUID) -> None:
    from base64 import urlsafe_b64encode

    assert parse_uuid(urlsafe_b64encode(uuid.bytes).decode().rstrip("=")) == uuid
