"""A broker that coordinates nothing sees that others do before it is unfenced, or says what keeps them from it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from replication.cluster.broker.events.coordinator_replicas import CoordinatorReplicas
from replication.cluster.broker.lifecycle.errors import NoControllerError
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.node.coordinators.coordinator_topic import COORDINATOR_TOPICS
from replication.cluster.node.coordinators.errors import NoCoordinatorError, TooFewCoordinatorsError, TopicNotMadeError
from replication.cluster.node.coordinators.keeping_off import KeepingOff, Peers
from replication.cluster.node.coordinators.other_coordinators import GROUPS, TRANSACTIONS
from replication.records.metadata.image import ClusterImage
from replication.wire.addresses import Address
from replication.wire.client.client_settings import ClientSettings
from replication.wire.error_code import ErrorCode
from tests.replication.cluster.node.coordinators.described_broker import KAFKAS, DescribedBroker
from tests.replication.cluster.node.coordinators.images import image_of
from tests.replication.cluster.node.remote_cluster import RemoteCluster

OURS = 9
NAMES = [topic.name for topic in COORDINATOR_TOPICS]


class SmallController:
    """Makes topics, unless told otherwise: what it has made is in the metadata at once."""

    address = None
    may_arrive_late = False

    def __init__(self, brokers: Mapping[int, Address | None], topics: Mapping[str, Any] | None = None) -> None:
        self.brokers = dict(brokers)
        self.topics: dict[str, Any] = dict(topics or {})
        self.asked: list[list[str]] = []
        self.error = ErrorCode.NONE
        self.is_there = True

    @property
    def image(self) -> ClusterImage:
        return image_of(self.topics, self.brokers)

    def ask(self, request: Any, timeout_ms: int | None = None) -> Any:
        assert timeout_ms is not None
        if not self.is_there:
            raise NoControllerError("nobody leads")
        self.asked.append([topic.name for topic in request.topics])
        if self.error in {ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS}:
            self.topics |= {topic.name: [each.broker_ids for each in topic.assignments] for topic in request.topics}
        results = [
            SimpleNamespace(name=each.name, error_code=self.error, error_message="so") for each in request.topics
        ]
        return SimpleNamespace(topics=results)

    def close(self) -> None:
        """Nothing is open."""


class Told(list[Any]):
    def __call__(self, event: Any) -> None:
        self.append(event)


@pytest.fixture
def kafka() -> Iterator[DescribedBroker]:
    with DescribedBroker() as kafka:
        yield kafka


def keeping_off(controller: SmallController, told: Told | None = None) -> KeepingOff:
    known = KnownCluster("cluster", OURS, lambda: controller.image)
    peers = Peers("PLAINTEXT", ClientSettings())
    return KeepingOff(known, lambda: controller, peers, random=Random(1), tell=told if told is not None else Told())  # type: ignore[arg-type, return-value]


def until_done(keeping: KeepingOff) -> None:
    for _ in range(1_000):
        if keeping.wait(0.05):
            return
    raise AssertionError(keeping.failure)


@pytest.mark.parametrize("error", [ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS])
def test_what_is_missing_is_made_on_others_whoever_makes_it(kafka: DescribedBroker, error: ErrorCode) -> None:
    controller = SmallController({1: kafka.address, OURS: None}, {GROUPS: [[1]]})
    controller.error = error
    keeping = keeping_off(controller)
    assert not keeping.wait(0)
    assert keeping.wait(0)
    assert controller.asked == [[name for name in NAMES if name != GROUPS]]
    assert all(replicas == (1,) for name in NAMES[1:] for replicas in controller.topics[name])


def test_where_all_is_there_nobody_is_asked() -> None:
    controller = SmallController({1: None, OURS: None}, {name: [[1]] for name in NAMES})
    assert keeping_off(controller).wait(0)
    assert controller.asked == []


def test_it_waits_for_others_to_come_and_says_so_once(kafka: DescribedBroker) -> None:
    controller, told = SmallController({OURS: None}), Told()
    keeping = keeping_off(controller, told)
    for _ in range(3):
        assert not keeping.wait(0.6)
    assert isinstance(keeping.failure, NoCoordinatorError)
    assert "its cluster has no other broker; start those that do" in str(keeping.failure)
    assert "start.without.coordinators=true" in str(keeping.failure)
    controller.brokers[1] = kafka.address
    until_done(keeping)
    assert [each.event for each in told] == ["trouble", "trouble-over"]
    assert set(controller.topics) == set(NAMES)


def test_others_of_its_kind_do_not_count(kafka: DescribedBroker) -> None:
    with DescribedBroker({}) as alike:
        controller = SmallController({8: alike.address, OURS: None})
        keeping = keeping_off(controller)
        assert not keeping.wait(0)
        assert "no other broker can: broker 8 coordinates nothing either" in str(keeping.failure)
        controller.brokers[1] = kafka.address
        until_done(keeping)
    assert {each for replicas in controller.topics.values() for each in replicas} == {(1,)}


def test_too_few_are_refused_before_anything_is_made() -> None:
    with DescribedBroker({**KAFKAS, "transaction.state.log.replication.factor": "2"}) as kafka:
        controller = SmallController({1: kafka.address, OURS: None})
        keeping = keeping_off(controller)
        assert not keeping.wait(0)
    assert isinstance(keeping.failure, TooFewCoordinatorsError)
    assert controller.asked == []


def test_a_controller_that_refuses_or_does_not_answer_is_asked_again(kafka: DescribedBroker) -> None:
    controller = SmallController({1: kafka.address, OURS: None})
    controller.error = ErrorCode.POLICY_VIOLATION
    keeping = keeping_off(controller)
    assert not keeping.wait(0)
    assert isinstance(keeping.failure, TopicNotMadeError)
    assert "__consumer_offsets, which other brokers need to coordinate, is not made (so): POLICY_VIOLATION" in str(
        keeping.failure
    )
    controller.error, controller.is_there = ErrorCode.NONE, False
    assert not keeping.wait(1)
    assert not keeping.wait(1)
    assert isinstance(keeping.failure, NoControllerError)
    controller.is_there = True
    until_done(keeping)


def test_replicas_that_it_has_are_told_with_what_moves_them(kafka: DescribedBroker) -> None:
    topics = {GROUPS: [[1], [OURS]], TRANSACTIONS: [[1, OURS]]}
    controller, told = SmallController({1: kafka.address, OURS: None}, topics), Told()
    keeping_off(controller, told).tell_replicas("ours:9092")
    (event,) = told
    assert isinstance(event, CoordinatorReplicas)
    assert (event.topics, event.partitions, event.bootstrap) == ((GROUPS, TRANSACTIONS), 2, "ours:9092")
    assert event.moves is not None
    assert '{"topic":"__consumer_offsets","partition":1,"replicas":[1]}' in event.moves
    assert '{"topic":"__transaction_state","partition":0,"replicas":[1]}' in event.moves


def test_where_nobody_could_take_them_no_move_is_told() -> None:
    controller, told = SmallController({OURS: None}, {GROUPS: [[OURS]]}), Told()
    keeping_off(controller, told).tell_replicas("ours:9092")
    (event,) = told
    assert (event.moves, event.fields()["next"][:19]) == (None, "start other brokers")


def test_without_such_replicas_nothing_is_told() -> None:
    controller, told = SmallController({OURS: None}, {GROUPS: [[1]], "orders": [[OURS]]}), Told()
    keeping_off(controller, told).tell_replicas("ours:9092")
    assert told == []


def test_a_broker_whose_cluster_has_none_leaves_and_starts_only_where_that_is_said(tmp_path: Path) -> None:
    with RemoteCluster(tmp_path / "refuses", 0, coordinates_groups=False, registration_seconds=12.0) as cluster:
        with pytest.raises(NoCoordinatorError, match="its cluster has no other broker"):
            cluster.start(1)
        assert cluster.image.brokers[1].fenced
    alone = {"coordinates_groups": False, "starts_without_coordinators": True}
    with RemoteCluster(tmp_path / "starts", 1, **alone) as cluster:
        assert not cluster.image.brokers[1].fenced
        assert set(cluster.image.topics.by_name) == set()
