"""A controller that writes its decisions to a log of its own."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from epoch.filesystem import FileSystem
from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.controller.decision import Decision
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.topics import NewTopic
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.standalone.errors import ControllerFailedError
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.leadership.rules import ELR_FEATURE
from replication.records.metadata.records.control import KRaftVersion
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.standalone.joining import CLUSTER, Clock, join


class FullDisk(FileSystem):
    """Has no room once it is told so."""

    def __init__(self) -> None:
        self.is_full = False

    def write(self, descriptor: int, data: bytes | bytearray | memoryview) -> None:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        super().write(descriptor, data)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def metadata(tmp_path: Path) -> Iterator[StoredMetadata]:
    metadata = StoredMetadata.open(tmp_path)
    yield metadata
    metadata.close()


@pytest.fixture
def controller(metadata: StoredMetadata, clock: Clock) -> StaticController:
    controller = StaticController(CLUSTER, metadata, clock=clock)
    begin_cluster(controller)
    return controller


def make(controller: StaticController, name: str) -> ErrorCode:
    (answer,) = controller.decide(lambda deciding: deciding.create_topics([NewTopic(name)]))
    return answer.error


def test_a_decision_is_published_and_there_after_a_restart(
    tmp_path: Path, controller: StaticController, metadata: StoredMetadata, clock: Clock
) -> None:
    assert join(controller, clock, 1) is ErrorCode.NONE
    assert make(controller, "orders") is ErrorCode.NONE
    topic = controller.published.image.topics.by_name["orders"]
    metadata.close()
    again = StoredMetadata.open(tmp_path)
    restarted = StaticController(CLUSTER, again, clock=clock)
    assert restarted.published.image.topics.by_name["orders"] == topic
    assert make(restarted, "orders") is ErrorCode.TOPIC_ALREADY_EXISTS
    again.close()


def test_what_is_refused_changes_nothing(controller: StaticController) -> None:
    before = controller.published
    with pytest.raises(Refusal, match="BROKER_ID_NOT_REGISTERED"):
        controller.decide(lambda deciding: deciding.unregister_broker(5))
    assert controller.published is before


def test_a_feed_begins_with_all_and_goes_on_with_what_changes(controller: StaticController, clock: Clock) -> None:
    join(controller, clock, 1)
    waiter = ThreadWaiter()
    feed = controller.feed(waiter)
    first = feed.take()
    assert first is not None
    assert first.changes.brokers == {1}
    assert feed.take() is None
    make(controller, "orders")
    make(controller, "payments")
    assert waiter.wait(0)
    news = feed.take()
    assert news is not None
    assert {news.image.topics.by_id[each].name for each in news.changes.topics} == {"orders", "payments"}
    feed.close()
    make(controller, "third")
    assert feed.take() is None


def test_a_broker_whose_session_has_run_out_is_fenced(controller: StaticController, clock: Clock) -> None:
    join(controller, clock, 1)
    clock.now += 9_000
    controller.tick()
    assert not controller.published.image.brokers[1].fenced
    clock.now += 1
    controller.tick()
    assert controller.published.image.brokers[1].fenced


def test_another_start_of_a_broker_waits_for_its_session_unless_that_is_known_to_be_over(
    controller: StaticController, clock: Clock
) -> None:
    join(controller, clock, 1)
    assert join(controller, clock, 1, incarnation=2) is ErrorCode.DUPLICATE_BROKER_REGISTRATION
    controller.end_session(1)
    assert join(controller, clock, 1, incarnation=2) is ErrorCode.NONE


@pytest.mark.parametrize("with_elr", [True, False])
def test_what_a_cluster_begins_with_is_said_once(metadata: StoredMetadata, with_elr: bool) -> None:
    controller = StaticController(CLUSTER, metadata)
    for _ in range(2):
        begin_cluster(controller, eligible_leader_replicas=with_elr)
    image = controller.published.image
    assert (ELR_FEATURE in image.features) is with_elr
    assert controller.published.applied_offset == len(image.features)  # those, and how many must be in sync


def test_once_the_log_could_not_be_written_nothing_is_decided(tmp_path: Path, clock: Clock) -> None:
    disk = FullDisk()
    metadata = StoredMetadata(LocalMetadata.open(tmp_path, disk))
    controller = StaticController(CLUSTER, metadata, clock=clock)
    begin_cluster(controller)
    join(controller, clock, 1)
    disk.is_full = True
    with pytest.raises(ControllerFailedError, match="No space left"):
        make(controller, "orders")
    disk.is_full = False
    with pytest.raises(ControllerFailedError, match="No space left"):
        make(controller, "orders")
    assert "orders" not in controller.published.image.topics.by_name


def test_what_it_announces_moves_the_offset_of_the_metadata_alone(
    controller: StaticController, metadata: StoredMetadata
) -> None:
    begin_cluster(controller)
    before, waiter = controller.published, ThreadWaiter()
    feed = controller.feed(waiter)
    feed.take()
    controller.announce(KRaftVersion(k_raft_version=1))
    assert controller.published.image == before.image
    assert controller.published.applied_offset == before.applied_offset + 1
    assert waiter.wait(0)
    news = feed.take()
    assert news is not None
    assert news.applied_offset == before.applied_offset + 1
    assert metadata.next_offset == before.applied_offset + 2
    assert controller.decide(lambda deciding: Decision([], deciding.next_offset)) == metadata.next_offset
