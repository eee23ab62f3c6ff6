"""A leader and a follower whose disk is full say so once, and go on by themselves."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from replication.cluster.broker.events.event_log import FIELDS, LOGGER_NAME
from tests.replication.cluster.node.metrics.scraping import looked_at
from tests.replication.cluster.node.remote_cluster import RemoteCluster
from tests.replication.cluster.standalone.clients import SECONDS, produce, read
from tests.small_disk import SmallDisk

FULL, ROOMY = 1, 2


@pytest.fixture
def disk(tmp_path: Path) -> SmallDisk:
    return SmallDisk(tmp_path, is_mounted=False)


@pytest.fixture
def cluster(tmp_path: Path, disk: SmallDisk) -> Iterator[RemoteCluster]:
    """Two brokers, of which the first has one partition to lead and one to follow."""
    with RemoteCluster(tmp_path) as cluster:
        cluster.stop(FULL)
        cluster.disks[FULL] = disk
        cluster.start(FULL)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        topics = [
            NewTopic("led", 1, replica_assignment=[[FULL]]),
            NewTopic("followed", 1, replica_assignment=[[ROOMY, FULL]]),
        ]
        for made in admin.create_topics(topics).values():
            made.result(SECONDS)
        cluster.wait_until(lambda: cluster.partition("followed").isr == (ROOMY, FULL))
        yield cluster


def of_disks(caplog: pytest.LogCaptureFixture) -> list[dict[str, object]]:
    fields = [getattr(record, FIELDS) for record in caplog.records if record.name == LOGGER_NAME]
    return [each for each in fields if each.get("what") == "disk"]


def is_full(cluster: RemoteCluster, root: Path) -> float:
    return looked_at(cluster.brokers[FULL].node).value("epochlog_broker_log_directory_full", logDirectory=root)


@pytest.mark.parametrize("topic", ["led", "followed"])
def test_it_is_told_once_and_all_goes_on(
    cluster: RemoteCluster, disk: SmallDisk, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    root = cluster.brokers[FULL].directories.roots[0].root
    assert is_full(cluster, root) == 0
    with caplog.at_level(logging.INFO, LOGGER_NAME):
        disk.fill()
        produce(cluster.bootstrap, topic, [b"during"], acks=1, **{"message.timeout.ms": 2_000})
        cluster.wait_until(lambda: len(of_disks(caplog)) == 1)
        assert is_full(cluster, root) == 1
        disk.make_space()
        cluster.wait_until(lambda: len(of_disks(caplog)) == 2)
    began, ended = of_disks(caplog)
    assert (began["event"], began["peer"]) == ("trouble", str(root))
    assert str(began["why"]).startswith(f"No space left on device: {root}/")
    assert (ended["event"], ended["peer"], is_full(cluster, root)) == ("trouble-over", str(root), 0)
    assert not produce(cluster.bootstrap, topic, [b"after"], acks="all")
    assert [each.value for each in read(cluster.bootstrap, topic)][-1] == b"after"
