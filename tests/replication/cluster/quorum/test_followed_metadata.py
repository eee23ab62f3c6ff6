"""What is committed is replayed, once and in order, whatever the quorum's leader goes through meanwhile."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epoch import EndOffset
from replication.cluster.quorum.errors import MetadataDivergedError
from replication.cluster.quorum.fetched_snapshot import FetchedSnapshot
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.quorum_decisions import OtherLeader
from replication.records.metadata.errors import InvalidMetadataSnapshotError, InvalidReplayError
from replication.records.metadata.image import ClusterImage
from replication.records.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)
from replication.records.metadata.snapshot import MetadataSnapshot
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.errors import KafkaError, MalformedResponseError
from replication.wire.messages.fetch import FetchedPartition, FetchRequest, FetchResponse, SnapshotId
from replication.wire.messages.fetch_snapshot import FetchSnapshotResponse
from tests.replication.cluster.quorum.quorum_leader import LEADER, METADATA, METADATA_ID, QuorumLeader
from tests.replication.records.metadata.histories import History

ADDRESS = Address("controller", 9093)
TOPIC = TopicRecord(name="orders", topic_id=METADATA_ID)


@pytest.fixture
def followed() -> Iterator[FollowedMetadata]:
    with FollowedMetadata.open(9, "cluster") as followed:
        yield followed


def step(followed: FollowedMetadata, leader: QuorumLeader, max_bytes: int = 1 << 20) -> OtherLeader | None:
    """One question and its answer."""
    return followed.take(leader.answer(followed.request(), max_bytes))


def follow(followed: FollowedMetadata, leader: QuorumLeader, max_bytes: int = 1 << 20) -> None:
    """Ask until all is replayed that is committed."""
    for _ in range(5_000):
        step(followed, leader, max_bytes)
        if followed.applied_offset + 1 == leader.high_watermark:
            return
    raise AssertionError(f"at {followed.applied_offset} after many questions")


def test_what_the_leaders_clock_showed_is_heard_with_each_answer() -> None:
    heard: list[int] = []
    leader = QuorumLeader()
    with FollowedMetadata.open(9, "cluster", hear=heard.append) as followed:
        for leader.now_ms in (7_000, 9_000, 8_000):
            leader.append(NoOpRecord())
            leader.append(NoOpRecord())
            leader.commit()
            follow(followed, leader)
    assert heard == [7_000, 9_000, 8_000]


@given(st.integers(0, 2**32))
def test_the_image_is_that_of_what_is_committed_and_never_ahead(seed: int) -> None:
    chance = random.Random(seed)
    history, leader, written = History(chance), QuorumLeader(), 0
    with FollowedMetadata.open(9, "cluster") as followed:
        for _ in range(chance.randrange(5, 40)):
            match chance.randrange(8):
                case 0 | 1 | 2:
                    history.go_on(1)
                case 3 | 4:
                    size = chance.randrange(1, 5)
                    batch = history.records[written : written + size]
                    if batch:
                        leader.append(*batch)
                        written += len(batch)
                case 5:
                    ends = [each.end_offset for each in leader.log if each.end_offset > leader.high_watermark]
                    leader.commit(chance.choice([leader.high_watermark, *ends]))
                case 6:
                    step(followed, leader, max_bytes=chance.choice((1, 50, 500)))
                    assert followed.applied_offset < leader.high_watermark
                case 7:
                    leader.lose_uncommitted()
                    written = sum(len(each.records) for each in leader.log)
        leader.commit()
        follow(followed, leader)
        assert followed.image == leader.image()


def test_the_leader_is_asked_for_and_told_with_its_address(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.epoch, leader.listens_at = 7, ADDRESS
    request = followed.request()
    assert isinstance(request, FetchRequest)
    assert (request.replica_id, request.cluster_id) == (9, "cluster")
    assert step(followed, leader) == OtherLeader(LEADER, 7, ADDRESS)
    assert step(followed, leader) is None


def test_where_the_leader_listens_may_be_unknown_as_before_37(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    assert step(followed, leader) == OtherLeader(LEADER, 1, None)


def test_a_transaction_counts_when_it_has_ended(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.append(NoOpRecord())
    leader.append(BeginTransactionRecord(name="t"), TOPIC)
    leader.commit()
    for _ in range(3):
        step(followed, leader)
    assert followed.applied_offset == 1
    assert not followed.image.topics.by_name
    leader.append(EndTransactionRecord())
    leader.commit()
    follow(followed, leader)
    assert "orders" in followed.image.topics.by_name


def test_an_aborted_transaction_does_not_count(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.append(BeginTransactionRecord(name="t"), TOPIC)
    leader.append(AbortTransactionRecord(reason="r"))
    leader.commit()
    follow(followed, leader)
    assert followed.image == ClusterImage()


@pytest.mark.parametrize("piece", [7, 100, 1 << 20])
def test_a_snapshot_is_fetched_where_the_log_does_not_go_back_so_far(followed: FollowedMetadata, piece: int) -> None:
    history, leader = History(random.Random(1)), QuorumLeader()
    history.go_on(20)
    leader.append(*history.records)
    leader.commit()
    leader.compact()
    leader.append(NoOpRecord())
    leader.commit()
    follow(followed, leader, max_bytes=piece)
    assert followed.image == history.image


def test_a_snapshot_that_is_taken_meanwhile_leaves_the_one_that_is_being_fetched(tmp_path: Path) -> None:
    history, leader, local = History(random.Random(1)), QuorumLeader(), LocalMetadata.open(tmp_path)
    with FollowedMetadata(9, "cluster", local) as followed:
        leader.commit()
        follow(followed, leader)
        history.go_on(20)
        leader.append(*history.records)
        leader.commit()
        leader.compact()
        while not list(tmp_path.glob("*/*.part")):
            step(followed, leader)
        step(followed, leader, max_bytes=100)
        published = followed.published
        local.take_snapshot(published.image, published.applied_offset + 1, published.epoch)
        follow(followed, leader, max_bytes=100)
        assert followed.image == history.image
        assert local.snapshots == tuple(MetadataSnapshot.all_in(local.log.directory))
        assert [each.end_offset for each in local.snapshots] == [leader.end_offset]


def test_a_part_of_a_snapshot_may_be_gone_once_it_is_not_wanted_any_more(tmp_path: Path) -> None:
    snapshot = FetchedSnapshot(SnapshotId(5, 1), tmp_path)
    snapshot.file.path.unlink()
    snapshot.discard()


def test_who_falls_behind_the_leaders_log_goes_on_from_a_snapshot(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.commit()
    follow(followed, leader)
    leader.append(TOPIC)
    leader.commit()
    leader.compact()
    follow(followed, leader)
    assert "orders" in followed.image.topics.by_name


def test_a_snapshot_that_is_gone_is_not_asked_for_again(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    leader.compact()
    for _ in range(2):
        step(followed, leader)
    with pytest.raises(KafkaError, match="SNAPSHOT_NOT_FOUND"):
        followed.take(FetchSnapshotResponse(error=ErrorCode.SNAPSHOT_NOT_FOUND))
    assert isinstance(followed.request(), FetchRequest), "who leads has another by now, or is another"
    follow(followed, leader)
    assert "orders" in followed.image.topics.by_name


@pytest.mark.parametrize("change", [{"position": 1}, {"data": b""}, {"size": 3}])
def test_a_piece_that_was_not_asked_for_is_refused(followed: FollowedMetadata, change: dict[str, object]) -> None:
    leader = QuorumLeader()
    leader.commit()
    leader.compact()
    for _ in range(2):
        step(followed, leader)
    piece = leader.answer(followed.request(), max_bytes=10)
    assert isinstance(piece, FetchSnapshotResponse)
    with pytest.raises(MalformedResponseError, match="those from 0 on were requested"):
        followed.take(replace(piece, **change))


def test_metadata_that_was_committed_and_is_gone_is_an_error_for_good(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    follow(followed, leader)
    leader.commit(1)
    leader.lose_uncommitted()
    step(followed, leader)
    with pytest.raises(MetadataDivergedError, match="committed up to offset 2 of epoch 1"):
        step(followed, leader)


@pytest.mark.parametrize("end_offset", [2, 3, 2**62])
def test_a_leader_that_diverges_where_it_agrees_is_not_followed_on_and_on(
    followed: FollowedMetadata, end_offset: int
) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    follow(followed, leader)
    again = FetchedPartition(ErrorCode.NONE, 0, diverging_epoch=EndOffset(1, end_offset))
    with pytest.raises(MalformedResponseError, match="offset 2 of epoch 1 diverges"):
        followed.take(FetchResponse(partitions={METADATA: again}))
    leader.append(TopicRecord(name="more", topic_id=UUID(int=77)))
    leader.commit()
    follow(followed, leader)
    assert "more" in followed.image.topics.by_name


@pytest.mark.parametrize("end_offset", [0, 1, 2])
def test_a_snapshot_of_what_is_known_is_not_fetched(followed: FollowedMetadata, end_offset: int) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    follow(followed, leader)
    offered = FetchedPartition(ErrorCode.NONE, 0, snapshot_id=SnapshotId(end_offset, 1))
    with pytest.raises(MalformedResponseError, match=f"a snapshot up to offset {end_offset}, and 2 follows"):
        followed.take(FetchResponse(partitions={METADATA: offered}))
    assert isinstance(followed.request(), FetchRequest)


def test_records_that_do_not_follow_are_an_error_for_good(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.append(UnregisterBrokerRecord(broker_id=4, broker_epoch=1))
    leader.commit()
    step(followed, leader)
    with pytest.raises(InvalidReplayError, match="broker 4 is not registered"):
        step(followed, leader)


def test_another_leader_or_epoch_is_no_news_of_anything(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    follow(followed, leader)
    before = followed.published
    for _ in range(3):
        leader.elect()
        leader.commit()
        follow(followed, leader)
        assert followed.applied_offset == leader.high_watermark - 1
        assert not followed.published.changes
        assert followed.image is before.image


@pytest.mark.parametrize("leads", [True, False], ids=["takes itself for the leader", "knows of an earlier leader"])
def test_a_controller_that_is_behind_is_no_reason_to_go_back(followed: FollowedMetadata, leads: bool) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    behind = leader.as_of_now()
    behind.leads = leads
    for _ in range(2):
        leader.elect()
        leader.commit()
        follow(followed, leader)
        before = followed.standing
        with pytest.raises(KafkaError, match="UNKNOWN_LEADER_EPOCH"):
            step(followed, behind)
        assert followed.standing == before
    leader.append(TopicRecord(name="more", topic_id=UUID(int=77)))
    leader.commit()
    assert step(followed, leader) is None
    assert "more" in followed.image.topics.by_name


def test_a_controller_that_is_behind_is_no_reason_to_go_back_behind_a_copy_either(tmp_path: Path) -> None:
    leader = QuorumLeader()
    behind = leader.as_of_now()
    leader.elect()
    leader.commit()
    with FollowedMetadata.open(9, "cluster", tmp_path) as followed:
        follow(followed, leader)
    with FollowedMetadata.open(9, "cluster", tmp_path) as again:
        with pytest.raises(KafkaError, match="UNKNOWN_LEADER_EPOCH"):
            step(again, behind)
        assert step(again, leader) is None


def test_another_clusters_leader_refuses(followed: FollowedMetadata) -> None:
    with pytest.raises(KafkaError, match="INCONSISTENT_CLUSTER_ID"):
        step(followed, QuorumLeader("other"))


def test_an_answer_without_a_leader_is_an_error(followed: FollowedMetadata) -> None:
    silent = FetchedPartition(ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    with pytest.raises(KafkaError, match="NOT_LEADER_OR_FOLLOWER"):
        followed.take(FetchResponse(partitions={METADATA: silent}))
    with pytest.raises(MalformedResponseError, match="does not contain it"):
        followed.take(FetchResponse(partitions={}))


@pytest.mark.parametrize("damage", ["checksum", "magic", "length", "a hole"])
def test_what_is_damaged_on_the_way_is_refused_and_fetched_again(followed: FollowedMetadata, damage: str) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    step(followed, leader)
    whole = b"".join(each.data for each in leader.log)
    records = {
        "checksum": whole[:-1] + bytes([whole[-1] ^ 1]),
        "magic": whole[:16] + b"\7" + whole[17:],
        "length": whole[:8] + b"\xff" + whole[9:],
        "a hole": leader.log[1].data,
    }
    with pytest.raises(MalformedResponseError):
        followed.take(FetchResponse(partitions={METADATA: FetchedPartition(ErrorCode.NONE, 2, 0, records[damage])}))
    assert followed.applied_offset == -1
    follow(followed, leader)
    assert "orders" in followed.image.topics.by_name


def test_a_start_goes_on_where_the_one_before_it_ended(tmp_path: Path) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    with FollowedMetadata.open(9, "cluster", tmp_path) as followed:
        follow(followed, leader)
    leader.append(TopicRecord(name="more", topic_id=UUID(int=77)))
    leader.commit()
    with FollowedMetadata.open(9, "cluster", tmp_path) as again:
        assert (again.applied_offset, again.image) == (1, followed.image)
        assert again.published.changes.topics == {TOPIC.topic_id}
        request = again.request()
        assert isinstance(request, FetchRequest)
        asked = request.partitions[METADATA]
        assert (asked.fetch_offset, asked.last_fetched_epoch, asked.current_leader_epoch) == (2, 1, 1)
        follow(again, leader)
        assert again.published.changes.topics == {UUID(int=77)}


def test_a_start_goes_on_from_a_snapshot_that_was_fetched(tmp_path: Path) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    leader.compact()
    with FollowedMetadata.open(9, "cluster", tmp_path) as followed:
        follow(followed, leader)
    with FollowedMetadata.open(9, "cluster", tmp_path) as again:
        assert (again.applied_offset, again.image) == (1, leader.image())
        request = again.request()
        assert isinstance(request, FetchRequest)
        assert (request.partitions[METADATA].fetch_offset, request.partitions[METADATA].last_fetched_epoch) == (2, 1)


def test_what_is_not_committed_is_not_replayed_by_the_next_start_either(tmp_path: Path) -> None:
    leader = QuorumLeader()
    leader.commit()
    with FollowedMetadata.open(9, "cluster", tmp_path) as followed:
        follow(followed, leader)
        leader.append(TOPIC)
        step(followed, leader)
    with FollowedMetadata.open(9, "cluster", tmp_path) as again:
        assert not again.image.topics.by_name
        leader.lose_uncommitted()
        leader.append(TopicRecord(name="more", topic_id=UUID(int=77)))
        leader.commit()
        follow(again, leader)
        assert set(again.image.topics.by_name) == {"more"}


def test_only_what_another_leader_does_not_have_is_fetched_anew(followed: FollowedMetadata) -> None:
    """Two batches are not committed; the next leader has one of them."""
    leader = QuorumLeader()
    leader.commit()
    follow(followed, leader)
    leader.append(NoOpRecord())
    leader.append(TOPIC)
    step(followed, leader)
    leader.log.pop()
    leader.elect()
    step(followed, leader)
    step(followed, leader)
    request = followed.request()
    assert isinstance(request, FetchRequest)
    assert request.partitions[METADATA].fetch_offset == 2
    log = followed._local.log
    assert log.recovery_point >= log.high_watermark, "after a crash, records that were cut could seem committed"
    leader.commit()
    follow(followed, leader)
    assert not followed.image.topics.by_name


def test_another_clusters_copy_is_not_followed_further(tmp_path: Path) -> None:
    leader, other = QuorumLeader(), QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    with FollowedMetadata.open(9, "cluster", tmp_path) as followed:
        follow(followed, leader)
    with (
        FollowedMetadata.open(9, "cluster", tmp_path) as again,
        pytest.raises(MetadataDivergedError, match="committed up to offset 2 of epoch 1"),
    ):
        follow(again, other)


def test_a_damaged_snapshot_is_an_error_for_good_and_replaces_nothing(followed: FollowedMetadata) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    follow(followed, leader)
    leader.append(NoOpRecord())
    leader.commit()
    leader.compact()
    assert leader.snapshot is not None
    snapshot_id, content = leader.snapshot
    leader.snapshot = snapshot_id, content[:-1] + bytes([content[-1] ^ 1])
    step(followed, leader)
    with pytest.raises(InvalidMetadataSnapshotError, match="checksum"):
        step(followed, leader)
    assert followed.applied_offset == 1
    leader.snapshot = snapshot_id, content
    follow(followed, leader)
    assert followed.image == leader.image()
