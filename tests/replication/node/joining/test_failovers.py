"""A broker of ours among three real controllers: that another one leads is no event for what the broker leads."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from replication.metadata.partition import PartitionRegistration
from replication.node import BrokerNodeSettings
from replication.node.joining.joined_broker import JoinedBroker
from replication.protocol.addresses import Address, parse_addresses
from replication.server.connections.listener_settings import ListenerSettings
from tests.oracle.release import KafkaRelease
from tests.replication.broker.lifecycle.quorum import Quorum
from tests.replication.broker.member import format_root
from tests.replication.waiting import SECONDS, wait_until

OURS, TOPIC, SESSION_MS = 9, "orders", 9_000


@pytest.fixture
def quorum(tmp_path: Path, release: KafkaRelease) -> Iterator[Quorum]:
    with Quorum(tmp_path / "quorum", release, {"broker.session.timeout.ms": SESSION_MS}) as quorum:
        yield quorum


@pytest.fixture
def joined(quorum: Quorum, tmp_path: Path) -> Iterator[JoinedBroker]:
    root = tmp_path / "ours"
    format_root(root, OURS)
    settings = BrokerNodeSettings(
        listener=ListenerSettings(address=Address("127.0.0.1", 0)), session_timeout_ms=SESSION_MS
    )
    with JoinedBroker.open([root], parse_addresses(",".join(quorum.addresses.values())), settings) as joined:
        yield joined


def partition(joined: JoinedBroker) -> PartitionRegistration | None:
    topic = joined.node.image.topics.by_name.get(TOPIC)
    return None if topic is None else topic.partitions[0]


def active_controller(joined: JoinedBroker) -> int:
    standing = joined.node.quorum_standing
    return -1 if standing is None else standing.leader_id


def test_what_it_leads_goes_on_through_two_failovers(quorum: Quorum, joined: JoinedBroker) -> None:
    """The controller that was killed is started anew, and behind, as the next one is."""
    address = str(joined.node.address)
    admin = AdminClient({"bootstrap.servers": address})
    admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result(SECONDS)
    wait_until(lambda: partition(joined) is not None, "the topic is in the metadata")
    before, broker_epoch = partition(joined), joined.node.broker_epoch
    producer = Producer({"bootstrap.servers": address, "enable.idempotence": True})
    failures: list[object] = []
    for number in range(2):
        killed = active_controller(joined)
        quorum.kill(killed)
        producer.produce(TOPIC, f"order {number}", on_delivery=lambda error, _: failures.append(error))
        assert producer.flush(SECONDS) == 0
        wait_until(lambda: active_controller(joined) not in {-1, killed}, "another one leads")  # noqa: B023  at once
        quorum.start(killed)
    applied = joined.node.applied_offset
    wait_until(lambda: joined.node.applied_offset > applied, "the metadata goes on")
    assert failures == [None, None]
    assert partition(joined) == before
    assert joined.node.broker_epoch == broker_epoch
    assert not joined.node.image.brokers[OURS].fenced
