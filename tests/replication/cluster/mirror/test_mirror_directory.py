"""A mirror's root says whose it is, and no other root is written."""

import shutil
from pathlib import Path
from uuid import uuid4

import pytest

from logstore import MetaProperties, Record, TopicPartition
from logstore.offline.offline_log_directory import open_offline
from logstore.verify import verify
from replication.cluster.mirror.errors import ForeignDirectoryError
from replication.cluster.mirror.mirror_directory import MIRROR_NODE_ID, open_mirror_directory
from tests.data.replicas import replicas

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def test_a_new_root_is_made_with_its_properties_and_verify_finds_nothing_wrong(tmp_path: Path) -> None:
    root = tmp_path / "some" / "where"
    with open_mirror_directory(root, CLUSTER) as directory:
        log = directory.create(TopicPartition("orders", 0), topic_id=uuid4())
        log.append([Record.of(b"1")], leader_epoch=3)
    known = MetaProperties.read(root / "meta.properties")
    assert (known.version, known.cluster_id, known.node_id) == (1, CLUSTER, MIRROR_NODE_ID)
    assert known.directory_id is not None
    assert list(verify(open_offline(root))) == []


def test_a_root_is_opened_again_as_it_was(tmp_path: Path) -> None:
    with open_mirror_directory(tmp_path, CLUSTER, 7) as directory:
        directory.create(TopicPartition("orders", 0)).append([Record.of(b"1")], leader_epoch=3)
    before = (tmp_path / "meta.properties").read_bytes()
    with open_mirror_directory(tmp_path, CLUSTER, 7) as directory:
        assert directory.log(TopicPartition("orders", 0)).log_end_offset == 1
    assert (tmp_path / "meta.properties").read_bytes() == before


def test_nothing_is_deleted_by_age(tmp_path: Path) -> None:
    with open_mirror_directory(tmp_path, CLUSTER) as directory:
        log = directory.create(TopicPartition("orders", 0))
        log.append([Record(0, 1, None, b"old")], leader_epoch=0)
        log.roll()
        log.update_high_watermark(1)
        directory.enforce_retention()
        assert log.log_start_offset == 0


def test_the_root_of_another_cluster_is_refused(tmp_path: Path) -> None:
    open_mirror_directory(tmp_path, CLUSTER).close()
    with pytest.raises(ForeignDirectoryError, match=f"to cluster {CLUSTER}, but the brokers to another"):
        open_mirror_directory(tmp_path, "another")


def test_a_brokers_own_root_is_refused(tmp_path: Path) -> None:
    shutil.copytree(replicas("diverged") / "broker-1", tmp_path / "broker-1")
    with pytest.raises(ForeignDirectoryError, match="belongs to node 1, but this mirror is node"):
        open_mirror_directory(tmp_path / "broker-1", CLUSTER)


def test_partitions_of_nobody_known_are_refused(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    with pytest.raises(ForeignDirectoryError, match="holds partitions"):
        open_mirror_directory(tmp_path, CLUSTER)
