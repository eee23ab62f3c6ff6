"""Brokers' agents and followers of the metadata, which real controllers know, at a controller of ours."""

import random
import shutil
import socket
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from logstore import Log
from logstore.directory.log_directories import LogDirectories
from replication.base.metadata_partition import METADATA_PARTITION
from replication.cluster.broker.lifecycle.lifecycle import BrokerState
from replication.cluster.quorum.errors import MetadataDivergedError
from replication.cluster.quorum.followed_metadata import FollowedMetadata
from replication.records.metadata.metadata_log import append_metadata
from replication.records.metadata.records import TopicRecord
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from tests.campaign import run_seed
from tests.replication.cluster.broker.member import SECONDS, Ear, format_root, run, wait_until
from tests.replication.cluster.standalone.quorum.led import CLUSTER, Led, has_topic

BROKER = 7
FOREIGN = TopicRecord(name="foreign", topic_id=UUID(int=9_000))


@pytest.fixture
def led(tmp_path: Path) -> Iterator[Led]:
    with closing(Led(tmp_path)) as led:
        yield led


@pytest.fixture
def directories(tmp_path: Path) -> Iterator[LogDirectories]:
    format_root(tmp_path / "broker", BROKER, CLUSTER)
    with LogDirectories.open([tmp_path / "broker"], replicated=True) as directories:
        yield directories


def follow(led: Led, followed: FollowedMetadata) -> None:
    """Ask as often as it takes to stand where the controller does."""
    with Connection.open(led.address) as connection:
        for _ in range(50):
            request: Any = followed.request()
            followed.take(connection.ask(request))
            if followed.applied_offset == led.node.controller.published.applied_offset:
                return
    raise AssertionError(f"{followed.applied_offset} has been applied")


def test_a_broker_registers_is_unfenced_hears_what_is_decided_and_leaves_in_order(
    led: Led, directories: LogDirectories
) -> None:
    ear = Ear()
    with closing(led.agent(directories, ear)) as agent:
        run(agent)
        led.create("orders")
        assert has_topic(agent, "orders")
        assert agent.metadata.published.image == led.image
        assert led.image.topics.by_name["orders"].partitions[0].leader == BROKER
        agent.leave(SECONDS)
    assert ear.states[-2:] == [BrokerState.PENDING_CONTROLLED_SHUTDOWN, BrokerState.SHUTTING_DOWN]
    assert ear.refusals == []
    assert led.image.brokers[BROKER].fenced
    assert led.image.topics.by_name["orders"].partitions[0].leader == -1


def test_a_broker_that_is_silent_is_fenced_and_comes_back(led: Led, directories: LogDirectories) -> None:
    ear = Ear()
    with closing(led.agent(directories, ear)) as agent:
        run(agent)
        with agent._lifecycle._changed:  # which each heartbeat takes
            wait_until(agent, fenced=True)
        wait_until(agent, fenced=False)
    assert ear.fencings[0] == "unfenced"


def test_who_sends_anything_else_is_hung_up_on_and_brokers_do_not_notice(led: Led, directories: LogDirectories) -> None:
    ear, chance = Ear(), random.Random(run_seed())
    with closing(led.agent(directories, ear)) as agent:
        run(agent)
        for _ in range(20):
            garbage = chance.choice([b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x20" + chance.randbytes(32), b"\x7f" * 9])
            with socket.create_connection(led.address, 10) as stranger:
                stranger.sendall(garbage)
                with suppress(ConnectionError):
                    assert stranger.recv(1) == b""
        led.write(1_000)
        assert agent.metadata.wait_for(lambda image: image == led.image, SECONDS)
        assert not agent.is_fenced
    assert ear.interruptions == ear.refusals == []


def test_who_names_an_earlier_broker_epoch_is_told_so(led: Led, directories: LogDirectories) -> None:
    with closing(led.agent(directories)) as agent:
        run(agent)
        heartbeat = BrokerHeartbeatRequest(
            broker_id=BROKER, broker_epoch=agent.broker_epoch - 1, current_metadata_offset=0, want_fence=False
        )
        assert led.ask(heartbeat).error is ErrorCode.STALE_BROKER_EPOCH


def test_after_a_restart_in_a_later_epoch_brokers_go_on_with_all_that_they_have(
    led: Led, directories: LogDirectories, tmp_path: Path
) -> None:
    ear = Ear()
    with closing(led.agent(directories, ear, tmp_path / "copy")) as agent:
        run(agent)
        led.create("first")
        assert has_topic(agent, "first")
        before, epoch = agent.metadata.applied_offset, agent.broker_epoch
        led.restart()
        led.create("second")
        assert has_topic(agent, "second")
        assert agent.broker_epoch == epoch
        wait_until(agent, fenced=False)
    offsets = [each.applied_offset for each in ear.published]
    assert offsets == sorted(offsets), "nothing was taken back"
    led.close()
    with (
        Log.open(tmp_path / "copy" / str(METADATA_PARTITION), replicated=True) as copy,
        Log.open(led.log, replicated=True) as own,
    ):
        size = min(copy.size, own.size)
        assert bytes(copy.read(0, size).data)[:size] == bytes(own.read(0, size).data)[:size]
        assert copy.log_end_offset > before
        assert [entry.epoch for entry in own.epochs.history.entries] == [0, 1]


def test_a_copy_that_has_more_than_the_controller_is_cut_and_goes_on(led: Led, tmp_path: Path) -> None:
    with FollowedMetadata.open(BROKER, CLUSTER, tmp_path / "copy") as followed:
        follow(led, followed)
        common = followed.applied_offset + 1
    with Log.open(tmp_path / "copy" / str(METADATA_PARTITION), replicated=True) as log:
        append_metadata(log, [FOREIGN, FOREIGN], leader_epoch=0)
    led.restart()
    led.write(1_000)
    with FollowedMetadata.open(BROKER, CLUSTER, tmp_path / "copy") as followed:
        follow(led, followed)
        assert followed.image == led.image
    with Log.open(tmp_path / "copy" / str(METADATA_PARTITION), replicated=True) as log:
        assert log.epochs.history.entries == [(0, 0), (1, common)]
        assert log.log_end_offset == led.node.controller.metadata.next_offset


def test_a_follower_holds_to_what_was_committed_where_the_controller_has_lost_it(
    led: Led, directories: LogDirectories, tmp_path: Path
) -> None:
    led.restart(lambda: shutil.copytree(led.root, tmp_path / "old"))
    with closing(led.agent(directories)) as agent:
        run(agent)
        led.create("lost")
        assert has_topic(agent, "lost")
        led.close()
        shutil.rmtree(led.root)
        shutil.copytree(tmp_path / "old", led.root)
        led.start()
        agent.metadata.wait_for(lambda _: False, SECONDS)  # until it ends
        assert isinstance(agent.metadata.failure, MetadataDivergedError)
