"""Where clients would find no coordinator, a broker that is none says so."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import TopicPartition
from replication.cluster.broker.events.partition_events import Role
from replication.cluster.node.coordinators.missing_coordinators import MissingCoordinators
from tests.replication.cluster.broker.events.heard_troubles import HeardTroubles
from tests.replication.cluster.broker.events.samples import CUT, ROLE
from tests.replication.cluster.node.remote_cluster import SECONDS, RemoteCluster

GROUPS, MORE_GROUPS = TopicPartition("__consumer_offsets", 3), TopicPartition("__consumer_offsets", 4)
IDS = TopicPartition("__transaction_state", 0)


class Told:
    def __init__(self, *, coordinates_groups: bool = False) -> None:
        self.troubles = HeardTroubles()
        self._coordinators = MissingCoordinators(coordinates_groups=coordinates_groups, tell=self.troubles)

    def becomes(self, role: Role, *partitions: TopicPartition) -> None:
        for each in partitions:
            self._coordinators.note(replace(ROLE, partition=each, after=role))


def test_it_is_told_once_for_each_topic_and_its_end_with_the_last_of_all() -> None:
    told = Told()
    told.becomes(Role.LEADER, GROUPS, MORE_GROUPS, GROUPS, IDS)
    assert told.troubles == ["coordinator", "coordinator"]
    assert [reason[:41] for reason in told.troubles.reasons] == [
        "this broker leads __consumer_offsets-3, a",
        "this broker leads __transaction_state-0, ",
    ]
    told.becomes(Role.FOLLOWER, GROUPS, MORE_GROUPS)
    assert "coordinator over" not in told.troubles
    told.becomes(Role.NONE, IDS)
    assert told.troubles[2:] == ["coordinator over"]


def test_who_coordinates_groups_tells_of_transactions_alone() -> None:
    told = Told(coordinates_groups=True)
    told.becomes(Role.LEADER, GROUPS)
    assert told.troubles == []
    told.becomes(Role.LEADER, IDS)
    assert told.troubles == ["coordinator"]


def test_what_else_happens_is_nothing_to_tell() -> None:
    told = Told()
    told.becomes(Role.FOLLOWER, GROUPS)
    told.becomes(Role.LEADER, ROLE.partition)
    told._coordinators.note(CUT)
    assert told.troubles == []


def test_a_broker_tells_of_it_in_its_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with (
        RemoteCluster(tmp_path, 1, coordinates_groups=False, starts_without_coordinators=True) as cluster,
        caplog.at_level(logging.WARNING),
    ):
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        topics = [NewTopic(name, 1, 1) for name in ("orders", GROUPS.topic)]
        for made in admin.create_topics(topics).values():
            made.result(SECONDS)
        hosted = cluster.brokers[1].node.replicas.hosted
        cluster.wait_until(lambda: sum(each.led is not None for each in hosted.values()) == len(topics))
        [line] = [line for line in caplog.messages if "event=trouble what=coordinator" in line]
    assert 'why="this broker leads __consumer_offsets-0, and coordinates nothing: clients with groups' in line
