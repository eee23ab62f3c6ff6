"""Topics that clients ask for are made where they allow it, and told once the broker knows of them."""

from functools import partial
from typing import Any

import pytest

from replication.cluster.broker.requests.cluster.described_topics import DescribedTopics
from replication.cluster.broker.requests.known_cluster import KnownCluster
from replication.cluster.node.missing_topics import CREATE_TOPICS, MissingTopicsThread, create_missing
from replication.records.metadata.image import ClusterImage
from replication.wire.error_code import ErrorCode
from replication.wire.messages.metadata import MetadataRequest, TopicMetadata
from replication.wire.server.call import Call, Caller
from replication.wire.server.served_api import ServedApi
from tests.replication.cluster.broker.lifecycle.unanswering import Unanswering, wait_until
from tests.replication.cluster.standalone.requests.asked import create, topic
from tests.replication.cluster.standalone.requests.small_standalone import CLUSTER, SmallStandalone

CALL = Call(13, Caller("192.0.2.7", "User:alice", "INTERNAL"), "orders-client")


class Broker:
    """Knows the cluster up to date, or as it was when it looked last."""

    def __init__(self, cluster: SmallStandalone, *, is_late: bool = False) -> None:
        self._cluster = cluster
        self._late = cluster.image if is_late else None
        known = KnownCluster(CLUSTER, 1, self.image)
        self._topics = DescribedTopics(known, partial(create_missing, cluster.apis[CREATE_TOPICS]))

    def image(self) -> ClusterImage:
        return self._late or self._cluster.image

    def ask(self, *names: str, allowed: bool = True) -> dict[str, TopicMetadata]:
        request = MetadataRequest(topics=names, allow_auto_topic_creation=allowed)
        return dict(self._topics.answer(request, CALL).topics)


def test_a_topic_that_is_asked_for_is_there_from_then_on(cluster: SmallStandalone) -> None:
    told = Broker(cluster).ask("a")["a"]
    assert (told.error, list(told.partitions)) == (ErrorCode.NONE, [0])
    cluster.reopen()
    assert cluster.image.topics.by_name["a"].id == told.topic_id


def test_a_broker_that_does_not_know_yet_lets_clients_ask_again(cluster: SmallStandalone) -> None:
    assert Broker(cluster, is_late=True).ask("a")["a"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert set(cluster.image.topics.by_name) == {"a"}


def test_no_topic_is_made_that_clients_do_not_want_made(cluster: SmallStandalone) -> None:
    assert Broker(cluster).ask("a", allowed=False)["a"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not cluster.image.topics.by_name


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("__consumer_offsets", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("__transaction_state", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("__cluster_metadata", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("known_topic", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_no_topic_is_made_of_a_name_that_it_may_not_have(cluster: SmallStandalone, name: str, error: ErrorCode) -> None:
    cluster.ask(create(topic("known.topic")))
    told = Broker(cluster).ask(name, "b")
    assert (told[name].error, told["b"].error) == (error, ErrorCode.NONE)
    assert set(cluster.image.topics.by_name) == {"known.topic", "b"}


def test_who_asks_a_controller_elsewhere_does_not_wait_for_it_and_it_is_asked_once() -> None:
    nobody = Unanswering()

    def answer(asked: Any, call: Call) -> Any:
        return nobody.ask((call.caller.principal, [each.name for each in asked.topics]))

    thread = MissingTopicsThread(ServedApi(range(8), answer))
    thread.start()
    try:
        for names in (["a", "b"], ["b"], ["c", "a"]):
            thread.ask(names, CALL)
        wait_until(lambda: bool(nobody.asked))
        thread.ask(["a"], CALL)
        nobody.let_go.set()
        wait_until(lambda: len(nobody.asked) == 2)
        assert [asked for asked, _ in nobody.asked] == [("User:alice", ["a", "b"]), ("User:alice", ["c"])]
        wait_until(lambda: not thread._names)
        thread.ask(["a"], CALL)
        wait_until(lambda: len(nobody.asked) == 3)
    finally:
        thread.stop()


def test_a_topic_that_is_there_is_left_alone(cluster: SmallStandalone) -> None:
    cluster.ask(create(topic("a", 3)))
    before = cluster.controller.published.applied_offset
    assert len(Broker(cluster).ask("a")["a"].partitions) == 3
    assert Broker(cluster, is_late=True).ask("a")["a"].error is ErrorCode.NONE
    create_missing(cluster.apis[CREATE_TOPICS], ["a"], CALL)
    assert cluster.controller.published.applied_offset == before


def test_nothing_is_made_where_no_broker_lives(cluster: SmallStandalone) -> None:
    for broker_id in (1, 2, 3):
        cluster.heartbeat(broker_id, want_fence=True)
    assert Broker(cluster).ask("a")["a"].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create_missing(cluster.apis[CREATE_TOPICS], (f"t{number}" for number in range(10_001)), CALL)
    assert not cluster.image.topics.by_name


def test_it_is_whoever_has_asked_for_it_that_the_controller_hears_as_the_one_who_asks(cluster: SmallStandalone) -> None:
    asked: list[Call] = []
    served = cluster.apis[CREATE_TOPICS]

    def answer(request: Any, call: Call) -> Any:
        asked.append(call)
        return served.answer(request, call)

    create_missing(ServedApi(served.versions, answer), ["a"], CALL)
    assert asked == [CALL._replace(version=served.versions.stop - 1)]
    assert set(cluster.image.topics.by_name) == {"a"}
