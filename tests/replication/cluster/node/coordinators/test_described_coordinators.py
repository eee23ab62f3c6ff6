"""Who coordinates is found by asking: brokers that do not know how the topics are made coordinate nothing."""

import pytest

from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS
from replication.cluster.node.coordinators.described_coordinators import DescribedCoordinators
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.error_code import ErrorCode
from tests.oracle.broker import free_port
from tests.replication.cluster.node.coordinators.described_broker import KAFKAS, DescribedBroker
from tests.replication.cluster.node.coordinators.images import image_of


def asked(brokers: dict[int, Address | None], fenced: tuple[int, ...] = ()) -> DescribedCoordinators:
    image = image_of({}, brokers, fenced)
    return DescribedCoordinators.asked(image.brokers.values(), "PLAINTEXT", ClientSettings())


def test_who_tells_how_the_topics_are_made_coordinates_and_who_does_not_know_it_is_unfit() -> None:
    with DescribedBroker() as theirs, DescribedBroker({}) as ours:
        told = asked({1: theirs.address, 9: ours.address})
    assert [(each.id, each.settings) for each in told.coordinators] == [(1, KAFKAS)]
    assert told.unfit == {9}
    assert told.others == {9: "coordinates nothing either"}


@pytest.mark.parametrize("missing", [topic.partitions for topic in COORDINATOR_TOPICS[1:]])
def test_earlier_releases_that_lack_a_topic_coordinate_all_the_same(missing: str) -> None:
    with DescribedBroker({name: value for name, value in KAFKAS.items() if name != missing}) as theirs:
        (told,) = asked({1: theirs.address}).coordinators
    assert told.settings.keys() == KAFKAS.keys() - {missing}


def test_who_cannot_be_asked_is_neither_and_it_is_said_why() -> None:
    nowhere = Address("127.0.0.1", free_port())
    with DescribedBroker(error=ErrorCode.CLUSTER_AUTHORIZATION_FAILED) as refusing:
        told = asked({1: nowhere, 2: nowhere, 3: None, 4: refusing.address}, fenced=(2,))
    assert (told.coordinators, told.unfit) == ([], set())
    assert told.others[1].startswith(f"does not report its settings: {nowhere}: cannot connect")
    assert told.others[2] == "is fenced"
    assert told.others[3] == "has no listener PLAINTEXT"
    assert "CLUSTER_AUTHORIZATION_FAILED" in told.others[4]
