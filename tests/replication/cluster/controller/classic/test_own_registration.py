"""A controller that is no broker: registered where brokers look for it for as long as it is the controller."""

from collections.abc import Callable
from functools import partial

import pytest

from replication.cluster.controller.classic.controller import ClassicController, RunState
from replication.cluster.controller.classic.errors import TakeOverError
from replication.cluster.controller.classic.registered_broker import RegisteredBroker
from replication.cluster.controller.classic.replica_assignment import ReplicaAssignment
from replication.cluster.controller.classic.store import nodes
from replication.cluster.controller.refusal import Refusal
from replication.cluster.controller.topics.topics import NewTopic
from replication.wire.error_code import ErrorCode
from replication.wire.messages.broker_registration import Listener
from tests.replication.cluster.controller.classic.cluster import CONTROLLER, ClassicCluster, named

OWN = RegisteredBroker(listeners=(Listener("PLAINTEXT", "here", 9092),))
PATH = f"{nodes.BROKER_IDS}/{CONTROLLER}"


def controller(cluster: ClassicCluster, broker_id: int = CONTROLLER) -> ClassicController:
    """One that is no broker, in a session of its own."""
    return ClassicController(broker_id, cluster.tree.session(), own=OWN)


@pytest.fixture
def cluster() -> ClassicCluster:
    """One whose controller is no broker."""
    cluster = ClassicCluster()
    cluster.controller = controller(cluster)
    cluster.begin()
    return cluster


def test_it_is_registered_while_it_is_the_controller(cluster: ClassicCluster) -> None:
    waiting = controller(cluster, CONTROLLER + 1)
    waiting.start(0)
    listed = cluster.admin.children(nodes.BROKER_IDS)
    assert listed == ["1", "100", "2", "3"]
    assert nodes.decode_broker(PATH, cluster.admin.get(PATH).data, -1) == OWN
    cluster.controller.resign()
    assert not cluster.admin.exists(PATH)
    waiting.process(0)
    assert waiting.state is RunState.CONTROLLER
    assert cluster.admin.exists(f"{nodes.BROKER_IDS}/{CONTROLLER + 1}")


def test_brokers_find_it_among_the_living_and_it_gets_no_commands(cluster: ClassicCluster) -> None:
    assert cluster.controller.queues.keys() == {1, 2, 3}
    cluster.kill(3)
    (*_, (_, told)) = cluster.told_metadata()
    assert told.live_brokers == (1, 2, CONTROLLER)
    assert told.brokers[CONTROLLER] == OWN


def refused(ask: Callable[[], object]) -> ErrorCode:
    with pytest.raises(Refusal) as refusal:
        ask()
    return refusal.value.code


def test_it_gets_no_replicas(cluster: ClassicCluster) -> None:
    decide = cluster.controller.decide
    asked = [NewTopic("t", 20, 3), NewTopic("u", assignments={0: (1, CONTROLLER)}), NewTopic("v", 1, 4)]
    answers = {each.topic: each.error for each in decide(lambda term: term.create_topics(asked, validate_only=False))}
    assert answers == {
        "t": ErrorCode.NONE,
        "u": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "v": ErrorCode.INVALID_REPLICATION_FACTOR,
    }
    assert {each for number in range(20) for each in cluster.assignment(named(f"t-{number}")).replicas} == {1, 2, 3}
    move = partial(cluster.controller.reassign, named("t-0"), (1, CONTROLLER))
    assert refused(move) is ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_replica_that_it_was_given_elsewhere_is_that_of_a_dead_broker(cluster: ClassicCluster) -> None:
    data = nodes.encode_assignments({0: ReplicaAssignment((CONTROLLER, 2))})
    cluster.admin.create(nodes.topic_path("t"), data)
    cluster.settle()
    assert (cluster.state(named("t-0")).leader, cluster.state(named("t-0")).isr) == (2, (2,))


def test_where_a_broker_has_its_id_it_resigns_and_gives_up() -> None:
    cluster = ClassicCluster()
    cluster.register(CONTROLLER)
    with pytest.raises(TakeOverError, match=PATH):
        controller(cluster).start(0)
    assert not cluster.admin.exists(nodes.CONTROLLER)
    assert cluster.admin.exists(PATH)


def test_it_removes_no_registration_but_its_own(cluster: ClassicCluster) -> None:
    cluster.admin.delete(PATH)
    cluster.register(CONTROLLER)
    cluster.controller.resign()
    assert cluster.admin.exists(PATH)


def test_a_registration_that_cannot_be_read_does_not_hold_up_the_others(cluster: ClassicCluster) -> None:
    cluster.tree.session().create(f"{nodes.BROKER_IDS}/7", b"?", ephemeral=True)
    cluster.settle()
    assert cluster.context.registered[7].listeners == ()
    assert cluster.controller.queues.keys() == {1, 2, 3, 7}
