"""A broker's role in each partition, told as the metadata changes it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from replication.cluster.broker.events.partition_events import Role, RoleChanged
from replication.records.metadata.records import RemoveTopicRecord
from tests.replication.cluster.broker.replicas.managed_broker import (
    ME,
    OTHER,
    TOPIC,
    Broker,
    changed,
    made,
    registered,
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = Broker(tmp_path)
    yield broker
    broker.replicas.close()
    broker.directories.close()


def told(broker: Broker) -> list[tuple[Role, Role, int, int, int]]:
    """From which role to which, from which epoch to which, and who leads."""
    events = [event for event in broker.told if isinstance(event, RoleChanged)]
    broker.told.clear()
    return [(each.before, each.after, each.leader_epoch_before, each.leader_epoch, each.leader) for each in events]


def test_each_change_of_the_role_or_of_its_epoch_is_told_once(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(OTHER, OTHER, ME))
    assert told(broker) == [(Role.NONE, Role.FOLLOWER, -1, 0, OTHER)]
    broker.take(changed(isr=(OTHER,)))
    assert told(broker) == []
    broker.take(changed(leader=ME))
    assert told(broker) == [(Role.FOLLOWER, Role.LEADER, 0, 1, ME)]
    broker.take(changed(isr=(ME,)))
    assert told(broker) == []
    broker.take(changed(leader=-1))
    assert told(broker) == [(Role.LEADER, Role.FOLLOWER, 1, 2, -1)]
    broker.take(changed(leader=OTHER))
    assert told(broker) == [(Role.FOLLOWER, Role.FOLLOWER, 2, 3, OTHER)]


def test_a_topic_that_is_deleted_and_a_replica_that_is_moved_away(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(ME, ME, OTHER))
    broker.told.clear()
    broker.take(changed(replicas=(OTHER,), isr=(OTHER,), leader=OTHER))
    assert broker.told[0].why == "other brokers have the replicas"
    assert told(broker) == [(Role.LEADER, Role.NONE, 0, -1, -1)]
    broker.take(changed(replicas=(OTHER, ME)))
    broker.told.clear()
    broker.take(RemoveTopicRecord(topic_id=TOPIC))
    assert broker.told[0].why == "the topic is deleted"
    assert [each[:2] for each in told(broker)] == [(Role.FOLLOWER, Role.NONE)]


def test_a_broker_that_ends(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(ME, ME, OTHER))
    broker.told.clear()
    broker.replicas.close()
    assert [event.why for event in broker.told] == ["the broker stops"]
    assert told(broker) == [(Role.LEADER, Role.NONE, 0, -1, -1)]


def test_a_leader_says_where_its_log_stands(broker: Broker) -> None:
    broker.take(registered(ME), registered(OTHER), *made(OTHER, OTHER, ME), changed(leader=ME))
    (event,) = broker.told
    assert isinstance(event, RoleChanged)
    assert (event.log_end_offset, event.high_watermark, event.why) == (0, 0, "elected")
    broker.told.clear()
    broker.take(changed(leader=ME, leader_recovery_state=1, isr=(ME,)))
    assert [each.why for each in broker.told] == ["elected uncleanly"]


def test_a_partition_on_a_failed_disk_is_offline(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.take(registered(ME), *made(ME, ME, epoch=4))
    broker.told.clear()
    monkeypatch.setattr(type(broker.directories.roots[0]), "failure", OSError(5, "Input/output error"))
    for _ in range(2):
        broker.replicas.notice_failures()
    why = broker.told[0].why
    assert "has failed: [Errno 5] Input/output error" in why
    assert "start the broker again" in why
    assert told(broker) == [(Role.LEADER, Role.OFFLINE, 4, 4, ME)]
