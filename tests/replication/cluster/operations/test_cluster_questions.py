"""What a cluster is asked, and what is made of its answers and of what it does not answer."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logstore import TopicPartition
from replication.cluster.operations import cluster_questions
from replication.cluster.operations.cluster_questions import ask_for_view
from replication.cluster.operations.cluster_reader import answered
from replication.cluster.operations.cluster_view import Aspect, ClusterView
from replication.cluster.operations.partition_filter import PartitionFilter
from replication.cluster.operations.partition_view import Condition
from replication.wire.addresses import Address
from replication.wire.error_code import ErrorCode
from replication.wire.errors import (
    KafkaError,
    MalformedResponseError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_configs import DescribeConfigsRequest
from replication.wire.messages.describe_quorum import DescribeQuorumRequest
from replication.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from replication.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    PartitionReassignment,
)
from replication.wire.messages.metadata import MetadataRequest, TopicMetadata
from replication.wire.messages.request import Request
from tests.replication.cluster.operations.told_cluster import QUORUM, ToldCluster, partition, topic

ORDERS = topic(partition(1, (1, 2, 3), (1, 2, 3)), partition(3, (2, 3), (3,), elr=(2,)), partition(-1, (1,), ()))
PAYMENTS = topic(partition(3, (3, 1), (3, 1)))
BEYOND_3_0 = (
    DescribeClusterRequest,
    DescribeTopicPartitionsRequest,
    DescribeQuorumRequest,
    ListPartitionReassignmentsRequest,
)


def told(**more: Any) -> ToldCluster:
    return ToldCluster({"payments": PAYMENTS, "orders": ORDERS}, **more)


def view_of(cluster: ToldCluster, *topics: str) -> ClusterView:
    return answered(
        ask_for_view(PartitionFilter.naming((), frozenset(), expressions=topics, without_internal=False)),
        cluster.answer,
    )


def gaps(view: ClusterView) -> dict[Aspect, bool]:
    return {gap.aspect: gap.is_failure for gap in view.gaps}


def names(view: ClusterView) -> list[str]:
    return [str(each.partition) for each in view.partitions]


def without(kinds: Iterable[type]) -> ToldCluster:
    return told(unsupported=frozenset(kinds))


# A cluster that tells all


def test_a_view_has_all_that_was_told() -> None:
    moved = {TopicPartition("orders", 1): PartitionReassignment((2, 3), (2,), ())}
    view = view_of(told(fenced=frozenset({2}), min_isr={"orders": "2"}, reassignments=moved))
    assert (view.cluster_id, view.controller_id, view.gaps) == ("told", None, ())
    assert [(each.id, each.address, each.rack, each.is_fenced) for each in view.brokers] == [
        (number, Address(f"b{number}", 9_092), f"rack-{number}", number == 2) for number in (1, 2, 3)
    ]
    assert [(each.leaders, each.replicas) for each in view.brokers] == [(1, 3), (0, 2), (2, 3)]
    assert names(view) == ["orders-0", "orders-1", "orders-2", "payments-0"]
    assert [each.min_isr for each in view.partitions] == [2, 2, 2, 1]
    led = view.partitions[1]
    assert (led.leader, led.replicas, led.isr, led.elr) == (3, (2, 3), (3,), (2,))
    assert (led.adding, led.removing, led.topic_id) == ((2,), (), ORDERS.topic_id)
    assert view.conditions == {
        Condition.UNAVAILABLE: 1,
        Condition.UNDER_MIN_ISR: 2,
        Condition.UNDER_REPLICATED: 1,
        Condition.OFF_PREFERRED: 1,
        Condition.REASSIGNING: 1,
    }


def test_the_quorums_nodes_come_by_role_and_with_their_lag() -> None:
    quorum = view_of(told()).quorum
    assert quorum is not None
    assert quorum.leader == QUORUM.voters[1]
    assert [(each.id, quorum.role(each), quorum.lag(each)) for each in quorum.replicas] == [
        (100, "leader", 0),
        (101, "follower", 20),
        (102, "follower", None),
        (1, "observer", 0),
        (2, "observer", 1),
    ]


@given(st.integers(1, 7), st.lists(st.integers(1, 5), max_size=5))
def test_the_size_of_pages_makes_no_difference(page_size: int, sizes: list[int]) -> None:
    topics = {f"t{number}": topic(*[PAYMENTS.partitions[0]] * size) for number, size in enumerate(sizes)}
    paged = view_of(ToldCluster(topics, page_size=page_size))
    assert paged == view_of(ToldCluster(topics))
    assert len(paged.partitions) == sum(sizes)


class Repeating(ToldCluster):
    """Names another page after each, and begins it again at the same place."""

    def __init__(self, cursor: Cursor, topics: dict[str, TopicMetadata]) -> None:
        super().__init__(topics)
        self.cursor = cursor
        self.pages = 0

    def answer(self, request: Request[Any]) -> Any:
        answer = super().answer(request)
        if not isinstance(request, DescribeTopicPartitionsRequest):
            return answer
        self.pages += 1
        assert self.pages < 5, "asked on and on"
        return replace(answer, next_cursor=self.cursor)


@pytest.mark.parametrize("cursor", [Cursor("a", 0), Cursor("orders", 0), Cursor("orders", 1), Cursor("z", 0)])
@pytest.mark.parametrize("topics", [{}, {"orders": ORDERS}], ids=["empty", "orders"])
def test_pages_without_an_end_are_not_asked_for(cursor: Cursor, topics: dict[str, TopicMetadata]) -> None:
    cluster = Repeating(cursor, topics)
    with pytest.raises(MalformedResponseError, match=rf"its cursor points to {cursor.topic}-{cursor.partition}"):
        view_of(cluster)
    assert cluster.pages <= 2


@pytest.mark.parametrize("value", ["9" * 5_000, "none", "", "1.5", "2147483648"])
def test_a_setting_that_is_no_number_is_not_known(value: str) -> None:
    view = view_of(told(min_isr={"orders": value}))
    assert [each.min_isr for each in view.partitions] == [None, None, None, 1]


def test_settings_of_many_topics_are_asked_for_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_questions, "TOPICS_AT_ONCE", 2)
    cluster = ToldCluster({f"t{number}": PAYMENTS for number in range(5)}, min_isr={"t4": "2"})
    view = view_of(cluster)
    assert [each.min_isr for each in view.partitions] == [1, 1, 1, 1, 2]
    asked = [request.topics for request in cluster.asked if isinstance(request, DescribeConfigsRequest)]
    assert asked == [("t0", "t1"), ("t2", "t3"), ("t4",)]


def test_only_topics_that_are_chosen_are_shown_yet_brokers_are_told_of_in_full() -> None:
    cluster = told()
    view = view_of(cluster, "pay.*")
    assert names(view) == ["payments-0"]
    assert [each.replicas for each in view.brokers] == [3, 2, 3]
    assert [request.topics for request in cluster.asked if isinstance(request, DescribeConfigsRequest)] == [
        ("payments",)
    ]


def test_a_topic_that_there_is_not() -> None:
    with pytest.raises(UnknownTopicOrPartitionError, match=r"^no topic is named nothing: UNKNOWN_TOPIC"):
        view_of(told(), "orders", "nothing")


def test_a_topic_that_was_deleted_meanwhile_is_left_out() -> None:
    cluster = without([DescribeTopicPartitionsRequest])
    cluster.config_errors = {"payments": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    cluster.topics["gone"] = topic(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    view = view_of(cluster)
    assert names(view) == ["orders-0", "orders-1", "orders-2", "payments-0"]
    assert view.partitions[-1].min_isr is None
    assert gaps(view) == {Aspect.ELR: False}


# Clusters that are older


def test_a_cluster_that_speaks_none_of_the_newer_apis_tells_by_its_metadata() -> None:
    cluster = without(BEYOND_3_0)
    view = view_of(cluster)
    assert [(each.id, each.is_fenced) for each in view.brokers] == [(1, None), (2, None), (3, None)]
    assert names(view) == ["orders-0", "orders-1", "orders-2", "payments-0"]
    assert {each.elr for each in view.partitions} == {None}
    assert (view.quorum, view.controller_id) == (None, 2)
    assert gaps(view) == dict.fromkeys((Aspect.FENCED, Aspect.ELR, Aspect.QUORUM, Aspect.REASSIGNMENTS), False)
    assert all("is supported in none" in gap.reason for gap in view.gaps)


def test_a_cluster_that_does_not_tell_of_fenced_brokers() -> None:
    view = view_of(told(tells_of_fenced=False))
    assert gaps(view) == {Aspect.FENCED: False}
    assert {each.is_fenced for each in view.brokers} == {None}


def test_a_cluster_that_does_not_describe_settings() -> None:
    view = view_of(without([DescribeConfigsRequest]))
    assert gaps(view) == {Aspect.MIN_ISR: False}
    assert Condition.UNDER_MIN_ISR not in view.conditions


# Clusters that refuse or do not answer


def test_what_a_user_may_not_know_is_a_gap_that_names_the_error() -> None:
    refused = dict.fromkeys(
        (ListPartitionReassignmentsRequest, DescribeQuorumRequest), ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    )
    view = view_of(told(refused=refused, config_errors={"orders": ErrorCode.TOPIC_AUTHORIZATION_FAILED}))
    assert [(str(gap), gap.is_failure) for gap in view.gaps] == [
        ("not known: min.insync.replicas: orders: TOPIC_AUTHORIZATION_FAILED (29)", True),
        ("not known: quorum: DescribeQuorum: why: CLUSTER_AUTHORIZATION_FAILED (31)", True),
        ("not known: reassignments: ListPartitionReassignments: why: CLUSTER_AUTHORIZATION_FAILED (31)", True),
    ]
    assert [each.min_isr for each in view.partitions] == [None, None, None, 1]
    assert view.quorum is None


def test_of_many_topics_whose_settings_are_refused_one_is_named() -> None:
    view = view_of(told(config_errors=dict.fromkeys(("orders", "payments"), ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
    assert [gap.reason for gap in view.gaps] == ["orders: TOPIC_AUTHORIZATION_FAILED (29), and 1 more topic"]


def test_controllers_that_do_not_answer_are_not_asked_again() -> None:
    cluster = told(silent=frozenset({DescribeQuorumRequest}))
    view = view_of(cluster)
    assert gaps(view) == {Aspect.QUORUM: True, Aspect.REASSIGNMENTS: True}
    assert view.gaps[0].reason == "b1:9092: no answer within 30 s; is a controller running?"
    assert ListPartitionReassignmentsRequest not in cluster.kinds_asked()
    assert names(view) == ["orders-0", "orders-1", "orders-2", "payments-0"]


def test_controllers_that_stop_answering() -> None:
    view = view_of(told(silent=frozenset({ListPartitionReassignmentsRequest})))
    assert gaps(view) == {Aspect.REASSIGNMENTS: True}
    assert view.quorum is not None


def test_the_controllers_are_asked_last() -> None:
    cluster = told()
    view_of(cluster)
    assert cluster.kinds_asked()[-2:] == [DescribeQuorumRequest, ListPartitionReassignmentsRequest]


@pytest.mark.parametrize(
    ("kind", "unsupported"),
    [(DescribeClusterRequest, ()), (MetadataRequest, BEYOND_3_0), (MetadataRequest, (DescribeTopicPartitionsRequest,))],
)
def test_without_brokers_or_topics_there_is_no_view(kind: type, unsupported: tuple[type, ...]) -> None:
    refusing = told(refused={kind: ErrorCode.REBOOTSTRAP_REQUIRED}, unsupported=frozenset(unsupported))
    with pytest.raises(KafkaError, match="REBOOTSTRAP_REQUIRED"):
        view_of(refusing)
    with pytest.raises(RequestTimedOutError):
        view_of(told(silent=frozenset({kind}), unsupported=frozenset(unsupported)))


def test_a_controllers_listener_is_told_from_a_brokers() -> None:
    with pytest.raises(KafkaError, match="use brokers' addresses: MISMATCHED_ENDPOINT_TYPE"):
        view_of(told(refused={DescribeClusterRequest: ErrorCode.MISMATCHED_ENDPOINT_TYPE}))


def test_a_topic_that_is_not_told_for_another_reason_is_an_error() -> None:
    cluster = without([DescribeTopicPartitionsRequest])
    cluster.topics["odd"] = topic(error=ErrorCode.INVALID_TOPIC_EXCEPTION)
    with pytest.raises(KafkaError, match="topic odd: INVALID_TOPIC_EXCEPTION"):
        view_of(cluster)


# What is to be looked after


def test_a_healthy_cluster_has_no_troubles() -> None:
    assert not view_of(ToldCluster({"payments": PAYMENTS})).has_troubles


@pytest.mark.parametrize(
    "cluster",
    [
        ToldCluster({"orders": ORDERS}),
        ToldCluster({"payments": PAYMENTS}, fenced=frozenset({3})),
        ToldCluster({"payments": PAYMENTS}, quorum=cluster_questions.DescribedQuorum(leader_id=-1)),
    ],
    ids=["partitions", "a fenced broker", "no leader of the controllers"],
)
def test_troubles(cluster: ToldCluster) -> None:
    assert view_of(cluster).has_troubles
