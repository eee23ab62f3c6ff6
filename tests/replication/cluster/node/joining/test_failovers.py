"""A broker of ours among three real controllers: that another one leads is no event for what the broker leads."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from logstore import ClockDoubt, now_ms
from logstore.log_config import DAY_MS
from replication.cluster.node.joining.joined_broker import JoinedBroker
from replication.node import BrokerNodeSettings
from replication.records.metadata.partition import PartitionRegistration
from replication.wire.addresses import Address, parse_addresses
from replication.wire.server.connections.listener_settings import ListenerSettings
from tests.oracle.release import KafkaRelease
from tests.replication.cluster.broker.lifecycle.quorum import Quorum
from tests.replication.cluster.broker.member import format_root
from tests.replication.waiting import SECONDS, wait_until

OURS, TOPIC, SESSION_MS = 9, "orders", 9_000


@pytest.fixture
def quorum(tmp_path: Path, release: KafkaRelease) -> Iterator[Quorum]:
    with Quorum(tmp_path / "quorum", release, {"broker.session.timeout.ms": SESSION_MS}) as quorum:
        yield quorum


@pytest.fixture
def joined(quorum: Quorum, tmp_path: Path) -> Iterator[JoinedBroker]:
    with joining(quorum, tmp_path) as joined:
        yield joined


def joining(quorum: Quorum, tmp_path: Path) -> JoinedBroker:
    root = tmp_path / "ours"
    format_root(root, OURS)
    settings = BrokerNodeSettings(
        listener=ListenerSettings(address=Address("127.0.0.1", 0)),
        session_timeout_ms=SESSION_MS,
        coordinates_groups=False,
        starts_without_coordinators=True,
    )
    return JoinedBroker.open([root], parse_addresses(",".join(quorum.addresses.values())), settings)


def partition(joined: JoinedBroker) -> PartitionRegistration | None:
    topic = joined.node.image.topics.by_name.get(TOPIC)
    return None if topic is None else topic.partitions[0]


def active_controller(joined: JoinedBroker) -> int:
    standing = joined.node.quorum_standing
    return -1 if standing is None else standing.leader_id


def test_the_controllers_clock_confirms_the_brokers(joined: JoinedBroker) -> None:
    """By what they write of its registration."""
    (root,) = joined.node.directories.roots
    wait_until(lambda: root.clock_doubt is None, "the clock is trusted")


def test_a_clock_that_is_ahead_of_the_controllers_is_not_trusted(
    quorum: Quorum, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logstore.clock.now_ms", lambda: now_ms() + 400 * DAY_MS)
    with joining(quorum, tmp_path) as joined:
        (root,) = joined.node.directories.roots
        begun = joined.node.quorum_standing
        assert begun is not None
        wait_until(lambda: has_moved(joined, begun.high_watermark), "the controllers write more")
        assert root.clock_doubt == ClockDoubt(None)


def has_moved(joined: JoinedBroker, offset: int) -> bool:
    standing = joined.node.quorum_standing
    return standing is not None and standing.high_watermark > offset + 3


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
