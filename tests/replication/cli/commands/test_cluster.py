"""What `epochlog cluster` prints, and its exit status, without a cluster: what one would answer is given."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from logstore import TopicPartition
from replication.base.counted import counted
from replication.wire.client.cluster_client import ClusterClient
from replication.wire.error_code import ErrorCode
from replication.wire.messages.describe_cluster import DescribeClusterRequest
from replication.wire.messages.describe_quorum import DescribedQuorum, DescribeQuorumRequest
from replication.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from replication.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    PartitionReassignment,
)
from tests.oracle.cluster import free_port
from tests.replication.cli.command import Outcome, epochlog
from tests.replication.cluster.operations.told_cluster import ToldCluster, partition, topic

WELL = topic(partition(1, (1, 2), (1, 2)), partition(2, (2, 1), (2, 1)))
ORDERS = topic(
    partition(1, (1, 2, 3), (1, 2, 3), leader_epoch=4),
    partition(3, (2, 3), (3,), elr=(2,)),
    partition(-1, (1,), (), last_known_elr=(1,)),
)
INTERNAL = topic(partition(2, (3, 2), (2, 3)), is_internal=True)
COLUMNS = "partition\tleader\tepoch\treplicas\tisr\telr\tlast elr\tmin isr\tconditions"
ORDERS_1 = "orders-1\t3\t-1\t2,3\t3\t2\t\t2\tunder-min-isr, under-replicated, off-preferred"
ORDERS_2 = "orders-2\t\t-1\t1\t\t\t1\t2\tunavailable, under-min-isr, under-replicated"
OFFSETS_0 = "__consumer_offsets-0\t2\t-1\t3,2\t2,3\t\t\t1\toff-preferred"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ToldCluster]:
    """What is told of the cluster that the commands of a test ask."""
    told = ToldCluster({"orders": ORDERS, "__consumer_offsets": INTERNAL, "well": WELL}, min_isr={"orders": "2"})
    monkeypatch.setattr(ClusterClient, "ask", lambda _, request: told.answer(request))
    return told


def shown(*options: object) -> Outcome:
    return epochlog("cluster", "--bootstrap", "b1:9092", *options)


def rows(*options: object) -> list[str]:
    """The partitions that are shown with these options: exit status 1 where there are any."""
    told = shown(*options)
    heading, *lines = told.out.splitlines()
    assert heading == COLUMNS
    why = f"epochlog: exit status 1: {counted(len(lines), 'partition')} of those that were asked for\n" if lines else ""
    assert (told.status, told.err) == (bool(lines), why)
    return lines


def test_all_is_shown_in_three_tables(cluster: ToldCluster) -> None:
    cluster.fenced = frozenset({3})
    told = shown()
    why = "fenced: 3; 1 partition unavailable; 2 partitions under-min-isr; 2 partitions under-replicated"
    assert (told.status, told.err) == (1, f"epochlog: exit status 1: {why}; 2 partitions off-preferred\n")
    brokers, quorum, partitions = told.out.split("\n\n")
    assert brokers.splitlines() == [
        "broker\taddress\track\tstate\tleads\treplicas",
        "1\tb1:9092\track-1\tactive\t2\t4",
        "2\tb2:9092\track-2\tactive\t2\t5",
        "3\tb3:9092\track-3\tfenced\t1\t3",
    ]
    assert quorum.splitlines() == [
        "node\trole\tlog end\tlag",
        "100\tleader\t1000\t0",
        "101\tfollower\t980\t20",
        "102\tfollower\t-1\t",
        "1\tobserver\t1000\t0",
        "2\tobserver\t999\t1",
    ]
    assert partitions.splitlines() == [
        COLUMNS,
        OFFSETS_0,
        "orders-0\t1\t4\t1,2,3\t1,2,3\t\t\t2\t",
        ORDERS_1,
        ORDERS_2,
        "well-0\t1\t-1\t1,2\t1,2\t\t\t1\t",
        "well-1\t2\t-1\t2,1\t2,1\t\t\t1\t",
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--unavailable"], [ORDERS_2]),
        (["--under-min-isr"], [ORDERS_1, ORDERS_2]),
        (["--under-replicated"], [ORDERS_1, ORDERS_2]),
        (["--off-preferred"], [OFFSETS_0, ORDERS_1]),
        (["--off-preferred", "--exclude-internal"], [ORDERS_1]),
        (["--off-preferred", "--unavailable"], [OFFSETS_0, ORDERS_1, ORDERS_2]),
        (["--off-preferred", "--topics", "__*"], [OFFSETS_0]),
        (["--at-min-isr"], []),
        (["--reassigning"], []),
        # As Kafka's tool calls them.
        (["--unavailable-partitions"], [ORDERS_2]),
        (["--under-min-isr-partitions", "--at-min-isr-partitions"], [ORDERS_1, ORDERS_2]),
        (["--under-replicated-partitions"], [ORDERS_1, ORDERS_2]),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_conditions_show_the_partitions_that_are_in_any_and_no_other_table(
    options: list[str], expected: list[str]
) -> None:
    assert rows(*options) == expected


@pytest.mark.usefixtures("cluster")
def test_a_topic_is_shown_whole_and_judged_alone() -> None:
    assert (shown("--topics", "well").status, shown("--topics", "orders").status) == (0, 1)
    assert len(shown("--topics", "well").out.splitlines()) == 3
    assert shown("--topics", "well", "--topics", "orders").status == 1


def test_a_fenced_broker_is_no_finding_about_a_topic(cluster: ToldCluster) -> None:
    cluster.fenced = frozenset({3})
    assert shown("--topics", "well").status == 0


def test_a_partition_that_moves(cluster: ToldCluster) -> None:
    cluster.reassignments = {TopicPartition("well", 0): PartitionReassignment((1, 2), (2,), ())}
    assert rows("--reassigning") == ["well-0\t1\t-1\t1,2\t1,2\t\t\t1\treassigning"]
    assert shown("--topics", "well").status == 0


def test_controllers_that_nobody_leads(cluster: ToldCluster) -> None:
    del cluster.topics["orders"], cluster.topics["__consumer_offsets"]
    assert shown().status == 0
    cluster.quorum = DescribedQuorum(leader_id=-1, voters=cluster.quorum.voters)
    told = shown()
    assert told.status == 1
    assert "100\tfollower\t1000\t\n" in told.out


def test_json_has_all_and_only_the_partitions_that_were_chosen(cluster: ToldCluster) -> None:
    cluster.fenced = frozenset({1})
    told = shown("--json", "--unavailable")
    document = told.document
    assert (told.status, document["cluster_id"], document["controller"]) == (1, "told", None)
    assert document["brokers"][0] == {
        "id": 1,
        "host": "b1",
        "port": 9092,
        "rack": "rack-1",
        "fenced": True,
        "leaders": 2,
        "replicas": 4,
    }
    assert (document["quorum"]["leader"], document["quorum"]["leader_epoch"]) == (100, 7)
    assert document["quorum"]["nodes"][2] == {
        "id": 102,
        "role": "follower",
        "log_end_offset": -1,
        "lag": None,
        "last_fetch_ms": -1,
        "last_caught_up_ms": -1,
    }
    assert document["partition_count"] == 1
    assert document["conditions"] == {
        "unavailable": 1,
        "under-min-isr": 1,
        "at-min-isr": 0,
        "under-replicated": 1,
        "off-preferred": 0,
        "reassigning": 0,
    }
    (unavailable,) = document["partitions"]
    assert (unavailable["topic"], unavailable["partition"], unavailable["leader"]) == ("orders", 2, None)
    assert document["not_known"] == {}


# What is not told


def test_an_older_cluster_says_less_and_is_no_worse_for_it(cluster: ToldCluster) -> None:
    del cluster.topics["orders"], cluster.topics["__consumer_offsets"]
    cluster.unsupported = frozenset({DescribeClusterRequest, DescribeTopicPartitionsRequest, DescribeQuorumRequest})
    told = shown()
    assert told.status == 0
    assert [line.split(": ")[:3] for line in told.err.splitlines()] == [
        ["epochlog", "not known", what] for what in ("fenced brokers", "eligible leader replicas", "quorum")
    ]
    assert "2\tb2:9092\track-2\tcontroller\t1\t2\n" in told.out
    assert told.out.count("\n\n") == 1


def test_what_is_refused_makes_exit_status_2_with_the_rest_shown(cluster: ToldCluster) -> None:
    cluster.refused = {ListPartitionReassignmentsRequest: ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
    told = shown("--json")
    assert told.status == 2
    assert "epochlog: not known: reassignments: ListPartitionReassignments: why: CLUSTER_AUTH" in told.err
    assert "CLUSTER_AUTHORIZATION_FAILED" in told.document["not_known"]["reassignments"]
    assert told.document["partition_count"] == 6


def failure(*arguments: object) -> str:
    told = epochlog("cluster", *arguments)
    assert (told.status, told.out) == (2, "")
    assert told.err.count("\n") == 1
    return told.err


@pytest.mark.usefixtures("cluster")
def test_a_topic_that_there_is_not() -> None:
    assert failure("--bootstrap", "b1:9092", "--topics", "nothing") == (
        "epochlog: no topic is named nothing: UNKNOWN_TOPIC_OR_PARTITION (3)\n"
    )


def test_a_pattern_that_is_none() -> None:
    told = epochlog("cluster", "--bootstrap", "b1:9092", "--topic", "(")
    assert (told.status, told.out) == (2, "")
    assert "'(' is not a pattern: missing )" in told.err


@pytest.mark.usefixtures("cluster")
def test_topics_are_named_or_match_and_under_the_old_name_of_the_option_as_kafkas_tools_have_them() -> None:
    assert shown("--topics", "wel?,orders").out == shown("--topics", "wel?", "--topics", "orders").out
    assert failure("--bootstrap", "b1:9092", "--topics", "w.*").startswith("epochlog: no topic is named w.*: ")
    old = shown("--topic", "w.*l")
    assert old.out == shown("--topics", "well").out
    assert old.err.startswith("epochlog: --topic is called --topics now, and takes a shell's patterns; ")


def test_brokers_that_do_not_answer_are_named() -> None:
    address = f"127.0.0.1:{free_port()}"
    assert f"no broker answers: {address}: cannot connect" in failure("--bootstrap", address)


def test_properties_that_cannot_be_read(tmp_path: Path) -> None:
    missing = tmp_path / "client.properties"
    assert f"{missing}: No such file" in failure("--bootstrap", "b1:9092", "--command-config", missing)


# On a terminal


def test_a_terminal_gets_tables_with_titles(cluster: ToldCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr("replication.cli.commands.cluster.print_table", lambda title, *_: drawn.append(title))
    cluster.fenced = frozenset({3})
    shown()
    assert drawn == [
        "Brokers of cluster told",
        "Controllers, led by 100 in epoch 7, high watermark 990",
        "6 partitions, 1 unavailable, 2 under-min-isr, 2 under-replicated, 2 off-preferred",
    ]


def test_the_titles_count(cluster: ToldCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    monkeypatch.setattr("replication.cli.commands.cluster.print_table", lambda title, *_: drawn.append(title))
    cluster.topics = {"lonely": topic(partition(1, (1,), (1,)))}
    assert shown().status == 0
    assert drawn[-1] == "1 partition, 1 at-min-isr"
