"""Coordinators of transactions are found by the metadata and asked over the network, each for itself."""

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from uuid import UUID

import pytest

from logstore import TopicPartition
from replication.cluster.broker.requests.writing.transaction_verification import AskedTransaction
from replication.cluster.node.coordinators.asked_coordinators import AskedCoordinators
from replication.cluster.node.coordinators.other_coordinators import TRANSACTIONS, OtherCoordinators
from replication.records.metadata.records import PartitionChangeRecord, TopicRecord
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.client.connection import Connection
from replication.wire.error_code import ErrorCode
from replication.wire.errors import UnsupportedVersionError
from tests.oracle.broker import free_port
from tests.replication.cluster.broker.requests.small_broker import SmallBroker, broker_record, partition_record
from tests.replication.cluster.node.coordinators.small_coordinator import SmallCoordinator, Told

ORDERS = TopicPartition("orders", 0)
STATE_ID = UUID(int=70)
OURS, THEIRS, OTHERS = 1, 2, 3
BY_THEM, ALSO_BY_THEM, BY_OTHERS = "b", "d", "a"
"""Transactional ids that belong to partition 0, and to 1."""


class Asking:
    """Broker 1, which asks; the coordinators of partitions 0 and 1 are brokers 2 and 3."""

    def __init__(self, directory: Path) -> None:
        self.broker = SmallBroker(directory)
        self.coordinators = AskedCoordinators(
            OtherCoordinators(self.broker.cluster, TRANSACTIONS), "PLAINTEXT", ClientSettings()
        )

    def tell(self, theirs: Address, others: Address | None = None) -> None:
        """Let the metadata have the coordinators listen there."""
        self.listen(THEIRS, theirs)
        self.listen(OTHERS, others or theirs)
        leaders = enumerate((THEIRS, OTHERS))
        partitions = (partition_record(index, leader, topic_id=STATE_ID) for index, leader in leaders)
        self.broker.tell(TopicRecord(name=TRANSACTIONS, topic_id=STATE_ID), *partitions)

    def listen(self, broker_id: int, address: Address) -> None:
        self.broker.tell(broker_record(broker_id, host=address.host, PLAINTEXT=address.port))

    def lead(self, partition: int, leader: int) -> None:
        self.broker.tell(PartitionChangeRecord(partition_id=partition, topic_id=STATE_ID, leader=leader))

    def ask(self, name: str = BY_THEM, *partitions: TopicPartition, adds: bool = True) -> Told:
        told = Told()
        self.coordinators.ask(AskedTransaction(name, 7, 0, partitions or (ORDERS,), adds), told)
        return told


@pytest.fixture
def asking(tmp_path: Path) -> Iterator[Asking]:
    made = Asking(tmp_path)
    yield made
    made.coordinators.close()
    made.broker.close()


@pytest.fixture
def theirs() -> Iterator[SmallCoordinator]:
    with SmallCoordinator() as coordinator:
        yield coordinator


@pytest.fixture
def others() -> Iterator[SmallCoordinator]:
    with SmallCoordinator() as coordinator:
        yield coordinator


def test_each_transaction_is_asked_of_its_own_coordinator(
    asking: Asking, theirs: SmallCoordinator, others: SmallCoordinator
) -> None:
    asking.tell(theirs.address, others.address)
    assert [asking.ask(name).answer() for name in (BY_THEM, BY_OTHERS)] == [{}, {}]
    for coordinator, name in ((theirs, BY_THEM), (others, BY_OTHERS)):
        assert [[each.transactional_id for each in request.transactions] for request in coordinator.asked] == [[name]]
        assert coordinator.versions == [5]


def test_what_comes_while_a_request_is_under_way_is_asked_with_the_next(
    asking: Asking, theirs: SmallCoordinator
) -> None:
    asking.tell(theirs.address)
    theirs.goes_on.clear()
    first = asking.ask()
    assert theirs.arrived.wait(30)
    more = [asking.ask(BY_THEM), asking.ask(ALSO_BY_THEM), asking.ask(BY_THEM)]
    theirs.goes_on.set()
    assert [told.answer() for told in (first, *more)] == [{}] * 4
    assert [len(request.transactions) for request in theirs.asked] == [1, 2]


def test_one_that_does_not_answer_holds_up_no_other(
    asking: Asking, theirs: SmallCoordinator, others: SmallCoordinator
) -> None:
    asking.tell(theirs.address, others.address)
    theirs.goes_on.clear()
    held_up = asking.ask(BY_THEM)
    assert theirs.arrived.wait(30)
    assert asking.ask(BY_OTHERS).answer() == {}
    theirs.goes_on.set()
    assert held_up.answer() == {}


@pytest.mark.parametrize("leader", [-1, OURS])
def test_where_nobody_coordinates_that_is_told_at_once(asking: Asking, theirs: SmallCoordinator, leader: int) -> None:
    unavailable = {ORDERS: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert asking.ask().answer() == unavailable
    asking.tell(theirs.address)
    asking.lead(0, leader)
    assert asking.ask().answer() == unavailable
    assert theirs.asked == []


def test_a_coordinator_that_has_moved_is_asked_where_it_is_now(
    asking: Asking, theirs: SmallCoordinator, others: SmallCoordinator
) -> None:
    asking.tell(theirs.address, others.address)
    assert asking.ask().answer() == {}
    asking.lead(0, OTHERS)
    assert asking.ask().answer() == {}
    asking.listen(OTHERS, theirs.address)
    assert asking.ask().answer() == {}
    assert (len(theirs.asked), len(others.asked)) == (2, 1)


def test_what_a_lost_connection_leaves_open_is_not_confirmed_and_the_next_is_asked_by_another(
    asking: Asking, theirs: SmallCoordinator
) -> None:
    asking.tell(theirs.address)
    theirs.hangs_up = True
    assert asking.ask().answer() == {ORDERS: ErrorCode.NETWORK_EXCEPTION}
    theirs.hangs_up = False
    assert asking.ask().answer() == {}


def test_nobody_listens(asking: Asking) -> None:
    asking.tell(Address("127.0.0.1", free_port()))
    assert asking.ask().answer() == {ORDERS: ErrorCode.NETWORK_EXCEPTION}


def test_a_coordinator_without_those_versions_is_done_without_unless_it_would_have_to_add(asking: Asking) -> None:
    with SmallCoordinator(versions=range(4)) as old:
        asking.tell(old.address)
        assert asking.ask(adds=False).answer() == {}
        assert asking.ask().answer() == {ORDERS: ErrorCode.UNSUPPORTED_VERSION}
        assert old.asked == []


def test_one_that_cannot_be_logged_in_to_confirms_nothing(
    asking: Asking, theirs: SmallCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without SaslHandshake a version is unsupported as well, but not of the question."""

    def connects(*_: object, **__: object) -> None:
        raise UnsupportedVersionError("SaslHandshake", range(1, 2), None)

    monkeypatch.setattr(Connection, "open", connects)
    asking.tell(theirs.address)
    assert asking.ask(adds=False).answer() == {ORDERS: ErrorCode.NETWORK_EXCEPTION}


def test_whoever_waits_is_told_once_it_is_closed(asking: Asking, theirs: SmallCoordinator) -> None:
    asking.tell(theirs.address)
    theirs.goes_on.clear()
    under_way = asking.ask()
    assert theirs.arrived.wait(30)
    waiting = asking.ask()
    asking.coordinators.close()
    refused = {ORDERS: ErrorCode.NETWORK_EXCEPTION}
    assert [under_way.answer(), waiting.answer(), asking.ask().answer()] == [refused] * 3


def test_a_coordinator_that_no_thread_can_ask_is_asked_once_one_can(
    asking: Asking, theirs: SmallCoordinator, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking.tell(theirs.address)

    def refuse(_: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as limited:
        limited.setattr(Thread, "start", refuse)
        assert asking.ask().answer() == {ORDERS: ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert asking.ask().answer() == {}
