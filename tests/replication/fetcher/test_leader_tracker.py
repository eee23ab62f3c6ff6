"""Who asks the cluster for leaders, how often, and whom."""

from collections.abc import Iterator
from threading import Event
from typing import Any, cast

import pytest

from logstore import Log, TopicPartition
from replication.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.fetcher.leader_doubts import LeaderDoubts
from replication.fetcher.leader_tracker import LeaderTracker
from replication.protocol.cluster_client import ClusterClient
from replication.protocol.metadata import ClusterMetadata
from tests.replication.fetcher.test_leader_changes import metadata

PARTITION = TopicPartition("orders", 0)
LOOKS = 400


class Cluster:
    """Two brokers that tell of leaders: the first has missed the election of broker 2 in epoch 5."""

    def __init__(self) -> None:
        self.is_first = True

    def metadata(self, topics: list[str]) -> ClusterMetadata:
        assert topics == ["orders"]
        return metadata(1, 4) if self.is_first else metadata(2, 5)

    def ask_another(self) -> None:
        self.is_first = not self.is_first


class Manager:
    """Follows nobody, and doubts the leader of epoch 4."""

    def __init__(self) -> None:
        self.doubts = LeaderDoubts()
        self.states: dict[TopicPartition, Any] = {}
        self.followed: list[tuple[int, int]] = []
        self.found = Event()

    def follow(self, partition: TopicPartition, _: Log, leader: LeaderAddress, leader_epoch: int, __: object) -> None:
        self.followed.append((leader.broker_id, leader_epoch))
        if leader_epoch == 5:
            self.found.set()
        else:
            self.doubts.add(partition)


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def cluster() -> Cluster:
    return Cluster()


@pytest.fixture
def tracker(cluster: Cluster, manager: Manager) -> Iterator[LeaderTracker]:
    made = LeaderTracker(cast("ClusterClient", cluster), cast("FetcherManager", manager))
    yield made
    made.stop()


def test_where_a_broker_has_missed_an_election_another_is_asked(
    tracker: LeaderTracker, cluster: Cluster, manager: Manager
) -> None:
    tracker.track(PARTITION, cast("Log", object()))
    tracker.start()
    for _ in range(LOOKS):
        if manager.found.wait(0.05):
            break
        # As a fetcher does whom the former leader refuses again and again.
        manager.doubts.add(PARTITION)
    assert manager.followed == [(1, 4), (2, 5)]
    assert not cluster.is_first
