"""What the metadata says to one of its brokers."""

from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.cluster.broker.replicas.broker_view import BrokerView
from replication.records.metadata.image_changes import PartitionId
from replication.records.metadata.records import FenceBrokerRecord, MetadataRecord
from replication.wire.addresses import Address
from tests.replication.cluster.broker.replicas.managed_broker import EPOCH, ME, ORDERS, OTHER, TOPIC, made, registered

THIRD = 3
KNOWN, UNKNOWN = PartitionId(TOPIC, 0), PartitionId(UUID(int=1), 0)


@pytest.fixture
def view() -> BrokerView:
    return BrokerView(ME, lambda: EPOCH, "PLAINTEXT")


def given(view: BrokerView, *records: MetadataRecord) -> BrokerView:
    view.image.replay_all(records)
    return view


def test_at_first_nothing_is_known(view: BrokerView) -> None:
    assert view.name(KNOWN) is None
    assert not view.is_known(ORDERS)
    assert view.broker(OTHER) is None
    assert not view.knows_this_start


def test_it_knows_this_start_by_the_epoch_of_its_registration(view: BrokerView) -> None:
    assert given(view, registered(ME)).knows_this_start
    later = BrokerView(ME, lambda: EPOCH + 1, "PLAINTEXT")
    assert not given(later, registered(ME)).knows_this_start


def test_a_partition_is_the_brokers_where_it_has_a_replica(view: BrokerView) -> None:
    given(view, *made(OTHER, ME, OTHER))
    state = view.state(KNOWN)
    assert state is not None
    assert state.leader == OTHER
    assert view.has_replica(KNOWN)
    assert not view.has_replica(UNKNOWN)


def test_one_of_others_is_known_all_the_same(view: BrokerView) -> None:
    given(view, *made(OTHER, OTHER, THIRD))
    assert not view.has_replica(KNOWN)
    assert view.name(KNOWN) == ORDERS
    assert view.is_known(ORDERS)
    assert not view.is_known(TopicPartition("orders", 1))


def test_a_leader_is_followed_where_it_listens_unless_it_is_fenced(view: BrokerView) -> None:
    given(view, registered(OTHER, port=9_093))
    assert view.address(OTHER) == Address("127.0.0.1", 9_093)
    assert given(BrokerView(ME, lambda: EPOCH, "SSL"), registered(OTHER)).address(OTHER) is None
    assert view.address(THIRD) is None
    assert given(view, FenceBrokerRecord(id=OTHER, epoch=10 + OTHER)).address(OTHER) is None


def test_what_another_broker_leads_is_followed_from_it(view: BrokerView) -> None:
    given(view, *made(OTHER, ME, OTHER, THIRD))
    assert view.followed_from(frozenset({OTHER}), [KNOWN, UNKNOWN]) == {KNOWN}
    assert view.followed_from(frozenset({THIRD}), [KNOWN]) == frozenset()


def test_nothing_is_followed_from_the_broker_itself(view: BrokerView) -> None:
    given(view, *made(ME, ME, OTHER))
    assert view.followed_from(frozenset({ME}), [KNOWN]) == frozenset()
