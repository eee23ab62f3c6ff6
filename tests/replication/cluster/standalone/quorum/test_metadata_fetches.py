"""What an observer is answered that fetches the metadata, or a snapshot of it, over a connection."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest

from epoch import EndOffset
from logstore import TopicPartition
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.standalone.quorum.controller_server import quorum_messages
from replication.cluster.standalone.quorum.standalone_controller import StandaloneController
from replication.records.metadata.loading import load_image
from replication.records.metadata.snapshot import write_snapshot
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_quorum import DescribeQuorumRequest, QuorumListener
from replication.wire.messages.fetch import SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotRequest
from tests.replication.cluster.standalone.quorum.led import CLUSTER, NODE, Led, fetch, told
from tests.replication.cluster.standalone.quorum.test_controller_server import follow

SAID = 3
"""How many records say of the quorum what it is, at each start."""
BEGUN = 3 + SAID
"""How many a new cluster begins with."""


@pytest.fixture
def led(tmp_path: Path) -> Iterator[Led]:
    with closing(Led(tmp_path)) as led:
        yield led


def test_an_empty_copy_gets_all_with_the_high_watermark_and_who_leads(led: Led) -> None:
    answer = led.ask(fetch(0, 0, 0))
    fetched = told(answer)
    assert fetched.error is ErrorCode.NONE
    assert fetched.high_watermark == BEGUN
    assert bytes(fetched.records) == (led.log / "00000000000000000000.log").read_bytes()
    assert fetched.current_leader == (NODE, 0)
    assert answer.leaders == {NODE: led.address}


@pytest.mark.parametrize(("epoch", "error"), [(0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_who_takes_another_epoch_for_the_current_one_is_told_which_is(led: Led, epoch: int, error: ErrorCode) -> None:
    led.restart()
    answer = led.ask(fetch(BEGUN, epoch, 0))
    assert told(answer).error is error
    assert told(answer).current_leader == (NODE, 1)
    assert answer.leaders == {NODE: led.address}


def test_who_takes_it_for_another_cluster_is_refused(led: Led) -> None:
    assert led.ask(fetch(0, 0, 0, cluster_id="another")).error is ErrorCode.INCONSISTENT_CLUSTER_ID
    assert told(led.ask(fetch(0, 0, 0, cluster_id=None))).error is ErrorCode.NONE


def test_no_other_partition_and_nothing_below_zero_is_asked_for(led: Led) -> None:
    request = fetch(0, 0, 0)
    asked = request.partitions[METADATA_PARTITION]
    second = TopicPartition(METADATA_PARTITION.topic, 1)
    for partitions in ({second: asked}, {METADATA_PARTITION: asked, second: asked}, {}):
        assert led.ask(replace(request, partitions=partitions)).error is ErrorCode.INVALID_REQUEST
    other = replace(request, topic_ids={METADATA_PARTITION.topic: UUID(int=2)})
    assert led.ask(other).error is ErrorCode.INVALID_REQUEST
    for changed in (asked._replace(fetch_offset=-1), asked._replace(last_fetched_epoch=-1)):
        told_of = led.ask(replace(request, partitions={METADATA_PARTITION: changed}))
        assert told(told_of).error is ErrorCode.INVALID_REQUEST


def test_by_name_it_is_answered_as_by_id(led: Led) -> None:
    by_name = replace(fetch(0, 0, 0), topic_ids={})
    assert told(led.ask(by_name)).records == told(led.ask(fetch(0, 0, 0))).records


def test_a_copy_that_departs_is_told_where(led: Led) -> None:
    led.restart()
    led.write(1_000)
    assert told(led.ask(fetch(BEGUN + 9, 1, 0))).diverging_epoch == EndOffset(0, BEGUN)
    assert told(led.ask(fetch(BEGUN + 9, 1, 1))).diverging_epoch == EndOffset(1, BEGUN + SAID + 1)
    assert told(led.ask(fetch(BEGUN, 1, 0))).diverging_epoch is None


def test_who_has_all_waits_for_the_next_decision(led: Led) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(led.ask, fetch(BEGUN, 0, 0, max_wait_ms=20_000))
        time.sleep(0.2)
        assert not waiting.done()
        begun = time.monotonic()
        led.write(1_000)
        fetched = told(waiting.result(20))
    assert time.monotonic() - begun < 10
    assert (fetched.high_watermark, bool(fetched.records)) == (BEGUN + 1, True)


def test_after_its_time_it_is_told_that_there_is_nothing_and_at_once_of_a_high_watermark_that_it_does_not_know(
    led: Led,
) -> None:
    begun = time.monotonic()
    nothing = told(led.ask(fetch(BEGUN, 0, 0, max_wait_ms=300)))
    assert time.monotonic() - begun >= 0.3
    assert (nothing.error, bytes(nothing.records), nothing.high_watermark) == (ErrorCode.NONE, b"", BEGUN)
    begun = time.monotonic()
    assert told(led.ask(fetch(BEGUN, 0, 0, max_wait_ms=20_000, high_watermark=BEGUN - 1))).high_watermark == BEGUN
    assert time.monotonic() - begun < 10


def test_the_quorum_is_described_with_who_follows(led: Led) -> None:
    led.ask(fetch(0, 0, 0))
    led.ask(fetch(BEGUN, 0, 0, replica_id=8))
    led.ask(fetch(BEGUN, 0, 0, replica_id=-1))
    led.ask(fetch(BEGUN, 9, 0, replica_id=9))
    quorum = led.ask(DescribeQuorumRequest())
    assert (quorum.error, quorum.leader_id, quorum.leader_epoch) == (ErrorCode.NONE, NODE, 0)
    assert quorum.high_watermark == BEGUN
    assert [(each.id, each.log_end_offset) for each in quorum.voters] == [(NODE, BEGUN)]
    assert quorum.voters[0].directory_id == led.node.server.quorum.directory_id is not None
    assert [(each.id, each.log_end_offset) for each in quorum.observers] == [(7, 0), (8, BEGUN)]
    assert quorum.observers[1].last_caught_up_ms == quorum.observers[1].last_fetch_ms > 0
    assert quorum.listeners == {NODE: (QuorumListener("CONTROLLER", *led.address),)}


def test_once_it_cannot_write_it_says_that_nobody_leads(led: Led) -> None:
    led.node.controller.fail(OSError("no disk"))
    fetched = told(led.ask(fetch(0, 0, 0)))
    assert (fetched.error, fetched.current_leader) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, None)
    assert led.ask(DescribeQuorumRequest()).error is ErrorCode.NOT_LEADER_OR_FOLLOWER


# --- snapshots


@pytest.fixture
def compacted(led: Led) -> Led:
    """Goes on from a snapshot: nothing before it is in the log."""
    led.write(1_000)
    end_offset = led.node.controller.metadata.next_offset
    quorum = quorum_messages(led.node.server.quorum, "CONTROLLER")[1:]

    def compact() -> None:
        image = load_image(led.log).image
        for path in led.log.iterdir():
            path.unlink()
        write_snapshot(led.log, image, end_offset=end_offset, epoch=0, last_contained_log_timestamp=0, quorum=quorum)

    led.restart(compact)
    led.write(2_000)
    return led


def piece(led: Led, position: int = 0, max_bytes: int = 1 << 20, **changes: object) -> FetchSnapshotRequest:
    """What is asked for a part of the snapshot."""
    leader: StandaloneController = led.node
    snapshot_id = leader.server.quorum.snapshot_id
    assert snapshot_id is not None
    request = FetchSnapshotRequest(
        partition=METADATA_PARTITION,
        snapshot_id=snapshot_id,
        position=position,
        max_bytes=max_bytes,
        current_leader_epoch=1,
        replica_id=7,
        cluster_id=CLUSTER,
    )
    return replace(request, **changes)  # type: ignore[arg-type]


def test_who_begins_anew_gets_the_snapshot_and_then_the_log(compacted: Led) -> None:
    assert told(compacted.ask(fetch(0, 1, 0))).snapshot_id == SnapshotId(BEGUN + 1, 0)
    assert told(compacted.ask(fetch(2, 1, 0))).snapshot_id == SnapshotId(BEGUN + 1, 0)
    with FollowedMetadata.open(7, CLUSTER) as followed:
        follow(compacted, followed)
        assert followed.image == compacted.image


def test_a_snapshot_comes_in_pieces(compacted: Led) -> None:
    (path,) = compacted.log.glob("*.checkpoint")
    content = path.read_bytes()
    data = b""
    while len(data) < len(content):
        answer = compacted.ask(piece(compacted, len(data), 100))
        assert (answer.error, answer.size, answer.position) == (ErrorCode.NONE, len(content), len(data))
        assert 0 < len(answer.data) <= 100
        data += answer.data
    assert data == content


def test_what_is_no_piece_of_it_is_refused(compacted: Led) -> None:
    (path,) = compacted.log.glob("*.checkpoint")
    refused: dict[ErrorCode, FetchSnapshotRequest] = {
        ErrorCode.INCONSISTENT_CLUSTER_ID: piece(compacted, cluster_id="another"),
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: piece(compacted, partition=TopicPartition("orders", 0)),
        ErrorCode.FENCED_LEADER_EPOCH: piece(compacted, current_leader_epoch=0),
        ErrorCode.UNKNOWN_LEADER_EPOCH: piece(compacted, current_leader_epoch=2),
        ErrorCode.SNAPSHOT_NOT_FOUND: piece(compacted, snapshot_id=SnapshotId(2, 0)),
        ErrorCode.POSITION_OUT_OF_RANGE: piece(compacted, position=path.stat().st_size),
    }
    for error, request in refused.items():
        assert compacted.ask(request).error is error
    assert compacted.ask(piece(compacted, position=-1)).error is ErrorCode.POSITION_OUT_OF_RANGE


def test_where_there_is_no_snapshot_none_is_found(led: Led) -> None:
    request = FetchSnapshotRequest(
        partition=METADATA_PARTITION,
        snapshot_id=SnapshotId(0, 0),
        position=0,
        max_bytes=1,
        current_leader_epoch=0,
        replica_id=7,
    )
    assert led.ask(request).error is ErrorCode.SNAPSHOT_NOT_FOUND
