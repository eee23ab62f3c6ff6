"""What a broker answers first, and after it was asked for a change: what clients can go on with."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from replication.cluster.node.broker_node_settings import BrokerNodeSettings
from replication.cluster.standalone.standalone_broker import StandaloneBroker
from replication.wire.addresses import Address
from replication.wire.client.connection import Connection
from replication.wire.messages import metadata
from replication.wire.messages.metadata import ClusterMetadata, MetadataRequest
from replication.wire.server.call import Call, Caller
from replication.wire.server.connections.listener_settings import ListenerSettings
from replication.wire.server.served_api import ServedApis
from replication.wire.server.server import Server
from tests.replication.cluster.broker.authorization.random_questions import kio_request

CREATE, DELETE, ENLARGE = 19, 20, 37
TOPICS = 20


@pytest.fixture
def first_told(monkeypatch: pytest.MonkeyPatch) -> list[ClusterMetadata]:
    """What Metadata is answered as soon as anybody may ask."""
    told: list[ClusterMetadata] = []
    start: Callable[..., None] = Server.start

    def asked(server: Server, apis: ServedApis, *rest: Any) -> None:
        if metadata.API_KEY in apis:
            told.append(apis[metadata.API_KEY].answer(MetadataRequest(topics=None), Call(12, Caller("127.0.0.1"))))
        start(server, apis, *rest)

    monkeypatch.setattr(Server, "start", asked)
    return told


@pytest.fixture
def connection(first_told: list[ClusterMetadata], tmp_path: Path) -> Iterator[Connection]:
    del first_told
    settings = BrokerNodeSettings(listener=ListenerSettings(address=Address("127.0.0.1", 0)))
    with (
        StandaloneBroker.open([tmp_path / "data"], settings) as broker,
        Connection.open(broker.local.address) as connection,
    ):
        yield connection


def topics(connection: Connection) -> dict[str, int]:
    """How many partitions each topic has, as the broker tells."""
    found = connection.ask(MetadataRequest(topics=None)).topics
    return {name: len(each.partitions) for name, each in found.items()}


def create(connection: Connection, name: str) -> None:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": (), "configs": ()}
    ask(connection, CREATE, 5, {"topics": [topic], "validate_only": False})


def ask(connection: Connection, key: int, version: int, content: dict[str, Any]) -> None:
    connection.ask(kio_request(key, version, {"timeout": timedelta(seconds=30), **content}))


def test_its_first_answer_names_it_and_a_controller(first_told: list[ClusterMetadata], connection: Connection) -> None:
    assert topics(connection) == {}
    (told,) = first_told
    assert list(told.brokers) == [1]
    assert told.controller_id == 1


def test_topics_are_told_of_once_they_are_said_to_be_made(connection: Connection) -> None:
    for number in range(TOPICS):
        create(connection, f"t{number}")
        assert topics(connection)[f"t{number}"] == 1


def test_topics_have_as_many_partitions_as_they_are_said_to(connection: Connection) -> None:
    create(connection, "orders")
    for count in range(2, TOPICS):
        more = {"name": "orders", "count": count, "assignments": None}
        ask(connection, ENLARGE, 1, {"topics": [more], "validate_only": False})
        assert topics(connection) == {"orders": count}


def test_topics_are_gone_once_they_are_said_to_be(connection: Connection) -> None:
    for number in range(TOPICS):
        create(connection, f"t{number}")
        ask(connection, DELETE, 3, {"topic_names": (f"t{number}",)})
        assert topics(connection) == {}
