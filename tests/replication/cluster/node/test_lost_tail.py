"""A broker whose disk has lost acknowledged records is never elected as one that has them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import TopicPartition
from tests.disk import FullAtSyncs
from tests.replication.cluster.node.remote_cluster import RemoteCluster
from tests.replication.cluster.standalone.clients import SECONDS, produce, read

ORDERS = TopicPartition("orders", 0)
LEADER, FOLLOWER = 1, 2


@pytest.fixture
def disk() -> FullAtSyncs:
    return FullAtSyncs()


@pytest.fixture
def cluster(tmp_path: Path, disk: FullAtSyncs) -> Iterator[RemoteCluster]:
    """Two brokers, both in sync, which flush each batch, so that a disk may tell of its lack of space late."""
    with RemoteCluster(tmp_path) as cluster:
        cluster.stop(FOLLOWER)
        cluster.disks[FOLLOWER] = disk
        cluster.start(FOLLOWER)
        config = {"min.insync.replicas": "2", "flush.messages": "1"}
        topic = NewTopic("orders", 1, replica_assignment=[[LEADER, FOLLOWER]], config=config)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([topic])["orders"].result(SECONDS)
        cluster.wait_until(lambda: cluster.partition("orders").isr == (LEADER, FOLLOWER))
        yield cluster


def is_offline(cluster: RemoteCluster) -> bool:
    """Whether the follower does not serve the partition, in whatever role the controller gave it last."""
    node = cluster.brokers[FOLLOWER].node
    known = node.image.topics.by_name["orders"].partitions[0] == cluster.partition("orders")
    return known and ORDERS in node.replicas.hosted.offline


def test_what_a_full_disk_has_lost_comes_back_from_who_has_it(cluster: RemoteCluster, disk: FullAtSyncs) -> None:
    """Not in the ISR any more it is eligible (KIP-966), until it was started again and has caught up."""
    assert not produce(cluster.bootstrap, "orders", [b"first"])
    (segment,) = cluster.brokers[FOLLOWER].directories.roots[0].root.glob("orders-0/*.log")
    size = segment.stat().st_size
    assert not produce(cluster.bootstrap, "orders", [b"second"])
    disk.is_full = True
    assert not produce(cluster.bootstrap, "orders", [b"third"], acks=1)
    cluster.wait_until(lambda: is_offline(cluster))
    os.truncate(segment, size)
    disk.is_full = False
    cluster.wait_until(lambda: cluster.brokers[FOLLOWER].node.replicas.has_lost_tail)
    cluster.wait_until(lambda: cluster.partition("orders").elr == (FOLLOWER,))
    cluster.wait_until(lambda: is_offline(cluster))
    cluster.stop(LEADER)
    cluster.wait_until(lambda: cluster.partition("orders").leader == FOLLOWER)
    cluster.wait_until(lambda: is_offline(cluster))
    cluster.stop(FOLLOWER)
    cluster.start(FOLLOWER)
    assert FOLLOWER not in (*cluster.partition("orders").isr, *cluster.partition("orders").elr)
    cluster.start(LEADER)
    cluster.wait_until(lambda: set(cluster.partition("orders").isr) == {LEADER, FOLLOWER})
    assert [each.value for each in read(cluster.bootstrap, "orders")] == [b"first", b"second", b"third"]
