"""A copy of the metadata that is followed does not grow for ever."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from logstore.offline.log_file import LogFile
from replication.cluster.quorum import snapshot_thread
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.snapshot_terms import SnapshotTerms
from replication.cluster.quorum.snapshot_thread import SnapshotThread
from replication.records.metadata.loading import load_image
from replication.records.metadata.records import TopicRecord
from tests.replication.cluster.quorum.quorum_leader import QuorumLeader
from tests.replication.waiting import wait_until

ROUNDS = 12
TOPICS = 1_500


def topics(leader: QuorumLeader, first: int) -> None:
    for number in range(first, first + TOPICS, 100):
        some = range(number, number + 100)
        leader.append(*(TopicRecord(name=f"t{each}", topic_id=UUID(int=10 + each)) for each in some))


def follow(followed: FollowedMetadata, leader: QuorumLeader) -> None:
    leader.commit()
    while followed.applied_offset + 1 < leader.high_watermark:
        followed.take(leader.answer(followed.request()))


class CountedThread(SnapshotThread):
    """Counts how often it has looked."""

    looks = 0

    def _round(self) -> None:
        super()._round()
        self.looks += 1


@contextmanager
def looked_after(followed: FollowedMetadata, local: LocalMetadata, terms: SnapshotTerms) -> Iterator[CountedThread]:
    thread = CountedThread(local, lambda: followed.published, terms, 0.001)
    thread.start()
    try:
        yield thread
    finally:
        thread.stop()
        assert thread.failure is None


def test_snapshots_of_many_batches_come_and_go_and_the_log_is_trimmed(tmp_path: Path) -> None:
    leader, local = QuorumLeader(), LocalMetadata.open(tmp_path)
    terms = SnapshotTerms(record_bytes=10_000, retention_bytes=0)
    with FollowedMetadata(9, "cluster", local) as followed, looked_after(followed, local, terms):
        for number in range(ROUNDS):
            topics(leader, number * TOPICS)
            follow(followed, leader)
            end_offset = leader.end_offset
            wait_until(lambda: local.snapshot is not None and local.snapshot.end_offset == end_offset)  # noqa: B023
        wait_until(lambda: len(local.snapshots) == 1)
        assert local.snapshot is not None
        with LogFile.open(local.snapshot.path) as file:
            assert len(list(file.batches())) > ROUNDS
        assert len(local.log.segments) <= 2
        assert local.log.log_start_offset == leader.end_offset
    assert load_image(tmp_path / "__cluster_metadata-0").image == leader.image()
    with FollowedMetadata.open(9, "cluster", tmp_path) as followed:
        assert followed.image == leader.image()
        topics(leader, ROUNDS * TOPICS)
        follow(followed, leader)
        assert followed.image == leader.image()


def test_what_is_not_committed_is_in_none(tmp_path: Path) -> None:
    leader, local = QuorumLeader(), LocalMetadata.open(tmp_path)
    with FollowedMetadata(9, "cluster", local) as followed:
        follow(followed, leader)
        topics(leader, 0)
        while local.log.log_end_offset < leader.end_offset:
            followed.take(leader.answer(followed.request()))
        with looked_after(followed, local, SnapshotTerms(record_bytes=1)) as thread:
            wait_until(lambda: thread._begins_at is not None)
            assert local.snapshot is None
            follow(followed, leader)
            wait_until(lambda: local.snapshot is not None)
        assert local.snapshot.end_offset == leader.end_offset


def test_an_interval_without_news_makes_none(tmp_path: Path) -> None:
    leader, local = QuorumLeader(), LocalMetadata.open(tmp_path)
    with FollowedMetadata(9, "cluster", local) as followed:
        follow(followed, leader)
        with looked_after(followed, local, SnapshotTerms(interval_ms=1)) as thread:
            wait_until(lambda: local.snapshot is not None)
            first, looks = local.snapshots, thread.looks
            wait_until(lambda: thread.looks > looks + 2)
        assert local.snapshots == first


def test_one_that_fails_is_tried_again_whatever_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    leader, local = QuorumLeader(), LocalMetadata.open(tmp_path)
    fails = [OSError("no room"), StopIteration(), AssertionError("never so")]
    take = local.take_snapshot

    def failing(*arguments: object) -> None:
        if fails:
            raise fails.pop()
        take(*arguments)  # type: ignore[arg-type]  # as it is given

    monkeypatch.setattr(local, "take_snapshot", failing)
    monkeypatch.setattr(snapshot_thread, "_RETRY_SECONDS", 0.01)
    with FollowedMetadata(9, "cluster", local) as followed:
        follow(followed, leader)
        with looked_after(followed, local, SnapshotTerms(record_bytes=1)):
            wait_until(lambda: local.snapshot is not None)
    assert not fails
    said = [record for record in caplog.records if record.name == snapshot_thread.__name__]
    assert [record.exc_info is None for record in said] == [False, False, True], "only faults of ours"
