"""A controller's own snapshots, as who follows it and its next start see them (KIP-630)."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from logstore import Log
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.standalone import stored_metadata
from replication.cluster.standalone.controller_snapshot_thread import ControllerSnapshotThread
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.fetch import SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from tests.replication.cluster.standalone.quorum.led import CLUSTER, Led, fetch, told

FOLLOWER = 7


@pytest.fixture
def led(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Led]:
    monkeypatch.setattr(stored_metadata.StoredMetadata.__init__, "__defaults__", (1_000,))
    monkeypatch.setattr(ControllerSnapshotThread, "_take_snapshot", lambda _: None)  # `grow` does, when it is to be
    with closing(Led(tmp_path)) as led:
        yield led


def follow(led: Led, followed: FollowedMetadata) -> int:
    """Ask until it stands where the controller does; return how often."""
    with Connection.open(led.address) as connection:
        for asked in range(50):
            request: Any = followed.request()
            followed.take(connection.ask(request))
            if followed.applied_offset == led.node.controller.published.applied_offset:
                return asked + 1
    raise AssertionError(f"{followed.applied_offset} has been applied")


def grow(led: Led) -> None:
    """Write so much that a snapshot is due, and let it be taken."""
    for each in range(20):
        led.write(1_000 + each)
    led.node.controller.take_due_snapshot()


def piece_of(led: Led, snapshot_id: SnapshotId) -> FetchSnapshotResponse:
    """Ask for a snapshot, from its beginning on."""
    epoch = led.node.server.quorum.leader.leader_epoch
    asked = FetchSnapshotRequest(
        partition=METADATA_PARTITION,
        snapshot_id=snapshot_id,
        position=0,
        max_bytes=1 << 20,
        current_leader_epoch=epoch,
        replica_id=FOLLOWER,
    )
    answer: FetchSnapshotResponse = led.ask(asked)
    return answer


def log_start(root: Path) -> int:
    with Log.reader(root / str(METADATA_PARTITION)) as log:
        return log.log_start_offset


def test_a_snapshot_that_is_being_fetched_is_given_after_the_next_was_taken_and_after_a_start(led: Led) -> None:
    grow(led)
    snapshot_id = led.node.server.quorum.snapshot_id
    assert snapshot_id is not None
    piece = piece_of(led, snapshot_id)
    grow(led)
    assert led.node.server.quorum.snapshot_id != snapshot_id
    assert piece_of(led, snapshot_id).data == piece.data != b""
    led.restart()
    assert piece_of(led, snapshot_id).data == piece.data
    grow(led)
    assert piece_of(led, snapshot_id).error is ErrorCode.SNAPSHOT_NOT_FOUND


def test_where_a_snapshot_takes_the_place_of_records_that_are_about_to_be_read_it_is_named(
    led: Led, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(led)
    quorum = led.node.server.quorum
    before = quorum.state()
    grow(led)
    monkeypatch.setattr(type(quorum), "state", lambda _: before)
    fetched = told(led.ask(fetch(5, 0, 0)))
    assert fetched.log_start_offset > 5
    assert fetched.snapshot_id == quorum.snapshot_id is not None


@pytest.mark.parametrize("is_new", [True, False], ids=["a new follower", "one that is far behind"])
def test_who_lacks_what_is_no_longer_in_the_log_gets_the_snapshot(led: Led, tmp_path: Path, is_new: bool) -> None:
    copy = tmp_path / "copy"
    if not is_new:
        with FollowedMetadata.open(FOLLOWER, CLUSTER, copy) as followed:
            follow(led, followed)
    grow(led)
    grow(led)
    assert led.node.controller.metadata.log.log_start_offset > 0
    led.write(2_000)
    with FollowedMetadata.open(FOLLOWER, CLUSTER, copy) as followed:
        follow(led, followed)
        assert followed.image == led.image
    snapshot = led.node.controller.metadata.snapshot
    assert snapshot is not None
    assert log_start(copy) == snapshot.end_offset


def test_who_is_not_far_behind_goes_on_by_the_log(led: Led, tmp_path: Path) -> None:
    grow(led)
    with FollowedMetadata.open(FOLLOWER, CLUSTER, tmp_path / "copy") as followed:
        follow(led, followed)
        start = log_start(tmp_path / "copy")
        grow(led)
        led.write(2_000)
        follow(led, followed)
        assert followed.image == led.image
    assert log_start(tmp_path / "copy") == start


def test_who_is_in_an_earlier_epoch_than_the_snapshot_goes_on_by_the_log(led: Led, tmp_path: Path) -> None:
    grow(led)
    with FollowedMetadata.open(FOLLOWER, CLUSTER, tmp_path / "copy") as followed:
        follow(led, followed)
        start = log_start(tmp_path / "copy")
        led.restart()
        grow(led)
        led.restart()
        follow(led, followed)
        assert followed.image == led.image
    assert led.node.server.quorum.state().log_start_offset > 0
    assert log_start(tmp_path / "copy") == start


def test_a_controller_goes_on_from_its_own_snapshot_and_so_does_who_followed_it(led: Led, tmp_path: Path) -> None:
    with FollowedMetadata.open(FOLLOWER, CLUSTER, tmp_path / "copy") as followed:
        follow(led, followed)
        for each in range(3):
            grow(led)
            follow(led, followed)
            led.restart()
            led.write(3_000 + each)
            follow(led, followed)
            assert followed.image == led.image
        assert log_start(tmp_path / "copy") == 0
