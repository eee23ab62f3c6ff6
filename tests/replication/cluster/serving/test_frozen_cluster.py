"""Copies of brokers' directories, opened as the cluster that they were."""

import hashlib
import json
import shutil
from pathlib import Path
from threading import Lock
from uuid import uuid4

import pytest

from logstore import TopicPartition
from logstore.batch.any_batch import Batch
from logstore.batch.batches import read_batches
from logstore.errors import CorruptBatchError
from logstore.files.partition_metadata import PartitionMetadata
from logstore.log.readable_log import ReadableLog
from replication.base.errors import DifferentClustersError, SameBrokerError, TopicIdsDifferError
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.broker.requests.reading_apis import reading_apis
from replication.cluster.serving.checking import check_copies
from replication.cluster.serving.cluster_server import ClusterServer
from replication.cluster.serving.frozen_cluster import FrozenCluster
from replication.cluster.serving.leader_choice import LeaderChoice
from replication.cluster.serving.unserved import Unserved
from replication.records.metadata.loading import load_image
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.messages import api_versions, fetch
from replication.wire.messages.api_versions import ApiVersions, ApiVersionsRequest
from replication.wire.messages.fetch import FetchPartition, FetchRequest
from replication.wire.server.call import Call, Caller
from tests.data.replicas import damaged, replicas
from tests.replication.wire.server.client import Client

OFFSETS = Path(__file__).parents[3] / "data" / "consumer-offsets"
QUORUM = Path(__file__).parents[3] / "data" / "quorum"
FORKED = TopicPartition("diverge", 0)


def brokers(label: str) -> list[Path]:
    return sorted(replicas(label).iterdir())


def leaders(cluster: FrozenCluster) -> dict[str, int]:
    return {f"{topic.name}-{number}": each.leader for topic, number, each in cluster.topics.topics.partitions()}


def test_brokers_have_their_node_ids_and_what_they_held() -> None:
    with FrozenCluster.open(brokers("diverged")) as cluster:
        assert [each.node_id for each in cluster.brokers] == [1, 2, 3]
        assert cluster.cluster_id is not None
        assert not cluster.unserved
        for broker, path in zip(cluster.brokers, brokers("diverged"), strict=True):
            held = {each.parent.name for each in path.glob("*-*/*.log")}
            assert {str(each) for each in cluster.hosted[broker.node_id]} == held


def test_without_metadata_the_copies_lead_that_kafka_would_elect() -> None:
    with FrozenCluster.open(brokers("diverged")) as cluster:
        state = cluster.topics.topics.by_name[FORKED.topic].partitions[0]
        ends = {each.node_id: each.copies[FORKED].log for each in cluster.brokers if FORKED in each.copies}
        best = max(ends, key=lambda each: (ends[each].epochs.latest_epoch, ends[each].log_end_offset))
        assert (state.leader, state.isr) == (best, (best,))
        assert state.leader_epoch == ends[best].epochs.latest_epoch
        assert set(state.replicas) == set(ends)


def test_each_broker_hosts_its_own_side_of_a_fork() -> None:
    with FrozenCluster.open(brokers("diverged")) as cluster:
        hosted = {each.node_id: cluster.hosted[each.node_id].get(FORKED) for each in cluster.brokers}
        led = {node_id: each for node_id, each in hosted.items() if each is not None}
        assert sum(each.is_leader for each in led.values()) == 1
        assert len({bytes(each.log.read(each.log.log_end_offset - 1, 1 << 20).data) for each in led.values()}) > 1


def test_addresses_are_what_clients_are_told_of_brokers() -> None:
    with FrozenCluster.open(brokers("diverged")) as cluster:
        told = {each.node_id: {"PLAINTEXT": Address("here", 9000 + each.node_id)} for each in cluster.brokers}
        image = cluster.image(told)
        assert {each.id: each.listeners["PLAINTEXT"].port for each in image.brokers.values()} == {
            1: 9001,
            2: 9002,
            3: 9003,
        }
        assert all(each.is_active for each in image.brokers.values())
        assert not cluster.image({}).brokers


def test_topics_ids_and_settings_are_the_metadatas() -> None:
    with FrozenCluster.open(sorted(QUORUM.iterdir())) as cluster:
        directories = QUORUM.glob("controller-*/__cluster_metadata-0")
        furthest = max(map(load_image, directories), key=lambda each: (each.epoch, each.end_offset))
        assert cluster.metadata.image == furthest.image
        assert {topic.name: topic.id for topic in cluster.topics.topics} == {
            topic.name: topic.id for topic in furthest.image.topics
        }
        assert cluster.topics.configurations == furthest.image.configurations
        assert cluster.topics.features == furthest.image.features


def test_partitions_of_which_no_copy_is_there_have_no_leader() -> None:
    with FrozenCluster.open(sorted(QUORUM.glob("controller-*"))) as cluster:
        registered = cluster.metadata.image.topics.by_name["orders"].partitions[0]
        state = cluster.topics.topics.by_name["orders"].partitions[0]
        assert state.leader == -1
        assert state.replicas == registered.replicas


def test_topics_of_before_topic_ids_get_the_same_made_one_each_time(tmp_path: Path) -> None:
    root = tmp_path / "broker-1"
    shutil.copytree(brokers("diverged")[0], root)
    for each in root.rglob("partition.metadata"):
        each.unlink()
    with FrozenCluster.open([root]) as first, FrozenCluster.open([root]) as second:
        ids = [{topic.name: topic.id for topic in each.topics.topics} for each in (first, second)]
    assert ids[0] == ids[1]
    assert len(set(ids[0].values())) == len(ids[0])


def test_a_copy_of_another_topic_of_that_name_is_not_served(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    PartitionMetadata(uuid4()).write(tmp_path / "broker-3" / "codecs-0" / "partition.metadata")
    with FrozenCluster.open(sorted(tmp_path.iterdir())) as cluster:
        (found,) = cluster.unserved
        assert (found.partition, found.broker) == (TopicPartition("codecs", 0), "broker-3")
        assert isinstance(found.error, TopicIdsDifferError)
        assert TopicPartition("codecs", 0) not in cluster.hosted[cluster.brokers[2].node_id]


def test_two_copies_of_one_broker_or_copies_of_two_clusters_are_refused(tmp_path: Path) -> None:
    shutil.copytree(brokers("diverged")[0], tmp_path / "again")
    with pytest.raises(SameBrokerError):
        FrozenCluster.open([brokers("diverged")[0], tmp_path / "again"])
    shutil.copytree(brokers("diverged")[1], tmp_path / "other")
    properties = tmp_path / "other" / "meta.properties"
    properties.write_text(properties.read_text().replace("cluster.id=", "cluster.id=another"))
    with pytest.raises(DifferentClustersError):
        FrozenCluster.open([brokers("diverged")[0], tmp_path / "other"])


def test_directories_without_a_node_id_get_free_ones(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    for name in ("broker-2", "broker-3"):
        (tmp_path / name / "meta.properties").unlink()
    with FrozenCluster.open(sorted(tmp_path.iterdir())) as cluster:
        assert [each.node_id for each in cluster.brokers] == [1, 0, 2]


def test_damage_is_told_and_what_precedes_it_is_hosted(tmp_path: Path) -> None:
    expected = damaged("garbage_tail", tmp_path)
    with FrozenCluster.open(sorted(each for each in tmp_path.iterdir() if each.is_dir())) as cluster:
        told = {(each.broker, str(each.partition)) for each in cluster.unserved}
        assert told, json.dumps(expected)
        for broker in cluster.brokers:
            for partition, hosted in cluster.hosted[broker.node_id].items():
                assert (hosted.damage is not None) == ((broker.name, str(partition)) in told)


def test_nothing_is_written_and_no_file_changes_its_times(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    before = _everything(tmp_path)
    with FrozenCluster.open(sorted(tmp_path.iterdir()), LeaderChoice.ADVISE) as cluster:
        for broker in cluster.brokers:
            for hosted in cluster.hosted[broker.node_id].values():
                hosted.log.read(hosted.log.log_start_offset, 1 << 20)
    assert _everything(tmp_path) == before


def _everything(root: Path) -> dict[Path, tuple[int, int, str]]:
    return {
        each: (
            stat.st_mtime_ns,
            stat.st_ctime_ns,
            hashlib.sha256(each.read_bytes()).hexdigest() if each.is_file() else "",
        )
        for each in [root, *root.rglob("*")]
        for stat in [each.stat()]
    }


def with_a_flipped_bit(root: Path, partition: TopicPartition, number: int = 3) -> tuple[Path, Batch]:
    """Copy a broker that stopped cleanly, damage a batch, and return its file and what it was."""
    shutil.copytree(brokers("reconciled")[0], root)
    path = max((root / str(partition)).glob("*.log"))
    content = bytearray(path.read_bytes())
    victim = list(read_batches(memoryview(bytes(content))))[number]
    content[victim.position + victim.size - 1] ^= 1
    path.write_bytes(content)
    return path, victim


def test_a_damaged_batch_is_never_sent_and_those_who_come_there_are_told(tmp_path: Path) -> None:
    root, partition = tmp_path / "broker-1", TopicPartition("codecs", 0)
    _, victim = with_a_flipped_bit(root, partition)
    with FrozenCluster.open([root]) as cluster:
        hosted = cluster.hosted[cluster.brokers[0].node_id]
        answer = reading_apis(hosted, KnownCluster("id", 1, lambda: cluster.image({})))[fetch.API_KEY].answer
        offset, error = hosted[partition].log.log_start_offset, ErrorCode.NONE
        while error is ErrorCode.NONE:
            asked = FetchRequest(partitions={partition: FetchPartition(offset, 1 << 20)}, max_wait_ms=0)
            fetched = answer(asked, Call(12, Caller("127.0.0.1"))).partitions[partition]
            batches = list(read_batches(memoryview(fetched.records)))
            assert all(batch.is_valid() for batch in batches)
            error, offset = fetched.error, batches[-1].last_offset + 1 if batches else offset
        assert (error, offset) == (ErrorCode.CORRUPT_MESSAGE, victim.base_offset)


def test_damage_that_readers_come_upon_is_told_once(tmp_path: Path) -> None:
    root, partition = tmp_path / "broker-1", TopicPartition("codecs", 0)
    path, victim = with_a_flipped_bit(root, partition)
    told: list[Unserved] = []
    with FrozenCluster.open([root]) as cluster:
        cluster.damages.observer = told.append
        hosted = cluster.hosted[cluster.brokers[0].node_id]
        answer = reading_apis(hosted, KnownCluster("id", 1, lambda: cluster.image({})))[fetch.API_KEY].answer
        for offset in (victim.base_offset, victim.last_offset, victim.base_offset):
            asked = FetchRequest(partitions={partition: FetchPartition(offset, 1 << 20)}, max_wait_ms=0)
            answer(asked, Call(12, Caller("127.0.0.1")))
        (found,) = told
        assert (found.partition, found.broker, found.is_partly_served) == (partition, "broker-1", True)
        assert isinstance(found.error, CorruptBatchError)
        assert (found.error.file, found.error.position, found.error.offset) == (
            str(path),
            victim.position,
            victim.base_offset,
        )


@pytest.mark.parametrize("label", ["diverged", "reconciled"])
def test_a_check_reads_all_of_sound_copies_and_finds_nothing(label: str) -> None:
    with FrozenCluster.open(brokers(label)) as cluster:
        read = Counted()
        check_copies(cluster, read)
        assert not cluster.damages.found
        logs = [hosted.log for each in cluster.hosted.values() for hosted in each.values()]
        assert read.total == sum(map(served_bytes, logs))


def served_bytes(log: ReadableLog) -> int:
    files = sorted(log.directory.glob("*.log"))
    batches = (batch for file in files for batch in read_batches(memoryview(file.read_bytes())))
    return sum(batch.size for batch in batches if log.log_start_offset <= batch.last_offset < log.log_end_offset)


class Counted:
    def __init__(self) -> None:
        self._lock = Lock()
        self.total = 0

    def __call__(self, amount: int) -> None:
        with self._lock:
            self.total += amount


def test_a_check_finds_each_damaged_copy_with_its_first_damage(tmp_path: Path) -> None:
    root, partition = tmp_path / "broker-1", TopicPartition("codecs", 0)
    path, victim = with_a_flipped_bit(root, partition)
    other = next(each for each in sorted(root.glob("*-*/*.log")) if each.stat().st_size and each.parent != path.parent)
    content = bytearray(other.read_bytes())
    content[-1] ^= 1
    other.write_bytes(content)
    with FrozenCluster.open([root]) as cluster:
        assert cluster.unchecked_bytes == sum(each.stat().st_size for each in root.glob("*-*/*.log"))
        check_copies(cluster)
        found = {(each.broker, each.error.file, each.error.position) for each in cluster.damages.found}  # type: ignore[attr-defined]
        last = list(read_batches(memoryview(other.read_bytes())))[-1]
        assert found == {("broker-1", str(path), victim.position), ("broker-1", str(other), last.position)}


def test_a_check_ends_by_what_its_caller_raises() -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    with FrozenCluster.open(brokers("diverged")) as cluster, pytest.raises(KeyboardInterrupt):
        check_copies(cluster, stop)


def test_after_a_crash_what_recovery_has_checked_needs_no_other_look(tmp_path: Path) -> None:
    shutil.copytree(brokers("reconciled")[0], tmp_path / "broker-1")
    (tmp_path / "broker-1" / ".kafka_cleanshutdown").unlink()
    (tmp_path / "broker-1" / "recovery-point-offset-checkpoint").unlink()
    with FrozenCluster.open([tmp_path / "broker-1"]) as cluster:
        assert cluster.unchecked_bytes == 0


def test_a_copy_that_cannot_be_opened_is_named_and_its_readers_are_told(tmp_path: Path) -> None:
    damaged("epoch_checkpoint_unparsable", tmp_path)
    with FrozenCluster.open(sorted(each for each in tmp_path.iterdir() if each.is_dir())) as cluster:
        (found,) = cluster.unserved
        broker = next(each for each in cluster.brokers if each.name == found.broker)
        hosted = cluster.hosted[broker.node_id]
        assert found.partition in hosted.offline
        answer = reading_apis(hosted, KnownCluster("id", 1, lambda: cluster.image({})))[fetch.API_KEY].answer
        asked = FetchRequest(partitions={found.partition: FetchPartition(0, 1 << 20)}, max_wait_ms=0)
        fetched = answer(asked, Call(12, Caller("127.0.0.1"))).partitions[found.partition]
        assert fetched.error is ErrorCode.KAFKA_STORAGE_ERROR


def test_groups_that_are_read_only_up_to_damage_are_told_of(tmp_path: Path) -> None:
    shutil.copytree(OFFSETS, tmp_path / "broker-1")
    path = tmp_path / "broker-1" / "__consumer_offsets-0" / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    (tmp_path / "broker-1" / ".kafka_cleanshutdown").touch()
    with FrozenCluster.open([tmp_path / "broker-1"]) as cluster, ClusterServer(cluster, saved_groups=True):
        (found,) = cluster.damages.found
        assert (str(found.partition), found.error.file) == ("__consumer_offsets-0", str(path))  # type: ignore[attr-defined]


def test_copies_that_cannot_be_listed_are_named_with_their_broker(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path / "copies")
    shutil.copytree(brokers("diverged")[0] / "codecs-0", tmp_path / "codecs-0")
    for name in ("broker-1", "broker-2"):
        shutil.rmtree(tmp_path / "copies" / name / "codecs-0")
        (tmp_path / "copies" / name / "codecs-0").symlink_to(tmp_path / "codecs-0")
    with FrozenCluster.open(sorted((tmp_path / "copies").iterdir())) as cluster:
        told = {(each.broker, str(each.partition)) for each in cluster.unserved}
        assert told == {("broker-1", "codecs-0"), ("broker-2", "codecs-0")}


def test_a_copy_of_which_it_cannot_be_read_whose_it_is_is_named_and_counts_as_another_broker(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged"), tmp_path, dirs_exist_ok=True)
    properties = tmp_path / "broker-2" / "meta.properties"
    properties.write_text("version=7\n")
    (tmp_path / "broker-3" / "meta.properties").unlink()
    with FrozenCluster.open(sorted(tmp_path.iterdir())) as cluster:
        ((name, error),) = cluster.unidentified
        assert (name, error.file) == ("broker-2", str(properties))  # type: ignore[attr-defined]
        assert [each.node_id for each in cluster.brokers] == [1, 0, 2]


def test_clients_are_told_the_features_of_the_metadata_and_of_when_they_are() -> None:
    with FrozenCluster.open(sorted(QUORUM.iterdir())) as cluster, ClusterServer(cluster) as server:
        (address,) = server.addresses.values()
        with Client(address) as client:
            client._exchange.versions = ApiVersions({api_versions.API_KEY: api_versions.VERSIONS})
            told = client.ask(ApiVersionsRequest(client_software_name="tests", client_software_version="1"))
        assert cluster.metadata.image.features
        assert told.finalized_features == {
            name: range(level, level + 1) for name, level in cluster.metadata.image.features.items()
        }
        assert told.finalized_features_epoch == cluster.metadata.end_offset - 1
