"""Who asks the cluster for leaders, how often, and whom."""

from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import pytest

from logstore import Log, TopicPartition
from replication.cluster.fetcher.decisions.fetch_state import FetchState
from replication.cluster.fetcher.fetcher_manager import FetcherManager, LeaderAddress
from replication.cluster.fetcher.leader_doubts import LeaderDoubts
from replication.cluster.fetcher.leader_tracker import LeaderTracker
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.messages.metadata import ClusterMetadata
from tests.replication.cluster.fetcher.test_leader_changes import metadata

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

    def state(self, partition: TopicPartition) -> Any:
        return self.states.get(partition)

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


class LogOf:
    """A log of which the latest batch is of some epoch."""

    def __init__(self, latest_epoch: int | None) -> None:
        history = SimpleNamespace(latest_epoch=latest_epoch)
        self.epochs = SimpleNamespace(history=history)


class Mistaken:
    """A cluster that tells of an epoch far too high, once."""

    def __init__(self) -> None:
        self.leader_epoch = 2**31 - 1

    def metadata(self, _: list[str]) -> ClusterMetadata:
        told, self.leader_epoch = self.leader_epoch, 5
        return metadata(1, told)


TOLD_IN_VAIN = 20


def epochs_followed(manager: Manager, log: LogOf) -> list[int]:
    tracker = LeaderTracker(cast("ClusterClient", Mistaken()), cast("FetcherManager", manager))
    tracker.track(PARTITION, cast("Log", log))
    for _ in range(TOLD_IN_VAIN):
        tracker.refresh()
    return [leader_epoch for _, leader_epoch in manager.followed]


@pytest.mark.parametrize("latest_epoch", [None, 0, 5])
def test_an_epoch_that_was_told_once_and_never_again_is_given_up(manager: Manager, latest_epoch: int | None) -> None:
    assert epochs_followed(manager, LogOf(latest_epoch)) == [2**31 - 1, 5]


def test_a_leader_that_answers_is_followed_whatever_metadata_says(manager: Manager) -> None:
    manager.states[PARTITION] = FetchState(2**31 - 1, 0, lag=0)
    assert epochs_followed(manager, LogOf(None)) == [2**31 - 1]


def test_no_older_leader_is_followed_than_the_one_that_wrote_last(manager: Manager) -> None:
    assert epochs_followed(manager, LogOf(6)) == [2**31 - 1]


def test_metadata_that_is_late_now_and_then_changes_nothing(manager: Manager) -> None:
    """Brokers hear of elections one after the other; it takes several in a row to go back."""
    cluster = Cluster()
    tracker = LeaderTracker(cast("ClusterClient", cluster), cast("FetcherManager", manager))
    tracker.track(PARTITION, cast("Log", LogOf(None)))
    for number in range(TOLD_IN_VAIN):
        cluster.is_first = number % 5 > 0
        tracker.refresh()
    assert manager.followed == [(2, 5)]
