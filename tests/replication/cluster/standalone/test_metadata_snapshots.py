"""After so many bytes of records the metadata is written as a whole, and its log does not grow for ever."""

from contextlib import closing
from pathlib import Path
from threading import Event
from uuid import uuid4

import pytest

from logstore import Log
from logstore.append.encoding import encode_batch
from logstore.batch.batch_template import BatchTemplate
from logstore.log.state.waiters import ThreadWaiter
from replication.cluster.controller.decision import Decision
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.standalone.controller_snapshot_thread import ControllerSnapshotThread
from replication.cluster.standalone.controller_work import at_work
from replication.cluster.standalone.new_cluster import begin_cluster
from replication.cluster.standalone.static_controller import StaticController
from replication.cluster.standalone.stored_metadata import StoredMetadata
from replication.records.metadata.control_messages import encode_control
from replication.records.metadata.image_publisher import PublishedImage
from replication.records.metadata.loading import load_image, load_snapshot
from replication.records.metadata.records import TopicRecord
from replication.records.metadata.records.control import KRaftVersion, Voters
from replication.records.metadata.snapshot import MetadataSnapshot
from tests.replication.cluster.standalone.joining import CLUSTER, Clock, join

SECONDS = 60
SESSION_MS = 9_000


def make(controller: StaticController, name: str) -> None:
    record = TopicRecord(name=name, topic_id=uuid4())
    controller.decide(lambda _: Decision([record], None))


def snapshots(root: Path) -> list[MetadataSnapshot]:
    return [MetadataSnapshot.at(path) for path in sorted(root.glob("__cluster_metadata-0/*.checkpoint"))]


def make_and_tell(controller: StaticController, name: str) -> int:
    make(controller, name)
    return controller.published.applied_offset


def started(root: Path) -> tuple[StaticController, StoredMetadata]:
    metadata = StoredMetadata(LocalMetadata.open(root), snapshot_bytes=1_000)
    controller = StaticController(CLUSTER, metadata)
    begin_cluster(controller)
    return controller, metadata


def grow(controller: StaticController, name: str) -> None:
    for number in range(15):
        make(controller, f"{name}-{number}")


def test_they_say_all_that_was_decided(tmp_path: Path) -> None:
    controller, metadata = started(tmp_path)
    controller.take_due_snapshot()
    assert snapshots(tmp_path) == []
    grow(controller, "orders")
    controller.take_due_snapshot()
    (first,) = snapshots(tmp_path)
    taken = controller.published
    assert load_snapshot(first).image.frozen() == taken.image
    controller.take_due_snapshot()
    assert snapshots(tmp_path) == [first]
    make(controller, "payments")
    metadata.close()
    again, metadata = started(tmp_path)
    assert again.published.image.topics.by_name.keys() == controller.published.image.topics.by_name.keys()
    assert make_and_tell(again, "later") == metadata.next_offset - 1
    metadata.close()


def test_the_log_begins_where_the_one_before_has_ended(tmp_path: Path) -> None:
    controller, metadata = started(tmp_path)
    ends = []
    for name in ("a", "b", "c"):
        grow(controller, name)
        controller.take_due_snapshot()
        ends.append(controller.published.applied_offset + 1)
    assert [each.end_offset for each in snapshots(tmp_path)] == ends[1:]
    metadata.close()
    with Log.reader(tmp_path / "__cluster_metadata-0") as log:
        assert log.log_start_offset == ends[1]
    assert load_image(tmp_path / "__cluster_metadata-0").image.frozen() == controller.published.image
    again, metadata = started(tmp_path)
    assert again.published.image == controller.published.image
    assert [each.end_offset for each in snapshots(tmp_path)] == ends[1:], "the log begins after the earlier one"
    metadata.close()


def test_they_keep_what_the_log_says_of_voters(tmp_path: Path) -> None:
    said = [KRaftVersion(k_raft_version=1), Voters(voters=())]
    with Log.open(tmp_path / "__cluster_metadata-0", replicated=True) as log:
        records = [encode_control(each, 5) for each in said]
        log.append_batches(encode_batch(records, BatchTemplate(base_offset=0, leader_epoch=1, is_control=True)))
    controller, metadata = started(tmp_path)
    for name in ("a", "b"):
        grow(controller, name)
        controller.take_due_snapshot()
        held = [each for each in snapshots(tmp_path)[-1].control_messages() if isinstance(each, type(said[0]) | Voters)]
        assert held == said
    metadata.close()


def test_what_its_thread_cannot_write_is_told_and_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    controller, metadata = started(tmp_path)

    def fail() -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(controller, "take_due_snapshot", fail)
    thread = ControllerSnapshotThread(controller)
    thread._round()
    thread._round()
    assert caplog.text.count("no snapshot of the metadata could be taken") == 1
    assert controller.failure is None
    metadata.close()


def test_brokers_are_fenced_in_time_while_one_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = StoredMetadata(LocalMetadata.open(tmp_path), snapshot_bytes=1_000)
    clock = Clock()
    controller = StaticController(CLUSTER, metadata, clock=clock)
    begin_cluster(controller)
    join(controller, clock, 1)
    grow(controller, "orders")
    begun, goes_on, waiter = Event(), Event(), ThreadWaiter()
    take_snapshot = metadata.take_snapshot

    def hold_up(published: PublishedImage) -> None:
        begun.set()
        goes_on.wait()
        take_snapshot(published)

    monkeypatch.setattr(metadata, "take_snapshot", hold_up)
    with closing(metadata), closing(controller.feed(waiter)), at_work(controller):
        try:
            assert begun.wait(SECONDS)
            clock.now += SESSION_MS + 1
            while not controller.published.image.brokers[1].fenced:
                assert waiter.wait(SECONDS), "nothing was decided"
        finally:
            goes_on.set()
