"""The thread that follows the quorum's metadata: through whom it finds the leader, and what ends it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from uuid import UUID

import pytest

from logstore.errors import DirectoryLockedError
from replication.cluster.broker.broker_identity import BrokerIdentity
from replication.cluster.broker.lifecycle.broker_agent import BrokerAgent
from replication.cluster.broker.lifecycle.errors import BrokerStoppedError
from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.cluster.quorum.active_controller import ActiveController
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.cluster.quorum.local_metadata import LocalMetadata
from replication.cluster.quorum.metadata_follower import MetadataFollower
from replication.records.metadata.errors import InvalidMetadataSnapshotError, InvalidReplayError
from replication.records.metadata.records import NoOpRecord, TopicRecord, UnregisterBrokerRecord
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from tests.oracle.broker import free_port
from tests.replication.cluster.broker.lifecycle.scripted_controller import ScriptedController
from tests.replication.cluster.broker.member import SECONDS, Ear, settings
from tests.replication.cluster.quorum.quorum_leader import METADATA_ID, QuorumLeader

TOPIC = TopicRecord(name="orders", topic_id=METADATA_ID)


@contextmanager
def following(
    *bootstrap: Address, ear: Ear | None = None, directory: Path | None = None
) -> Iterator[tuple[MetadataFollower, ActiveController]]:
    controller = ActiveController()
    follower = MetadataFollower(
        bootstrap, lambda: FollowedMetadata.open(9, "cluster", directory), ClientSettings(), controller, ear or Ear()
    )
    follower.start()
    try:
        yield follower, controller
    finally:
        follower.stop()
        assert not follower._thread.is_alive()


def test_the_leader_is_found_after_controllers_that_are_down() -> None:
    leader, ear = QuorumLeader(), Ear()
    leader.append(TOPIC)
    leader.commit()
    nobody = Address("127.0.0.1", free_port())
    with ScriptedController(leader=leader).listen() as broker:
        with following(nobody, broker.address, ear=ear) as (follower, controller):
            assert follower.wait_for(lambda image: "orders" in image.topics.by_name, SECONDS)
            assert follower.applied_offset == 1
            assert controller.wait(SECONDS) == broker.address
            with follower.image() as image:
                assert image.topics.by_name["orders"].id == METADATA_ID
        assert ear.controllers == [str(broker.address)]
        assert str(nobody) in str(ear.interruptions[0])


def test_the_leader_is_found_where_another_controller_says_that_it_listens() -> None:
    leader, other, ear = QuorumLeader(), QuorumLeader(), Ear()
    other.leads = False
    leader.append(TOPIC)
    leader.commit()
    with ScriptedController(leader=leader).listen() as broker, ScriptedController(leader=other).listen() as second:
        other.listens_at = broker.address
        with following(second.address, ear=ear) as (follower, controller):
            assert follower.wait_for(lambda image: "orders" in image.topics.by_name, SECONDS)
            assert controller.wait(SECONDS) == broker.address
    assert ear.controllers == [str(broker.address)]
    assert ear.interruptions == []


def test_a_controller_that_is_behind_is_passed_over(tmp_path: Path) -> None:
    leader, ear = QuorumLeader(), Ear()
    behind = leader.as_of_now()
    leader.elect()
    leader.commit()
    with ScriptedController(leader=leader).listen() as broker:
        with following(broker.address, directory=tmp_path) as (follower, _):
            assert follower.wait_for(lambda _: follower.applied_offset == 1, SECONDS)
        leader.append(TOPIC)
        leader.commit()
        with ScriptedController(leader=behind).listen() as second:
            behind.listens_at = second.address
            with following(second.address, broker.address, ear=ear, directory=tmp_path) as (follower, controller):
                assert follower.wait_for(lambda image: "orders" in image.topics.by_name, SECONDS)
                assert controller.wait(SECONDS) == broker.address
            told = f"{second.address}: the metadata is refused: UNKNOWN_LEADER_EPOCH (75); it is behind, so another"
            assert str(ear.interruptions[0]).startswith(told)
    assert ear.controllers == [str(broker.address)]


def test_each_image_is_published_with_what_has_changed_and_stays() -> None:
    leader, ear = QuorumLeader(), Ear()
    leader.append(TOPIC)
    leader.commit()
    with ScriptedController(leader=leader).listen() as broker, following(broker.address, ear=ear) as (follower, _):
        ear.wait_for(lambda: len(ear.published) == 1)
        first = follower.published
        leader.append(TopicRecord(name="more", topic_id=UUID(int=77)))
        leader.commit()
        ear.wait_for(lambda: len(ear.published) == 2)
        assert follower.published is ear.published[1]
    assert first is ear.published[0]
    assert [set(each.changes.topics) for each in ear.published] == [{METADATA_ID}, {UUID(int=77)}]
    assert set(first.image.topics.by_name) == {"orders"}
    assert set(follower.published.image.topics.by_name) == {"orders", "more"}


def test_what_was_committed_is_there_again_before_any_controller_answers(tmp_path: Path) -> None:
    leader = QuorumLeader()
    leader.append(TOPIC)
    leader.commit()
    with (
        ScriptedController(leader=leader).listen() as broker,
        following(broker.address, directory=tmp_path) as (follower, _),
    ):
        assert follower.wait_for(lambda image: "orders" in image.topics.by_name, SECONDS)
    nobody = Address("127.0.0.1", free_port())
    with following(nobody, directory=tmp_path) as (follower, _):
        assert follower.wait_for(lambda image: "orders" in image.topics.by_name, SECONDS)
        assert follower.applied_offset == 1


def failure_of(directory: Path) -> BaseException | None:
    """Follow into a directory that is of no use, and return what ended it."""
    failed = Event()
    follower = MetadataFollower(
        [Address("127.0.0.1", free_port())],
        lambda: FollowedMetadata.open(9, "cluster", directory),
        ClientSettings(),
        ActiveController(),
        Ear(),
        lambda _: failed.set(),
    )
    follower.start()
    assert failed.wait(SECONDS)
    follower.stop()
    return follower.failure


def test_a_copy_that_another_has_open_ends_it(tmp_path: Path) -> None:
    with closing(LocalMetadata.open(tmp_path)):
        assert isinstance(failure_of(tmp_path), DirectoryLockedError)


def test_a_copy_that_cannot_be_read_ends_it(tmp_path: Path) -> None:
    directory = tmp_path / "__cluster_metadata-0"
    directory.mkdir()
    (directory / "00000000000000000002-0000000001.checkpoint").write_bytes(b"no snapshot")
    failure = failure_of(tmp_path)
    assert isinstance(failure, InvalidMetadataSnapshotError)
    assert str(directory) in str(failure)


def test_waiting_for_what_does_not_come_ends() -> None:
    leader = QuorumLeader()
    with ScriptedController(leader=leader).listen() as broker, following(broker.address) as (follower, _):
        assert not follower.wait_for(lambda image: "orders" in image.topics.by_name, 0.05)


def test_a_leader_that_hangs_up_is_not_known_to_lead() -> None:
    leader, ear = QuorumLeader(), Ear()
    leader.commit()
    with ScriptedController(leader=leader).listen() as broker:
        with following(broker.address, ear=ear) as (_, controller):
            assert controller.wait(SECONDS) == broker.address
            leader.cluster_id = "another"
            ear.wait_for(lambda: bool(ear.interruptions))
            assert controller.address is None
            assert controller.trouble == str(ear.interruptions[0])
        told = f"{broker.address}: the metadata is refused: INCONSISTENT_CLUSTER_ID (104); compare cluster.id in"
        assert str(ear.interruptions[0]).startswith(told)


def test_records_that_do_not_follow_end_it_and_the_broker() -> None:
    leader, ear = QuorumLeader(), Ear()
    leader.append(NoOpRecord())
    leader.commit()
    identity = BrokerIdentity(cluster_id="cluster", broker_id=9, directory_ids=(METADATA_ID,))
    with ScriptedController(leader=leader).listen() as broker:
        agent = BrokerAgent([broker.address], identity, settings(), observer=ear)
        with agent:
            agent.wait_until_caught_up(SECONDS)
            agent.ready_to_unfence()
            agent.wait_until_running(SECONDS)
            leader.append(UnregisterBrokerRecord(broker_id=4, broker_epoch=1))
            leader.commit()
            ear.wait_for(lambda: BrokerState.SHUTTING_DOWN in ear.states)
            with pytest.raises(BrokerStoppedError, match=r"can no longer be followed: .*broker 4 is not registered"):
                agent.wait_until_running(SECONDS)
        assert isinstance(agent.metadata.failure, InvalidReplayError)


def test_a_fault_of_ours_is_a_failure_too(monkeypatch: pytest.MonkeyPatch) -> None:
    leader, failed = QuorumLeader(), Event()
    leader.commit()
    monkeypatch.setattr(FollowedMetadata, "take", lambda *_: 1 / 0)
    monkeypatch.setattr("threading.excepthook", lambda _: failed.set())
    with ScriptedController(leader=leader).listen() as broker, following(broker.address) as (follower, _):
        assert failed.wait(SECONDS)
        assert isinstance(follower.failure, ZeroDivisionError)
